---- MODULE ModuloZero ----
EXTENDS Naturals, Sequences, FiniteSets, TLC
VARIABLE x
Init == x = 0
Next == x < 2 /\ x' = 1 % x
Spec == Init /\ [][Next]_x
====
