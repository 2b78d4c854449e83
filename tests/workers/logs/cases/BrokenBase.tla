---- MODULE BrokenBase ----
EXTENDS Naturals
VARIABLE y
Step ==
====
