---- MODULE SemanticArity ----
EXTENDS Naturals
VARIABLE x
Succ(a) == a + 1
Init == x = Succ(1, 2)
====
