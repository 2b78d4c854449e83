---- MODULE ParseGrammar ----
EXTENDS Naturals
VARIABLE x
Init == x =
Next == x' = 1
====
