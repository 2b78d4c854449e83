---- MODULE InitIncomplete ----
EXTENDS Naturals
VARIABLES x, y
Init == x = 0
Next == UNCHANGED <<x, y>>
Spec == Init /\ [][Next]_<<x, y>>
====
