---- MODULE ParseLexical ----
EXTENDS Naturals
VARIABLE x
Init == x = “zero”
====
