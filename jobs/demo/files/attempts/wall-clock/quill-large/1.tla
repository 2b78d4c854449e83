---- MODULE WallClock ----
\* A clock with two hands.
EXTENDS Integers

CONSTANTS
    Hours,  \* number of hours on the dial
    Marks   \* number of positions of the long hand

VARIABLES hour, mark

clock == <<hour, mark>>

TypeOK ==
    /\ hour \in 1..Hours
    /\ mark \in 0..Marks-1

Init ==
    /\ hour \in 1..Hours
    /\ mark = 0

\* The long hand moves one mark, away from the top.
Advance ==
    /\ mark < Marks - 1
    /\ mark' = mark + 1
    /\ UNCHANGED hour

\* The long hand reaches the top: the short hand moves as well.
Strike ==
    /\ mark = Marks - 1
    /\ mark' = 0
    /\ hour' = (hour % Hours) + 1

Next == Advance \/ Strike

Spec == Init /\ [][Next]_clock

HandsAgree == [][hour' # hour => mark' = 0 /\ hour' = (hour % Hours) + 1]_clock
====
