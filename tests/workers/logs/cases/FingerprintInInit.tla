---- MODULE FingerprintInInit ----
EXTENDS Naturals
VARIABLE x
Init == x = {1, "a"}
Next == x' = x
Spec == Init /\ [][Next]_x
====
