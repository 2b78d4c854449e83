---- MODULE NoteCache ----
EXTENDS Naturals

CONSTANTS Clerks, Articles, Prices, Blank

VARIABLES
    memory,     \* the price list
    valid,      \* pairs of clerk and article with a copy on the clerk's pad
    copy        \* what that copy says

TypeOK ==
    /\ memory \in [Articles -> Prices]
    /\ valid \subseteq Clerks \X Articles
    /\ copy \in [Clerks \X Articles -> Prices \cup {Blank}]

Init ==
    /\ memory \in [Articles -> Prices]
    /\ valid = {}
    /\ copy = [ca \in Clerks \X Articles |-> Blank]

Fill(c, a) ==
    /\ <<c, a>> \notin valid
    /\ valid' = valid \cup {<<c, a>>}
    /\ copy' = [copy EXCEPT ![c, a] = memory[a]]
    /\ UNCHANGED memory

Write(c, a, p) ==
    /\ memory' = [memory EXCEPT ![a] = p]
    /\ valid' = {ca \in valid : ca[2] # a} \cup {<<c, a>>}
    /\ copy' = [ca \in Clerks \X Articles |->
                  IF ca = <<c, a>> THEN p
                  ELSE IF ca[2] = a THEN Blank ELSE copy[ca]]

Evict(c, a) ==
    /\ <<c, a>> \in valid
    /\ valid' = valid \ {<<c, a>>}
    /\ copy' = [copy EXCEPT ![c, a] = Blank]
    /\ UNCHANGED memory

Next ==
    \E c \in Clerks, a \in Articles :
        \/ Fill(c, a)
        \/ \E p \in Prices : Write(c, a, p)

Coherent == \A ca \in valid : copy[ca] = memory[ca[2]]
====
