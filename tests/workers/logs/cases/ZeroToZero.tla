---- MODULE ZeroToZero ----
EXTENDS Naturals, Sequences, FiniteSets, TLC
VARIABLE x
Init == x = 0
Next == x < 2 /\ x' = 0^0
Spec == Init /\ [][Next]_x
====
