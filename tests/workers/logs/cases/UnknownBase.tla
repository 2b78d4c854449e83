---- MODULE UnknownBase ----
EXTENDS Naturals
VARIABLE y
Step == Missing
====
