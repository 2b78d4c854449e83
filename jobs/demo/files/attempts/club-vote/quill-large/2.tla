---- MODULE ClubVote ----
EXTENDS Ballot

VARIABLES ballots, result

vars == <<ballots, result>>

TypeOK ==
    /\ ballots \in Votes
    /\ result \in Options \union {NoVote}

Init ==
    /\ ballots = [m \in Members |-> NoVote]
    /\ result = NoVote

Cast(m) ==
    /\ ballots[m] = NoVote
    /\ \E o \in Options : ballots' = [ballots EXCEPT ![m] = o]
    /\ UNCHANGED result

Declare ==
    /\ result = NoVote
    /\ \E o \in Options : IsElected(ballots, o) /\ result' = o
    /\ UNCHANGED ballots

Closed ==
    /\ \A m \in Members : ballots[m] # NoVote
    /\ UNCHANGED vars

Next == Declare \/ Closed \/ \E m \in Members : Cast(m)

Spec == Init /\ [][Next]_vars

AtMostOne == \A o \in Options : result = o => IsElected(ballots, o)

VotesStand ==
    [][\A m \in Members : ballots[m] = NoVote \/ ballots'[m] = ballots[m]]_ballots
====
