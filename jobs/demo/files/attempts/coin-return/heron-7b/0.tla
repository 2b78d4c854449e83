------------------ MODULE CoinReturn ------------------
EXTENDS Integers, FiniteSets, TLC
CONSTANTS Workers, First, Coins
VARIABLES active, credit, announced

vars == <<active, credit, announced>>

RECURSIVE Sum(_, _)
Sum(f, S) ==      LET x == CHOOSE x \in S : TRUE
                  IN f[x] + Sum(f, (S \ {x}) \cup {x})

Held == Sum(credit, Workers)

TypeOK == active \in [Workers -> BOOLEAN] /\ announced \in BOOLEAN

Init == /\ active = [w \in Workers |-> w = First]
        /\ credit = [w \in Workers |-> IF w = First THEN Coins ELSE 0]
        /\ announced = FALSE

Send(a, b) == /\ active[a] /\ ~active[b] /\ credit[a] >= 2
              /\ credit' = [credit EXCEPT ![a] = @ - 1, ![b] = 1]
              /\ active' = [active EXCEPT ![b] = TRUE]
              /\ UNCHANGED announced

Stop(a) == /\ active[a]
           /\ active' = [active EXCEPT ![a] = FALSE]
           /\ credit' = [credit EXCEPT ![a] = 0]
           /\ UNCHANGED announced

Detect == /\ Held = 0
          /\ announced' = TRUE
          /\ UNCHANGED <<active, credit>>

Next == (\E a, b \in Workers : Send(a, b)) \/ (\E a \in Workers : Stop(a)) \/ Detect

Spec == Init /\ [][Next]_vars /\ WF_vars(Detect)

Sound == announced => \A w \in Workers : ~active[w]

Detected == (\A w \in Workers : ~active[w]) ~> announced
=======================================================
