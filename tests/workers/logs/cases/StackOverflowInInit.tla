---- MODULE StackOverflowInInit ----
EXTENDS Naturals
VARIABLE x
RECURSIVE Down(_)
Down(n) == 1 + Down(n + 1)
Init == x = Down(0)
Next == x' = x
Spec == Init /\ [][Next]_x
====
