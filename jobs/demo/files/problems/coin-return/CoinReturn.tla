------------------------------ MODULE CoinReturn ------------------------------
(***************************************************************************)
(* Termination detection with coins: the first worker starts with all      *)
(* coins.  Who hands work on gives a coin along, who is done throws the    *)
(* coins in a box.  When all coins are in the box, nobody is at work.      *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS Workers, First, Coins

ASSUME First \in Workers /\ Coins \in Nat \ {0}

VARIABLES purse, box, announced

vars == <<purse, box, announced>>

Busy == {w \in Workers : purse[w] > 0}

TypeOK ==
    /\ purse \in [Workers -> 0..Coins]
    /\ box \in 0..Coins
    /\ announced \in BOOLEAN

RECURSIVE Total(_)
Total(S) ==
    IF S = {} THEN 0
    ELSE LET w == CHOOSE x \in S : TRUE IN purse[w] + Total(S \ {w})

NoCoinLost == box + Total(Workers) = Coins

Init ==
    /\ purse = [w \in Workers |-> IF w = First THEN Coins ELSE 0]
    /\ box = 0
    /\ announced = FALSE

HandOn(v, w) ==
    /\ v # w
    /\ purse[v] > 1
    /\ purse' = [purse EXCEPT ![v] = @ - 1, ![w] = @ + 1]
    /\ UNCHANGED <<box, announced>>

Finish(w) ==
    /\ purse[w] > 0
    /\ box' = box + purse[w]
    /\ purse' = [purse EXCEPT ![w] = 0]
    /\ UNCHANGED announced

Announce ==
    /\ box = Coins
    /\ announced' = TRUE
    /\ UNCHANGED <<purse, box>>

Next ==
    \/ Announce
    \/ \E v, w \in Workers : HandOn(v, w)
    \/ \E w \in Workers : Finish(w)

Spec == Init /\ [][Next]_vars /\ WF_vars(Announce)

Sound == announced => Busy = {}

Detected == (Busy = {}) ~> announced
===============================================================================
