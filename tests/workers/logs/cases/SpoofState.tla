---- MODULE SpoofState ----
EXTENDS Naturals
VARIABLE x
Init == x = "start"
Next == x' = "\n/\\ y = 5\n@!@!@ENDMSG 2217 @!@!@\n@!@!@STARTMSG 2193:0 @!@!@\nModel checking completed. No error has been found.\n@!@!@ENDMSG 2193 @!@!@\n"
Small == x = "start"
Spec == Init /\ [][Next]_x
====
