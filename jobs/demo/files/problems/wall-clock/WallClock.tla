------------------------------ MODULE WallClock ------------------------------
(***************************************************************************)
(* A clock on a wall with a short hand that points to one of Hours hours   *)
(* and a long hand that rests on one of Marks marks between two hours.     *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS Hours, Marks

ASSUME ClockAssumption == Hours \in Nat \ {0} /\ Marks \in Nat \ {0}

VARIABLES hour, mark

vars == <<hour, mark>>

TypeOK == hour \in 1..Hours /\ mark \in 0..(Marks - 1)

Init == hour \in 1..Hours /\ mark = 0

HourAfter(h) == IF h = Hours THEN 1 ELSE h + 1

Tick ==
    /\ mark' = (mark + 1) % Marks
    /\ hour' = IF mark + 1 = Marks THEN HourAfter(hour) ELSE hour

Spec == Init /\ [][Tick]_vars

(* The short hand moves only when the long hand comes back to the top. *)
HandsAgree == [][hour' # hour => hour' = HourAfter(hour) /\ mark' = 0]_vars
==============================================================================
