---- MODULE DoorLock ----
EXTENDS Naturals, FiniteSets

CONSTANTS Visitors, Nobody

VARIABLES lock, at

vars == <<lock, at>>

TypeOK ==
    /\ lock \in Visitors \union {Nobody}
    /\ at \in [Visitors -> {"away", "waiting", "inside"}]

Inside == {v \in Visitors : at[v] = "inside"}

MutualExclusion == Cardinality(Inside) <= 1

Init ==
    /\ lock = Nobody
    /\ at = [v \in Visitors |-> "away"]

Move(v, from, to) == at[v] = from /\ at' = [at EXCEPT ![v] = to]

Knock(v) == Move(v, "away", "waiting") /\ UNCHANGED lock
Enter(v) == lock = Nobody /\ Move(v, "waiting", "inside") /\ lock' = v
Leave(v) == lock = v /\ Move(v, "inside", "away") /\ lock' = Nobody

Next == \E v \in Visitors : Knock(v) \/ Enter(v) \/ Leave(v)

Spec == Init /\ [][Next]_vars
====
