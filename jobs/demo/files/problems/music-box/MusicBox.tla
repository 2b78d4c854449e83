------------------------------ MODULE MusicBox ------------------------------
EXTENDS Drum
CONSTANT Pins
VARIABLE pin
TypeOK == pin \in 1..Pins
Init == pin = 1
Next == pin' = IF pin = Pins THEN 1 ELSE pin + 1
Spec == Init /\ [][Next]_pin
=============================================================================
