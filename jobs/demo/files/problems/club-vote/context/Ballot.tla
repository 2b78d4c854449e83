-------------------------------- MODULE Ballot --------------------------------
(* Votes of members for options, kept as a function from members to votes. *)
EXTENDS Majority

CONSTANTS Members, Options, NoVote

ASSUME NoVote \notin Options

Votes == [Members -> Options \cup {NoVote}]

VotersFor(votes, option) == {m \in Members : votes[m] = option}

IsElected(votes, option) == IsMajority(VotersFor(votes, option), Members)

Undecided(votes) == \A o \in Options : ~IsElected(votes, o)
===============================================================================
