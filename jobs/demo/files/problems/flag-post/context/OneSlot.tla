-------------------------------- MODULE OneSlot --------------------------------
(***************************************************************************)
(* A place for one letter: it is put there when the place is empty, and it *)
(* is taken in the end.                                                    *)
(***************************************************************************)
CONSTANTS Letters, Empty

VARIABLE slot

Init == slot = Empty

Put == slot = Empty /\ slot' \in Letters

Take == slot # Empty /\ slot' = Empty

Next == Put \/ Take

Spec == Init /\ [][Next]_slot /\ WF_slot(Take)
================================================================================
