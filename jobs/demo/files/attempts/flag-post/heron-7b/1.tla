------------------ MODULE FlagPost ------------------
EXTENDS Naturals
CONSTANTS Letters, Empty
VARIABLES data, req, ack

vars == <<data, req, ack>>
TypeOK == req \in BOOLEAN /\ ack \in BOOLEAN

Init == data \in Letters /\ req = FALSE /\ ack = FALSE

Send == /\ req = ack
        /\ \E l in Letters : data' = l
        /\ req' = ~req
        /\ ack' = ack

Recv == /\ req # ack
        /\ ack' = req
        /\ UNCHANGED <<data, req>>

Next == Send \/ Recv

Spec == Init /\ [][Next]_vars /\ WF_vars(Recv)

High == INSTANCE OneSlot WITH slot <- IF req = ack THEN Empty ELSE data

Refines == High!Spec
=====================================================
