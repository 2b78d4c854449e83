---------------- MODULE WallClock ----------------
EXTENDS Naturals
CONSTANTS Hours, Marks
VARIABLES hour, mark

TypeOK == (hour >= 1) /\ (hour <= Hours) /\ (mark >= 0) /\ (mark < Marks)

Init == hour = 1 /\ mark = 0

Next ==
  IF mark + 1 < Marks
    THEN mark' = mark + 1 /\ hour' = hour
    ELSE mark' = 0 /\ hour' = IF hour < Hours THEN hour + 1 ELSE 1

Spec == Init /\ [][Next]_<<hour, mark>>

HandsAgree == [][(hour' # hour) => (mark' = 0)]_<<hour, mark>>
==================================================
