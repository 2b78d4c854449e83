---- MODULE SemanticUnknownOperator ----
EXTENDS Naturals
VARIABLE x
Init == x = Zero
Next == x' = x
====
