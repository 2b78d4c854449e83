---- MODULE HeapInNext ----
EXTENDS Naturals, FiniteSets
VARIABLE x
Init == x = 0
Next == x' = Cardinality({<<a, b, c>> : a \in 1..200, b \in 1..200, c \in 1..200}) + x
Spec == Init /\ [][Next]_x
====
