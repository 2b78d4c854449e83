---- MODULE TemporalBoxAction ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Spec == Init /\ [](x' = x + 1)
====
