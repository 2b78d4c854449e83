---- MODULE StackOverflowInInvariant ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 3
Spec == Init /\ [][Next]_x
RECURSIVE Down(_)
Down(n) == 1 + Down(n + 1)
Inv == Down(x) > 0
====
