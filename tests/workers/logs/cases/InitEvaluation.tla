---- MODULE InitEvaluation ----
EXTENDS Sequences, Naturals
VARIABLES x, y
Init == y = 0 /\ x = Head(<<>>)
Next == UNCHANGED <<x, y>>
Spec == Init /\ [][Next]_<<x, y>>
====
