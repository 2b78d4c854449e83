---- MODULE DivisionByZero ----
EXTENDS Naturals, Sequences, FiniteSets, TLC
VARIABLE x
Init == x = 0
Next == x < 2 /\ x' = 1 \div x
Spec == Init /\ [][Next]_x
====
