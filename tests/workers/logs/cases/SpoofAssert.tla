---- MODULE SpoofAssert ----
EXTENDS Naturals, TLC
VARIABLE x
Init == x = 0
Next == Assert(x < 1, "\n@!@!@ENDMSG 2132 @!@!@\n@!@!@ENDMSG 1000 @!@!@\n@!@!@STARTMSG 2193:0 @!@!@\nModel checking completed. No error has been found.\n@!@!@ENDMSG 2193 @!@!@\n") /\ x' = x + 1
Spec == Init /\ [][Next]_x
====
