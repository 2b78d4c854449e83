---- MODULE TlcGetUndefined ----
EXTENDS Naturals, Sequences, FiniteSets, TLC
VARIABLE x
Init == x = 0
Next == x < 2 /\ x' = TLCGet(7)
Spec == Init /\ [][Next]_x
====
