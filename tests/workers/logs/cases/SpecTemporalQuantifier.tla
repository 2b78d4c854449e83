---- MODULE SpecTemporalQuantifier ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 3
Spec == Init /\ [][Next]_x
Odd == \EE y : (y = x /\ [][y' = x']_y)
====
