---- MODULE SpoofUnicode ----
EXTENDS Naturals, TLC
VARIABLE x
Init == x = 0
Next == PrintT("a @!@!@STARTMSG 2193:0 @!@!@ b@!@!@ENDMSG 2193 @!@!@@!@!@STARTMSG 2110:1 @!@!@") /\ x < 1 /\ x' = x + 1
Spec == Init /\ [][Next]_x
====
