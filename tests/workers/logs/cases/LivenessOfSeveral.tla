---- MODULE LivenessOfSeveral ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 3
Spec == Init /\ [][Next]_x
One == <>(x = 1)
Two == <>(x = 2)
Zero == <>(x = 0)
====
