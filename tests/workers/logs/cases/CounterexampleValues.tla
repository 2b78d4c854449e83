---- MODULE CounterexampleValues ----
EXTENDS Naturals, Sequences
CONSTANT m
VARIABLES number, text, set, sequence, record, function, wide, flag, model
vars == <<number, text, set, sequence, record, function, wide, flag, model>>
Init == /\ number = 0
        /\ text = "a \"quoted\" \\ line\nbreak"
        /\ set = {}
        /\ sequence = << >>
        /\ record = [a |-> 1, b |-> {2}]
        /\ function = [i \in {3, 5} |-> i]
        /\ wide = [i \in 1..12 |-> [name |-> "a long enough text to wrap", index |-> i]]
        /\ flag = TRUE
        /\ model = m
Next == /\ number < 2
        /\ number' = number + 1
        /\ set' = {{<<1, "x">>}, {}} \union SUBSET {<<number>>}
        /\ sequence' = Append(sequence, record)
        /\ function' = [i \in {3, 5} |-> <<i>>]
        /\ UNCHANGED <<text, record, wide, flag, model>>
Spec == Init /\ [][Next]_vars
Small == number < 2
====
