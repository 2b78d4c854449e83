---------------------------- MODULE GroupOrder ----------------------------
(***************************************************************************)
(* Two-phase commit at a restaurant: a waiter asks every guest whether the *)
(* group should order the tasting menu, which comes for all or for nobody. *)
(* A guest who said yes waits for the waiter's word; a guest who said no   *)
(* declines at once.                                                       *)
(***************************************************************************)
CONSTANT Guests

VARIABLES waiter, guest, notes

vars == <<waiter, guest, notes>>

Notes == [kind : {"yes", "no"}, from : Guests] \cup [kind : {"serve", "cancel"}]

TypeOK ==
    /\ waiter \in {"asking", "serving", "cancelled"}
    /\ guest \in [Guests -> {"thinking", "ready", "dining", "declined"}]
    /\ notes \subseteq Notes

Init ==
    /\ waiter = "asking"
    /\ guest = [g \in Guests |-> "thinking"]
    /\ notes = {}

Become(g, s) == guest' = [guest EXCEPT ![g] = s]
Write(n) == notes' = notes \cup {n}

SayYes(g) ==
    /\ guest[g] = "thinking"
    /\ Become(g, "ready")
    /\ Write([kind |-> "yes", from |-> g])
    /\ UNCHANGED waiter

SayNo(g) ==
    /\ guest[g] = "thinking"
    /\ Become(g, "declined")
    /\ Write([kind |-> "no", from |-> g])
    /\ UNCHANGED waiter

Serve ==
    /\ waiter = "asking"
    /\ \A g \in Guests : [kind |-> "yes", from |-> g] \in notes
    /\ waiter' = "serving"
    /\ Write([kind |-> "serve"])
    /\ UNCHANGED guest

Cancel ==
    /\ waiter = "asking"
    /\ \E g \in Guests : [kind |-> "no", from |-> g] \in notes
    /\ waiter' = "cancelled"
    /\ Write([kind |-> "cancel"])
    /\ UNCHANGED guest

Dine(g) ==
    /\ guest[g] = "ready"
    /\ [kind |-> "serve"] \in notes
    /\ Become(g, "dining")
    /\ UNCHANGED <<waiter, notes>>

Decline(g) ==
    /\ guest[g] = "ready"
    /\ [kind |-> "cancel"] \in notes
    /\ Become(g, "declined")
    /\ UNCHANGED <<waiter, notes>>

Settled == \A g \in Guests : guest[g] \in {"dining", "declined"}

Close == Settled /\ waiter # "asking" /\ UNCHANGED vars

Next ==
    \/ Serve \/ Cancel \/ Close
    \/ \E g \in Guests : SayYes(g) \/ SayNo(g) \/ Dine(g) \/ Decline(g)

Spec == Init /\ [][Next]_vars /\ WF_vars(Next)

Agreement ==
    \A g, h \in Guests : ~(guest[g] = "dining" /\ guest[h] = "declined")
===========================================================================
