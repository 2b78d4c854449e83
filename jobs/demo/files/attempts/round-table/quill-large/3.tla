---- MODULE RoundTable ----
EXTENDS Naturals, Sequences, FiniteSets

CONSTANT N

Guests == 0..(N - 1)
Next1(g) == IF g = N - 1 THEN 0 ELSE g + 1

VARIABLES
    channel,  \* channel[g]: numbers on their way to guest g, oldest first
    status    \* status[g]: "candidate", "defeated" or "leader"

vars == <<channel, status>>

TypeOK ==
    /\ DOMAIN channel = Guests
    /\ \A g \in Guests : \A i \in 1..Len(channel[g]) : channel[g][i] \in Guests
    /\ status \in [Guests -> {"candidate", "defeated", "leader"}]

Init ==
    /\ channel = [g \in Guests |-> <<(g + N - 1) % N>>]
    /\ status = [g \in Guests |-> "candidate"]

Receive(g) ==
    /\ channel[g] # <<>>
    /\ LET id == Head(channel[g])
           rest == [channel EXCEPT ![g] = Tail(@)]
       IN  CASE id > g -> /\ channel' = [rest EXCEPT ![Next1(g)] = Append(@, id)]
                          /\ status' = [status EXCEPT ![g] = "defeated"]
             [] id < g -> channel' = rest /\ UNCHANGED status
             [] OTHER  -> channel' = rest /\ status' = [status EXCEPT ![g] = "leader"]

Elected == \E g \in Guests : status[g] = "leader"

Receives == \E g \in Guests : Receive(g)
Terminated == Elected /\ UNCHANGED vars

Spec == Init /\ [][Receives \/ Terminated]_vars /\ WF_vars(Receives)

AtMostOneSpeaker == Cardinality({g \in Guests : status[g] = "leader"}) <= 1

SomebodySpeaks == <>Elected
====
