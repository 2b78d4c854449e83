---- MODULE SpoofMemory ----
EXTENDS Naturals, TLC
VARIABLE x
Init == x = 0
Next == Assert(x < 1, "java.lang.OutOfMemoryError: Java heap space") /\ x' = x + 1
Spec == Init /\ [][Next]_x
====
