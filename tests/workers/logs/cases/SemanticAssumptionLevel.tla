---- MODULE SemanticAssumptionLevel ----
EXTENDS Naturals
VARIABLE x
ASSUME x = 0
====
