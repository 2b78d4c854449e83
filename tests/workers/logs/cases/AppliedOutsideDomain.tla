---- MODULE AppliedOutsideDomain ----
EXTENDS Naturals, Sequences, FiniteSets, TLC
VARIABLE x
Init == x = 0
Next == x < 2 /\ x' = [i \in {1} |-> i][x]
Spec == Init /\ [][Next]_x
====
