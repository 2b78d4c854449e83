---- MODULE AssertInAssumption ----
EXTENDS Naturals, TLC
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 3
Spec == Init /\ [][Next]_x
ASSUME Assert(1 = 2, "unequal")
====
