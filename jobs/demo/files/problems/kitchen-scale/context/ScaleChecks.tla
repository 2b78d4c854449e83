----------------------------- MODULE ScaleChecks -----------------------------
(* TLCExt is a standard module of current TLC; TLC 2.15 does not have it. *)
EXTENDS Naturals, TLCExt
Same(a, b) == AssertEq(a, b)
==============================================================================
