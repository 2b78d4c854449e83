---- MODULE ParcelShelf ----
EXTENDS Naturals, Sequences

CONSTANTS Parcels, Capacity

------------------------------ MODULE Queue ------------------------------
LOCAL INSTANCE Sequences
CONSTANT Limit
IsFull(q) == Len(q) = Limit
IsEmpty(q) == q = <<>>
Enqueue(q, x) == Append(q, x)
Dequeue(q) == Tail(q)
==========================================================================

VARIABLE shelf

Q == INSTANCE Queue WITH Limit <- Capacity

TypeOK == shelf \in Seq(Parcels)
WithinCapacity == Len(shelf) <= Capacity

Init == shelf = <<>>

Put(p) == ~Q!IsFull(shelf) /\ shelf' = Q!Enqueue(shelf, p)
Take == ~Q!IsEmpty(shelf) /\ shelf' = Q!Dequeue(shelf)

Next == (\E p \in Parcels : Put(p)) \/ Take
====
