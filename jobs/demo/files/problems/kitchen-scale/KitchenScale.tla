---------------------------- MODULE KitchenScale ----------------------------
EXTENDS ScaleChecks
CONSTANT Limit
VARIABLE weight
TypeOK == Same(weight \in 0..Limit, TRUE)
Init == weight = 0
Add == weight < Limit /\ weight' = weight + 1
Clear == weight > 0 /\ weight' = 0
Spec == Init /\ [][Add \/ Clear]_weight
=============================================================================
