---- MODULE AssertInConstraint ----
EXTENDS Naturals, TLC
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 3
Spec == Init /\ [][Next]_x
Bounded == Assert(x < 2, "x grew")
====
