---- MODULE PlusCalUntranslated ----
EXTENDS Naturals
(* --algorithm tick
variable x = 0;
begin A: x := 1;
end algorithm *)
====
