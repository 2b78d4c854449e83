---- MODULE SearchCutShort ----
EXTENDS Naturals, TLC
VARIABLE x
Init == x = 0
Next == /\ x' \in {x + 1, x + 2}
        /\ x < 3 \/ TLCSet("exit", TRUE)
Spec == Init /\ [][Next]_x
====
