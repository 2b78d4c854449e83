---- MODULE OrderedTypes ----
EXTENDS Naturals, Sequences, FiniteSets, TLC
VARIABLE x
Init == x = 0
Next == x < 2 /\ x' = IF "a" < x THEN 1 ELSE 0
Spec == Init /\ [][Next]_x
====
