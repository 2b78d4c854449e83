---- MODULE TemporalDiamondAction ----
EXTENDS Naturals
VARIABLE x
Live == <>(x' = 0)
====
