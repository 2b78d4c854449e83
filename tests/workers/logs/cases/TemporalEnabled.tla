---- MODULE TemporalEnabled ----
EXTENDS Naturals
VARIABLE x
Bad == ENABLED [](x = 0)
====
