---------------------------- MODULE ParcelShelf ----------------------------
(***************************************************************************)
(* A shelf holds up to Capacity parcels in the order of their arrival.     *)
(* Couriers put parcels at its end, customers take them from its front.    *)
(***************************************************************************)
EXTENDS Naturals, Sequences

CONSTANTS Parcels, Capacity

ASSUME Capacity \in Nat \ {0}

VARIABLES shelf, taken

vars == <<shelf, taken>>

TypeOK ==
    /\ shelf \in Seq(Parcels)
    /\ taken \in Seq(Parcels) /\ Len(taken) <= 1

WithinCapacity == Len(shelf) <= Capacity

Init == shelf = <<>> /\ taken = <<>>

Put(p) ==
    /\ Len(shelf) < Capacity
    /\ shelf' = Append(shelf, p)
    /\ UNCHANGED taken

Take ==
    /\ shelf # <<>>
    /\ taken' = <<Head(shelf)>>
    /\ shelf' = Tail(shelf)

Next == (\E p \in Parcels : Put(p)) \/ Take
=============================================================================
