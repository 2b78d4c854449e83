------------------------------- MODULE FlagPost -------------------------------
(***************************************************************************)
(* Sender and receiver share a letter box with two flags.  The sender      *)
(* turns its flag after putting a letter in, the receiver turns its flag   *)
(* after reading: the box is full while the flags differ.  This implements *)
(* OneSlot.                                                                *)
(***************************************************************************)
CONSTANTS Letters, Empty

ASSUME Empty \notin Letters

VARIABLES box, sent, read

vars == <<box, sent, read>>

TypeOK == box \in Letters /\ sent \in BOOLEAN /\ read \in BOOLEAN

Init ==
    /\ box \in Letters
    /\ sent \in BOOLEAN
    /\ read = sent

Send ==
    /\ sent = read
    /\ box' \in Letters
    /\ sent' = ~sent
    /\ UNCHANGED read

Receive ==
    /\ sent # read
    /\ read' = ~read
    /\ UNCHANGED <<box, sent>>

Spec == Init /\ [][Send \/ Receive]_vars /\ WF_vars(Receive)

Abstract == INSTANCE OneSlot WITH slot <- IF sent = read THEN Empty ELSE box

Refines == Abstract!Spec
===============================================================================
