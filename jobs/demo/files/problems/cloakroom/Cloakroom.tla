------------------------------ MODULE Cloakroom ------------------------------
(* Guests of a theatre hand in their coats, which hang on hooks until they   *)
(* are fetched.                                                              *)
EXTENDS Naturals

CONSTANTS Guests, Hooks, Worn

ASSUME Worn \notin Hooks

VARIABLE coat  \* where the coat of each guest is

TypeOK == coat \in [Guests -> Hooks \cup {Worn}]

Init == coat = [g \in Guests |-> Worn]

HandIn(g, h) ==
    /\ coat[g] = Worn
    /\ \A other \in Guests : coat[other] # h
    /\ coat' = [coat EXCEPT ![g] = h]

Fetch(g) ==
    /\ coat[g] # Worn
    /\ coat' = [coat EXCEPT ![g] = Worn]

Next == \E g \in Guests : Fetch(g) \/ \E h \in Hooks : HandIn(g, h)

Spec == Init /\ [][Next]_coat

OneCoatPerHook ==
    \A g, other \in Guests : coat[g] # Worn /\ coat[g] = coat[other] => g = other
==============================================================================
