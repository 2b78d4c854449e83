---- MODULE HeapInInvariant ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 3
Spec == Init /\ [][Next]_x
Small == [i \in 1..100000000 |-> x] # <<>>
====
