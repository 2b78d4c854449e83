---- MODULE TemporalQuantifierBound ----
EXTENDS Naturals
VARIABLE x
Live == \E y \in {x'} : <>(x = y)
====
