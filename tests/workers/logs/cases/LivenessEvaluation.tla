---- MODULE LivenessEvaluation ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 3
Spec == Init /\ [][Next]_x /\ WF_x(Next)
Live == []<>(x < 2 /\ [i \in {0} |-> i][x] = 0)
====
