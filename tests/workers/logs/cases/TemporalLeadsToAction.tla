---- MODULE TemporalLeadsToAction ----
EXTENDS Naturals
VARIABLE x
Live == (x' = 0) ~> (x = 1)
====
