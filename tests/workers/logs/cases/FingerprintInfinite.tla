---- MODULE FingerprintInfinite ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x' = [n \in Nat |-> n]
Spec == Init /\ [][Next]_x
====
