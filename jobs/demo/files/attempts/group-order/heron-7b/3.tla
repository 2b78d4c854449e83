------------------ MODULE GroupOrder ------------------
EXTENDS Naturals, FiniteSets
CONSTANT Guests
VARIABLES state, msgs, tm

TypeOK == /\ state \in [Guests -> {"working", "prepared", "committed", "aborted"}]
          /\ msgs \subseteq Guests
          /\ tm \in {"init", "committed", "aborted"}

Init == /\ state = [g \in Guests |-> "working"]
        /\ msgs = {}
        /\ tm = "init"

Prepare(g) == /\ state[g] = "working"
              /\ state' = [state EXCEPT ![g] = "prepared"]
              /\ msgs' = msgs \cup {g}
              /\ tm' = tm

Refuse(g) == /\ state[g] = "working"
             /\ state' = [state EXCEPT ![g] = "aborted"]
             /\ UNCHANGED <<msgs, tm>>

Commit == /\ tm = "init"
          /\ msgs = Guests
          /\ tm' = "committed"
          /\ UNCHANGED <<state, msgs>>

Abort == /\ tm = "init"
         /\ tm' = "aborted"
         /\ UNCHANGED <<state, msgs>>

Follow(g) == /\ state[g] = "prepared"
             /\ tm # "init"
             /\ state' = Update(state, g, tm)
             /\ UNCHANGED <<msgs, tm>>

Finished == /\ tm # "init"
            /\ \A g \in Guests : state[g] \in {"committed", "aborted"}
            /\ UNCHANGED <<state, msgs, tm>>

Next == \/ Commit \/ Abort \/ Finished
        \/ \E g \in Guests : Prepare(g) \/ Refuse(g) \/ Follow(g)

Spec == Init /\ [][Next]_<<state, msgs, tm>>

Agreement == \A g, h \in Guests : ~(state[g] = "committed" /\ state[h] = "aborted")
=======================================================
