---- MODULE SemanticSeveral ----
EXTENDS Naturals
VARIABLE x
Init == x = Zero
Live == []<>(x' = x)
Init == x = 1
====
