---- MODULE SubstitutionTwice ----
EXTENDS Naturals
CONSTANTS N, M
Three == 3
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 3
Spec == Init /\ [][Next]_x
====
