---- MODULE HeadOfEmpty ----
EXTENDS Naturals, Sequences, FiniteSets, TLC
VARIABLE x
Init == x = 0
Next == x < 2 /\ x' = Head(<<>>)
Spec == Init /\ [][Next]_x
====
