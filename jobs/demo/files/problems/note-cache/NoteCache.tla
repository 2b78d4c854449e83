------------------------------ MODULE NoteCache ------------------------------
(***************************************************************************)
(* Clerks copy the price list of a store on note pads.  A clerk who writes *)
(* a price changes the list and the own pad, and every other pad loses its *)
(* copy of that price.                                                     *)
(***************************************************************************)
CONSTANTS Clerks, Articles, Prices, Blank

ASSUME Blank \notin Prices

VARIABLES list, pad

vars == <<list, pad>>

TypeOK ==
    /\ list \in [Articles -> Prices]
    /\ pad \in [Clerks -> [Articles -> Prices \cup {Blank}]]

Init ==
    /\ list \in [Articles -> Prices]
    /\ pad = [c \in Clerks |-> [a \in Articles |-> Blank]]

Look(c, a) ==
    /\ pad[c][a] = Blank
    /\ pad' = [pad EXCEPT ![c][a] = list[a]]
    /\ UNCHANGED list

Change(c, a, p) ==
    /\ list' = [list EXCEPT ![a] = p]
    /\ pad' = [d \in Clerks |-> [pad[d] EXCEPT ![a] = IF d = c THEN p ELSE Blank]]

Forget(c, a) ==
    /\ pad[c][a] # Blank
    /\ pad' = [pad EXCEPT ![c][a] = Blank]
    /\ UNCHANGED list

Next == \E c \in Clerks, a \in Articles :
    \/ Look(c, a)
    \/ Forget(c, a)
    \/ \E p \in Prices : Change(c, a, p)

Coherent == \A c \in Clerks, a \in Articles : pad[c][a] \in {Blank, list[a]}
==============================================================================
