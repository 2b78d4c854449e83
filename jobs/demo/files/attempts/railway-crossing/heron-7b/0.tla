---------------- MODULE RailwayCrossing ----------------
EXTENDS Naturals, FiniteSets
CONSTANT Trains
VARIABLES where, gate

Init == where = [t \in Trains |-> "away"] /\ gate = "open"

Come(t) == where[t] = "away" /\ where' = [where EXCEPT ![t] = "close"] /\ gate' = "closed"

Pass(t) == where[t] = "close" /\ where' = [where EXCEPT ![t] = "away"]
           /\ gate' = IF \E u \in Trains : u # t /\ where[u] = "close" THEN gate

Next == \E t \in Trains : Come(t) \/ Pass(t)

Spec == Init /\ [][Next]_<<where, gate>>

Safe == (\E t \in Trains : where[t] = "close") => gate = "closed"
========================================================
