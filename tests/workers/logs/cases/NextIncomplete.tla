---- MODULE NextIncomplete ----
EXTENDS Naturals
VARIABLES x, y
Init == x = 0 /\ y = 0
Next == x' = 1 - x
Spec == Init /\ [][Next]_<<x, y>>
====
