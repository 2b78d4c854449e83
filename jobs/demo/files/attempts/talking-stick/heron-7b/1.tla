--------------------- MODULE TalkingStick ---------------------
EXTENDS Naturals, TLC
CONSTANT N
VARIABLES tok, st

Nodes == 1..N
vars == <<tok, st>>
TypeOK == tok \in Nodes /\ st \in [Nodes -> {"idle", "wait", "talk"}]

Init == tok = 1 /\ st = [n \in Nodes |-> "idle"]

Request(n) == /\ st[n] = "idle" /\ tok # n
              /\ st' = [st EXCEPT ![n] = "wait"]
              /\ tok' = tok

Enter(n) == /\ st[n] = "wait" /\ tok = n
            /\ st' = [st EXCEPT ![n] = "talk"]
            /\ tok' = tok

Exit(n) == /\ st[n] = "talk"
           /\ st' = [st EXCEPT ![n] = "idle"]
           /\ tok' = (tok % N) + 1

Pass(n) == /\ tok = n /\ st[n] = "done"
           /\ tok' = (tok % N) + 1
           /\ st' = st

Next == \E n \in Nodes : Request(n) \/ Enter(n) \/ Exit(n) \/ Pass(n)

Spec == Init /\ [][Next]_vars /\ \A n \in Nodes : WF_vars(Enter(n)) /\ WF_vars(Exit(n)) /\ WF_vars(Pass(n))

OneTalks == \A n \in Nodes : st[n] = "talk" => tok = n

EverybodyTalks == \A n \in Nodes : (st[n] = "wait") ~> (st[n] = "talk")
===============================================================
