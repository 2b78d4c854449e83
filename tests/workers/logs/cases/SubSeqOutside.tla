---- MODULE SubSeqOutside ----
EXTENDS Naturals, Sequences, FiniteSets, TLC
VARIABLE x
Init == x = 0
Next == x < 2 /\ x' = SubSeq(<<1>>, 0, 3)
Spec == Init /\ [][Next]_x
====
