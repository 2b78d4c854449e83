------------------------------- MODULE DoorLock -------------------------------
(***************************************************************************)
(* Visitors share a room whose door has one lock.  A visitor waits at the  *)
(* door, takes the lock when nobody holds it, and gives it back on leaving.*)
(***************************************************************************)
CONSTANTS Visitors, Nobody

ASSUME Nobody \notin Visitors

VARIABLES holder, place

vars == <<holder, place>>

TypeOK ==
    /\ holder \in Visitors \cup {Nobody}
    /\ place \in [Visitors -> {"outside", "door", "room"}]

Init ==
    /\ holder = Nobody
    /\ place = [v \in Visitors |-> "outside"]

Arrive(v) ==
    /\ place[v] = "outside"
    /\ place' = [place EXCEPT ![v] = "door"]
    /\ UNCHANGED holder

Enter(v) ==
    /\ place[v] = "door"
    /\ holder = Nobody
    /\ holder' = v
    /\ place' = [place EXCEPT ![v] = "room"]

Leave(v) ==
    /\ place[v] = "room"
    /\ holder' = Nobody
    /\ place' = [place EXCEPT ![v] = "outside"]

Next == \E v \in Visitors : Arrive(v) \/ Enter(v) \/ Leave(v)

Spec == Init /\ [][Next]_vars

MutualExclusion ==
    \A v, w \in Visitors : place[v] = "room" /\ place[w] = "room" => v = w

HolderIsInside == \A v \in Visitors : place[v] = "room" <=> holder = v
===============================================================================
