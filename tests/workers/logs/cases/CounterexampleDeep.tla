---- MODULE CounterexampleDeep ----
EXTENDS Naturals
VARIABLES depth, x
Init == depth = 1 /\ x = {0}
Next == depth' = depth + 1 /\ x' = {<<x>>}
Shallow == depth < 45
Spec == Init /\ [][Next]_<<depth, x>>
====
