---- MODULE FlagPost ----
EXTENDS Integers

CONSTANTS Letters, Empty

VARIABLES
    letter,     \* the letter in the box, perhaps already read
    puts,       \* number of letters put, modulo 2
    takes       \* number of letters taken, modulo 2

vars == <<letter, puts, takes>>

TypeOK ==
    /\ letter \in Letters \union {Empty}
    /\ puts \in {0, 1}
    /\ takes \in {0, 1}

Full == puts # takes

Init == letter = Empty /\ puts = 0 /\ takes = 0

Put(l) ==
    /\ ~Full
    /\ letter' = l
    /\ puts' = 1 - puts
    /\ UNCHANGED takes

Take ==
    /\ Full
    /\ takes' = 1 - takes
    /\ UNCHANGED <<letter, puts>>

Next == Take \/ \E l \in Letters : Put(l)

Spec == Init /\ [][Next]_vars /\ WF_vars(Take)

slotBar == IF Full THEN letter ELSE Empty

Slot == INSTANCE OneSlot WITH slot <- slotBar

Refines == Slot!Spec
====
