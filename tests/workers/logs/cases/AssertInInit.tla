---- MODULE AssertInInit ----
EXTENDS Naturals, TLC
VARIABLE x
Init == x = 0 /\ Assert(x > 0, "x is zero")
Next == x' = x
Spec == Init /\ [][Next]_x
====
