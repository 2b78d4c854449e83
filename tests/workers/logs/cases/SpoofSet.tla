---- MODULE SpoofSet ----
EXTENDS Naturals, TLC
VARIABLE x
Init == x = 0
Next == Assert(FALSE, "\nAttempted to construct a set with too many elements") /\ x' = x
Spec == Init /\ [][Next]_x
====
