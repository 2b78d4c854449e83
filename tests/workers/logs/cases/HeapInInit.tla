---- MODULE HeapInInit ----
EXTENDS Naturals, FiniteSets
VARIABLE x
Init == x = Cardinality({<<a, b, c>> : a \in 1..200, b \in 1..200, c \in 1..200})
Next == x' = x
Spec == Init /\ [][Next]_x
====
