---- MODULE RailwayCrossing ----
EXTENDS FiniteSets, Integers

CONSTANT Trains

VARIABLES approaching, crossing, open

vars == <<approaching, crossing, open>>

Init == approaching = {} /\ crossing = {} /\ open = TRUE

Arrive(t) ==
    /\ t \notin approaching \union crossing
    /\ approaching' = approaching \union {t}
    /\ UNCHANGED <<crossing, open>>

Close == open /\ approaching # {} /\ open' = FALSE /\ UNCHANGED <<approaching, crossing>>

Enter(t) ==
    /\ t \in approaching
    /\ ~open
    /\ approaching' = approaching \ {t}
    /\ crossing' = crossing \union {t}
    /\ UNCHANGED open

Exit(t) ==
    /\ t \in crossing
    /\ crossing' = crossing \ {t}
    /\ UNCHANGED <<approaching, open>>

Open ==
    /\ ~open
    /\ approaching \union crossing = {}
    /\ open' = TRUE
    /\ UNCHANGED <<approaching, crossing>>

Next == Close \/ Open \/ \E t \in Trains : Arrive(t) \/ Enter(t) \/ Exit(t)

Spec == Init /\ [][Next]_vars /\ WF_vars(Close) /\ WF_vars(Open)

Safe == crossing # {} => ~open

====
