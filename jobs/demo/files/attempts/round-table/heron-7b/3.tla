-------------------- MODULE RoundTable --------------------
EXTENDS Integers, FiniteSets, TLC
CONSTANT N
VARIABLES msgs, leader, sent

Nodes == 1..N
Right(n) == IF n < N THEN n + 1 ELSE 1
vars == <<msgs, leader, sent>>

TypeOK == /\ msgs \subseteq (Nodes \X Nodes)
          /\ leader \subseteq Nodes
          /\ sent \subseteq Nodes

Init == msgs = {} /\ leader = {} /\ sent = {}

Send(n) == /\ n \notin sent
           /\ sent' = sent \cup {n}
           /\ msgs' = msgs \cup {<<Right(n), n>>}
           /\ UNCHANGED leader

Handle(m) ==
  LET n == m[1]
      id == m[2]
  IN /\ sent' = sent
     /\ msgs' = IF id > n THEN (msgs \ {m}) \cup {<<Right(n), id>>} ELSE msgs \ {m}
     /\ leader' = IF id = n THEN leader \cup {n} ELSE leader

Next == (∃ n ∈ Nodes : Send(n)) \/ (∃ m ∈ msgs : Handle(m))

Stop == leader ≠ {} ∧ sent = Nodes /\ msgs = {} /\ UNCHANGED vars

Spec == Init /\ [][Next \/ Stop]_vars /\ WF_vars(Next)

AtMostOneSpeaker == \A a, b \in leader : a = b

SomebodySpeaks == <>(leader # {})
===========================================================
