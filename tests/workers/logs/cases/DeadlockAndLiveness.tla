---- MODULE DeadlockAndLiveness ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x < 3 /\ x' = x + 1
Spec == Init /\ [][Next]_x /\ WF_x(Next)
Never == [](x # 3)
Live == [](x = 1 => <>(x = 0))
====
