---------------------------- MODULE PriceHistory ----------------------------
(* A shop changes its prices; the number of the current list fits a stamp   *)
(* with Stamps positions.                                                  *)
EXTENDS Naturals

CONSTANTS Articles, Prices, Stamps

VARIABLES list, stamp

vars == <<list, stamp>>

TypeOK == list \in [Articles -> Prices] /\ stamp \in 0..(Stamps - 1)

Init == list \in [Articles -> Prices] /\ stamp = 0

Change(a, p) ==
    /\ list[a] # p
    /\ list' = [list EXCEPT ![a] = p]
    /\ stamp' = (stamp + 1) % Stamps

Next == \E a \in Articles, p \in Prices : Change(a, p)

Spec == Init /\ [][Next]_vars

PricesKnown == \A a \in Articles : list[a] \in Prices
=============================================================================
