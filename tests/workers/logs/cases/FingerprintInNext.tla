---- MODULE FingerprintInNext ----
EXTENDS Naturals
VARIABLE x
Init == x = {}
Next == x' = {1, "a"}
Spec == Init /\ [][Next]_x
====
