---- MODULE SetTooLarge ----
EXTENDS Naturals, Sequences, FiniteSets, TLC
VARIABLE x
Init == x = 0
Next == x < 2 /\ x' = Cardinality({1200 * i + j : i \in 1..1000, j \in 1..1200})
Spec == Init /\ [][Next]_x
====
