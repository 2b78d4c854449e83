---- MODULE OverflowInNext ----
EXTENDS Naturals, Sequences, FiniteSets, TLC
VARIABLE x
Init == x = 0
Next == x < 2 /\ x' = 2147483647 + x + 1
Spec == Init /\ [][Next]_x
====
