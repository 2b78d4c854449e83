---------------- MODULE ClubVote ----------------
EXTENDS Ballot, TLC
VARIABLES votes, winner
vars == <<votes, winner>>

IsMajority(Q, S) == Cardinality(Q) * 2 > Cardinality(S)
TypeOK == votes \in Votes /\ winner \subseteq Options

Init == votes = [m \in Members |-> NoVote] /\ winner = {}

CastVote(m, o) == /\ votes[m] = NoVote
                  /\ votes' = [votes EXCEPT ![m] = o]
                  /\ winner' = winner

Count(o) == /\ IsElected(votes, o)
            /\ winner' = winner \cup {o}
            /\ votes' = votes

Done == (\A m \in Members : votes[m] \in Options) /\ UNCHANGED vars

Next == (\E m \in Members, o \in Options : CastVote(m, o)) \/ (\E o \in Options : Count(o)) \/ Done

Spec == Init /\ [][Next]_vars

AtMostOne == Cardinality(winner) < 2

VotesStand == [][\A m \in Members : votes[m] # NoVote => votes'[m] = votes[m]]_vars
=================================================
