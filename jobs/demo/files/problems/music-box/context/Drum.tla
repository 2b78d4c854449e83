--------------------------------- MODULE Drum ---------------------------------
(* The melody of a music box: every part is the part before it, played twice. *)
EXTENDS Naturals

---- MODULE Part1 ----
Tone(pin) == pin % 7
====
---- MODULE Part2 ----
First == INSTANCE Part1
Second == INSTANCE Part1
====
---- MODULE Part3 ----
First == INSTANCE Part2
Second == INSTANCE Part2
====
---- MODULE Part4 ----
First == INSTANCE Part3
Second == INSTANCE Part3
====
---- MODULE Part5 ----
First == INSTANCE Part4
Second == INSTANCE Part4
====
---- MODULE Part6 ----
First == INSTANCE Part5
Second == INSTANCE Part5
====
---- MODULE Part7 ----
First == INSTANCE Part6
Second == INSTANCE Part6
====
---- MODULE Part8 ----
First == INSTANCE Part7
Second == INSTANCE Part7
====
---- MODULE Part9 ----
First == INSTANCE Part8
Second == INSTANCE Part8
====
---- MODULE Part10 ----
First == INSTANCE Part9
Second == INSTANCE Part9
====
---- MODULE Part11 ----
First == INSTANCE Part10
Second == INSTANCE Part10
====
---- MODULE Part12 ----
First == INSTANCE Part11
Second == INSTANCE Part11
====
---- MODULE Part13 ----
First == INSTANCE Part12
Second == INSTANCE Part12
====
---- MODULE Part14 ----
First == INSTANCE Part13
Second == INSTANCE Part13
====
---- MODULE Part15 ----
First == INSTANCE Part14
Second == INSTANCE Part14
====

Melody == INSTANCE Part15
===============================================================================
