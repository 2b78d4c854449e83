---- MODULE ParseTruncated ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
