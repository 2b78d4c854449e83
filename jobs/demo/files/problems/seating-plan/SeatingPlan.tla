------------------------------ MODULE SeatingPlan ------------------------------
(* Nothing moves here: only assumptions about a table are checked. *)
EXTENDS Naturals, FiniteSets

CONSTANTS Guests, Chairs

Plans == {f \in [Guests -> Chairs] : \A g, h \in Guests : f[g] = f[h] => g = h}

ASSUME EverybodySits == Plans # {}

ASSUME Choice == Cardinality(Chairs) > Cardinality(Guests) => Cardinality(Plans) > 1
================================================================================
