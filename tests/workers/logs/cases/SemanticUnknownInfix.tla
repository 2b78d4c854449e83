---- MODULE SemanticUnknownInfix ----
VARIABLE x
Init == x = 0 + 1
====
