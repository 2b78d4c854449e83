------------------------------ MODULE EggTimer ------------------------------
EXTENDS Naturals, TLC
CONSTANT Minutes
VARIABLE left
TypeOK == left \in 0..Minutes
Init == left = Minutes
Next == IF left > 0 THEN left' = left - 1 ELSE UNCHANGED left
Spec == Init /\ [][Next]_left
HadTime == TLCGet("distinct") > Minutes
=============================================================================
