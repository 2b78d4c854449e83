------------------------------- MODULE Majority -------------------------------
(* Majorities of a finite set; any two of them have a member in common. *)
EXTENDS Naturals, FiniteSets

IsMajority(Q, S) == Q \subseteq S /\ 2 * Cardinality(Q) > Cardinality(S)

Majorities(S) == {Q \in SUBSET S : IsMajority(Q, S)}
===============================================================================
