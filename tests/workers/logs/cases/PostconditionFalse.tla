---- MODULE PostconditionFalse ----
EXTENDS Naturals, TLC
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 3
Spec == Init /\ [][Next]_x
Post == TLCGet("distinct") = 1
====
