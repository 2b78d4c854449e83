---- MODULE LivenessLasso ----
EXTENDS Naturals
VARIABLES x, y
Init == x = 0 /\ y = 0
Next == \/ y = 0 /\ y' = 1 /\ x' = x
        \/ y = 1 /\ x' = 1 - x /\ y' = y
Spec == Init /\ [][Next]_<<x, y>> /\ WF_<<x, y>>(Next)
Settles == <>[](x = 1)
Starts == <>(y = 1)
====
