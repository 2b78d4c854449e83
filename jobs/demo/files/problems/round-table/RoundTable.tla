---------------------------- MODULE RoundTable ----------------------------
(***************************************************************************)
(* Leader election on a ring: guests at a round table pass slips of paper  *)
(* to the left.  A guest sends a slip with the own number, passes on       *)
(* higher numbers and drops lower ones; whoever gets the own slip back     *)
(* gives the speech.                                                       *)
(***************************************************************************)
EXTENDS Naturals

CONSTANT N

ASSUME N \in Nat \ {0}

Seats == 1..N
LeftOf(s) == IF s = N THEN 1 ELSE s + 1

VARIABLES tray, role

vars == <<tray, role>>

TypeOK ==
    /\ tray \in [Seats -> SUBSET Seats]
    /\ role \in [Seats -> {"silent", "running", "passed", "speaker"}]

Init ==
    /\ tray = [s \in Seats |-> {}]
    /\ role = [s \in Seats |-> "silent"]

Stand(s) ==
    /\ role[s] = "silent"
    /\ role' = [role EXCEPT ![s] = "running"]
    /\ tray' = [tray EXCEPT ![LeftOf(s)] = @ \cup {s}]

Pass(s, slip) ==
    /\ slip > s
    /\ tray' = [tray EXCEPT ![s] = @ \ {slip}, ![LeftOf(s)] = @ \cup {slip}]
    /\ role' = [role EXCEPT ![s] = "passed"]

Drop(s, slip) ==
    /\ slip < s
    /\ tray' = [tray EXCEPT ![s] = @ \ {slip}]
    /\ UNCHANGED role

Win(s, slip) ==
    /\ slip = s
    /\ tray' = [tray EXCEPT ![s] = @ \ {slip}]
    /\ role' = [role EXCEPT ![s] = "speaker"]

Read(s) == \E slip \in tray[s] : Pass(s, slip) \/ Drop(s, slip) \/ Win(s, slip)

Step == \E s \in Seats : Stand(s) \/ Read(s)

Speech ==
    /\ \E s \in Seats : role[s] = "speaker"
    /\ UNCHANGED vars

Next == Step \/ Speech

Spec == Init /\ [][Next]_vars /\ WF_vars(Step)

AtMostOneSpeaker ==
    \A s, t \in Seats : role[s] = "speaker" /\ role[t] = "speaker" => s = t

SomebodySpeaks == <>(\E s \in Seats : role[s] = "speaker")
===========================================================================
