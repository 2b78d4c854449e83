------------------------------- MODULE ClubVote -------------------------------
(***************************************************************************)
(* The members of a club vote once each for the place of the next meeting; *)
(* the chair announces an option when a majority has voted for it.         *)
(***************************************************************************)
EXTENDS Ballot

VARIABLES votes, announced

vars == <<votes, announced>>

TypeOK == votes \in Votes /\ announced \subseteq Options

Init ==
    /\ votes = [m \in Members |-> NoVote]
    /\ announced = {}

Vote(m, o) ==
    /\ votes[m] = NoVote
    /\ votes' = [votes EXCEPT ![m] = o]
    /\ UNCHANGED announced

Announce(o) ==
    /\ IsElected(votes, o)
    /\ announced' = announced \cup {o}
    /\ UNCHANGED votes

AllVoted == VotersFor(votes, NoVote) = {}

Adjourn == AllVoted /\ UNCHANGED vars

Next ==
    \/ \E o \in Options : Announce(o) \/ \E m \in Members : Vote(m, o)
    \/ Adjourn

Spec == Init /\ [][Next]_vars

AtMostOne == Cardinality(announced) <= 1

VotesStand == [][\A m \in Members : votes[m] # NoVote => votes'[m] = votes[m]]_vars
===============================================================================
