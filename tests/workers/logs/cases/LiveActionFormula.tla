---- MODULE LiveActionFormula ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 3
Spec == Init /\ [][Next]_x
Prop == <>[][x' = x]_x /\ <><<x' = 1>>_x
====
