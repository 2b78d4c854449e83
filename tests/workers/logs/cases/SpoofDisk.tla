---- MODULE SpoofDisk ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x' = [i \in {"a"} |-> i]["No space left on device"]
Spec == Init /\ [][Next]_x
====
