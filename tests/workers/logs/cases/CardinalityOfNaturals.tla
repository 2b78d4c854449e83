---- MODULE CardinalityOfNaturals ----
EXTENDS Naturals, Sequences, FiniteSets, TLC
VARIABLE x
Init == x = 0
Next == x < 2 /\ x' = Cardinality(Nat)
Spec == Init /\ [][Next]_x
====
