---- MODULE NoStates ----
EXTENDS Naturals
VARIABLE x
Init == x = 0 /\ x > 0
Next == x' = x
Spec == Init /\ [][Next]_x
====
