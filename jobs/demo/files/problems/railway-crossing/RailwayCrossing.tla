--------------------------- MODULE RailwayCrossing ---------------------------
(***************************************************************************)
(* Trains approach a crossing, its barrier comes down before they pass and *)
(* goes up when no train is near.                                          *)
(***************************************************************************)
EXTENDS Naturals

CONSTANT Trains

VARIABLES place, barrier

vars == <<place, barrier>>

Near == {t \in Trains : place[t] # "far"}

Init ==
    /\ place = [t \in Trains |-> "far"]
    /\ barrier = "up"

Approach(t) ==
    /\ place[t] = "far"
    /\ place' = [place EXCEPT ![t] = "near"]
    /\ UNCHANGED barrier

Lower == barrier = "up" /\ Near # {} /\ barrier' = "down" /\ UNCHANGED place

Cross(t) ==
    /\ place[t] = "near"
    /\ barrier = "down"
    /\ place' = [place EXCEPT ![t] = "crossing"]
    /\ UNCHANGED barrier

Depart(t) ==
    /\ place[t] = "crossing"
    /\ place' = [place EXCEPT ![t] = "far"]
    /\ UNCHANGED barrier

Raise == barrier = "down" /\ Near = {} /\ barrier' = "up" /\ UNCHANGED place

Next == Lower \/ Raise \/ \E t \in Trains : Approach(t) \/ Cross(t) \/ Depart(t)

Spec == Init /\ [][Next]_vars

Safe == \A t \in Trains : place[t] = "crossing" => barrier = "down"
==============================================================================
