---- MODULE TalkingStick ----
EXTENDS Naturals, FiniteSets

CONSTANT N

VARIABLES
    holder,     \* who holds the stick
    eager,      \* who wants to talk
    talking     \* who talks

vars == <<holder, eager, talking>>

Circle == 1..N
After(p) == IF p = N THEN 1 ELSE p + 1

TypeOK ==
    /\ holder \in Circle
    /\ eager \subseteq Circle
    /\ talking \subseteq Circle

OneTalks == talking \subseteq {holder}

Init == holder = 1 /\ eager = {} /\ talking = {}

Want(p) ==
    /\ p \notin eager \union talking
    /\ eager' = eager \union {p}
    /\ UNCHANGED <<holder, talking>>

Start ==
    /\ holder \in eager
    /\ talking' = {holder}
    /\ eager' = eager \ {holder}
    /\ UNCHANGED holder

Finish ==
    /\ holder \in talking
    /\ talking' = {}
    /\ holder' = After(holder)
    /\ UNCHANGED eager

Skip ==
    /\ holder \notin eager \union talking
    /\ holder' = After(holder)
    /\ UNCHANGED <<eager, talking>>

Next == (\E p \in Circle : Want(p)) \/ Start \/ Finish \/ Skip

Spec == Init /\ [][Next]_vars /\ WF_vars(Start) /\ WF_vars(Finish) /\ WF_vars(Skip)

EverybodyTalks == \A p \in Circle : p \in eager ~> p \in talking
====
