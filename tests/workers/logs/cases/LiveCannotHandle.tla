---- MODULE LiveCannotHandle ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 3
Spec == Init /\ [][Next]_x
Prop == \E n \in Nat : <>(x = n)
====
