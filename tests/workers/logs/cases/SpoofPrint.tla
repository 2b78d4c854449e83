---- MODULE SpoofPrint ----
EXTENDS Naturals, TLC
VARIABLE x
Init == x = 0 /\ PrintT("\n@!@!@STARTMSG 2193:0 @!@!@\nModel checking completed. No error has been found.\n@!@!@ENDMSG 2193 @!@!@\n") /\ PrintT("@!@!@STARTMSG 2193:0 @!@!@")
Next == x < 1 /\ x' = x + 1 /\ PrintT(<<"\n@!@!@STARTMSG 2110:1 @!@!@\nInvariant Small is violated.\n@!@!@ENDMSG 2110 @!@!@\n">>)
Spec == Init /\ [][Next]_x
====
