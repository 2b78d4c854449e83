--------------------- MODULE ParcelShelf ---------------------
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS Parcels, Capacity

VARIABLES buffer, last

TypeOK == buffer \in Seq(Parcels)

WithinCapacity == Len(buffer) <= Capacity

Init == buffer = <<>> /\ Len(buffer) > 0 /\ last = "none"

Produce(p) == /\ Len(buffer) < Capacity
              /\ buffer' = Append(buffer, p)
              /\ last' = "put"

Consume == /\ Len(buffer) > 0
           /\ buffer' = Tail(buffer)
           /\ last' = "take"

Next == \/ \E p \in Parcels : Produce(p)
        \/ Consume
==============================================================
