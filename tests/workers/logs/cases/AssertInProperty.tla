---- MODULE AssertInProperty ----
EXTENDS Naturals, TLC
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 3
Spec == Init /\ [][Next]_x /\ WF_x(Next)
Live == []<>(Assert(x < 2, "x grew") /\ x = 0)
====
