---- MODULE AssertInPostcondition ----
EXTENDS Naturals, TLC
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 3
Spec == Init /\ [][Next]_x
Post == Assert(1 = 2, "unequal")
====
