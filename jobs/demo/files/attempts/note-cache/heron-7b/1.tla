------------------ MODULE NoteCache ------------------
EXTENDS Naturals, FiniteSets
CONSTANTS Clerks, Articles, Prices, Blank
VARIABLES mem, cache

TypeOK == /\ mem \in [Articles -> Prices]
          /\ cache \in [Clerks -> [Articles -> Prices \cup {Blank}]]

Init == /\ mem \in [Articles -> Prices]
        /\ cache = [c \in Clerks |-> [a \in Articles |-> Blank]]

Read(c, a) == /\ cache[c][a] = Blank
              /\ cache' = [cache EXCEPT ![c][a] = mem[c]]
              /\ mem' = mem

Write(c, a, v) == /\ mem' = [mem EXCEPT ![a] = v]
                  /\ cache' = [x \in Clerks |-> [cache[x] EXCEPT ![a] = IF x = c THEN v ELSE Blank]]

Next == \E c \in Clerks : \E a \in Articles : Read(c, a) \/ (\E v \in Prices : Write(c, a, v))

Spec == Init /\ [][Next]_<<mem, cache>>

Coherent == \A c \in Clerks : \A a \in Articles : cache[c][a] # Blank => cache[c][a] = mem[a]
======================================================
