---- MODULE WrongArgument ----
EXTENDS Naturals, Sequences, FiniteSets, TLC
VARIABLE x
Init == x = 0
Next == x < 2 /\ x' = Len(x)
Spec == Init /\ [][Next]_x
====
