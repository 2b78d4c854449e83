---- MODULE AssumptionsOnly ----
EXTENDS Naturals
ASSUME 1 + 1 = 2
====
