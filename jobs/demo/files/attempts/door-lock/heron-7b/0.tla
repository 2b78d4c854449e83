---------------------------- MODULE DoorLock ----------------------------
EXTENDS Naturals, FiniteSets
CONSTANTS Visitors, Nobody
VARIABLES owner, pc
vars == <<owner, pc>>

Init == owner = Nobody /\ pc = [v \in Visitors |-> "want"]

TypeOK == owner \in (Visitors \cup {Nobody}) /\ pc \in [Visitors -> {"want", "cs"}]

Acquire(v) == /\ pc[v] = "want"
              /\ owner = Nobody
              /\ owner' = v;
              /\ pc' = [pc EXCEPT ![v] = "cs"]

Release(v) == /\ pc[v] = "cs"
              /\ owner' = Nobody
              /\ pc' = [pc EXCEPT ![v] = "want"]

Next == \E v \in Visitors : Acquire(v) \/ Release(v)

Spec == Init /\ [][Next]_vars

MutualExclusion == Cardinality({v \in Visitors : pc[v] = "cs"}) < 2
=========================================================================
