---- MODULE Refinement ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 3
Spec == Init /\ [][Next]_x
Abstract == INSTANCE Accepted WITH x <- 2 - x
Refined == Abstract!Spec
====
