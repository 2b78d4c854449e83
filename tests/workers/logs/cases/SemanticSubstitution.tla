---- MODULE SemanticSubstitution ----
EXTENDS Naturals
VARIABLE x
M == INSTANCE Accepted WITH y <- x
====
