---- MODULE TastingMenu ----
CONSTANT Guests

VARIABLES
    decision,   \* what the waiter decided: "none", "commit" or "abort"
    vote,       \* what each guest answered
    outcome     \* what each guest has done

vars == <<decision, vote, outcome>>

TypeOK ==
    /\ decision \in {"none", "commit", "abort"}
    /\ vote \in [Guests -> {"open", "yes", "no"}]
    /\ outcome \in [Guests -> {"pending", "commit", "abort"}]

Init ==
    /\ decision = "none"
    /\ vote = [g \in Guests |-> "open"]
    /\ outcome = [g \in Guests |-> "pending"]

Vote(g, v) ==
    /\ vote[g] = "open"
    /\ vote' = [vote EXCEPT ![g] = v]
    /\ outcome' = IF v = "no" THEN [outcome EXCEPT ![g] = "abort"] ELSE outcome
    /\ UNCHANGED decision

DecideCommit ==
    /\ decision = "none"
    /\ \A g \in Guests : vote[g] = "yes"
    /\ decision' = "commit"
    /\ UNCHANGED <<vote, outcome>>

DecideAbort ==
    /\ decision = "none"
    /\ \E g \in Guests : vote[g] = "no"
    /\ decision' = "abort"
    /\ UNCHANGED <<vote, outcome>>

Learn(g) ==
    /\ decision # "none"
    /\ vote[g] = "yes"
    /\ outcome[g] = "pending"
    /\ outcome' = [outcome EXCEPT ![g] = decision]
    /\ UNCHANGED <<decision, vote>>

Done ==
    /\ \A g \in Guests : outcome[g] # "pending"
    /\ decision # "none"
    /\ UNCHANGED vars

Next ==
    \/ DecideCommit
    \/ DecideAbort
    \/ \E g \in Guests : Vote(g, "yes") \/ Vote(g, "no") \/ Learn(g)
    \/ Done

Spec == Init /\ [][Next]_vars

Agreement ==
    ~ \E g, h \in Guests : outcome[g] = "commit" /\ outcome[h] = "abort"
====
