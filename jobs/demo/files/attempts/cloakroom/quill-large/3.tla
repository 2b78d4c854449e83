---- MODULE Cloakroom ----
EXTENDS Naturals

CONSTANTS Guests, Hooks, Worn

VARIABLE tickets  \* pairs of a guest and the hook with the guest's coat

TypeOK == tickets \subseteq Guests \X Hooks

OneCoatPerHook == \A s, t \in tickets : s[2] = t[2] => s = t

Init == tickets = {}

HandIn(g, h) ==
    /\ \A t \in tickets : t[1] # g /\ t[2] # h
    /\ tickets' = tickets \cup {<<g, h>>}

Fetch(t) == tickets' = tickets \ {t}

Next ==
    \/ \E g \in Guests, h \in Hooks : HandIn(g, h)
    \/ \E t \in tickets : Fetch(t)

Spec == Init /\ [][Next]_tickets
====
