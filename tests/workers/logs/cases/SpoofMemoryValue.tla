---- MODULE SpoofMemoryValue ----
EXTENDS Naturals, Sequences
VARIABLE x
Init == x = 0
Next == x' = [i \in {"a"} |-> i]["java.lang.OutOfMemoryError"]
Spec == Init /\ [][Next]_x
====
