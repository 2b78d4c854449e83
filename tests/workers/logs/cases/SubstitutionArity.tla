---- MODULE SubstitutionArity ----
EXTENDS Naturals
CONSTANT N
Three(a) == 3
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 3
Spec == Init /\ [][Next]_x
====
