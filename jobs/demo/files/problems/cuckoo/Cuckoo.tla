------------------------------- MODULE Cuckoo -------------------------------
EXTENDS Naturals
CONSTANT Calls
VARIABLE left
TypeOK == left \in 0..Calls
Init == left = Calls
Next == left' = IF left = 0 THEN Calls ELSE left - 1
Spec == Init /\ [][Next]_left
=============================================================================
