----------------------------- MODULE TalkingStick -----------------------------
(***************************************************************************)
(* A token ring: people in a circle hand a stick to the next one, and only *)
(* who holds the stick may talk.  Everybody who wants to talk gets to it.  *)
(***************************************************************************)
EXTENDS Naturals

CONSTANT N

ASSUME N \in Nat \ {0}

People == 0..(N - 1)

VARIABLES stick, mood

vars == <<stick, mood>>

TypeOK ==
    /\ stick \in People
    /\ mood \in [People -> {"listening", "eager", "talking"}]

Init ==
    /\ stick \in People
    /\ mood = [p \in People |-> "listening"]

HaveIdea(p) ==
    /\ mood[p] = "listening"
    /\ mood' = [mood EXCEPT ![p] = "eager"]
    /\ UNCHANGED stick

Talk(p) ==
    /\ stick = p
    /\ mood[p] = "eager"
    /\ mood' = [mood EXCEPT ![p] = "talking"]
    /\ UNCHANGED stick

HandOver(p) ==
    /\ stick = p
    /\ mood[p] # "eager"
    /\ stick' = (p + 1) % N
    /\ mood' = [mood EXCEPT ![p] = "listening"]

Next == \E p \in People : HaveIdea(p) \/ Talk(p) \/ HandOver(p)

Fairness == \A p \in People : WF_vars(Talk(p)) /\ WF_vars(HandOver(p))

Spec == Init /\ [][Next]_vars /\ Fairness

OneTalks == \A p \in People : mood[p] = "talking" => stick = p

EverybodyTalks == \A p \in People : mood[p] = "eager" ~> mood[p] = "talking"
===============================================================================
