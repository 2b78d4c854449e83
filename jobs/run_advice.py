"""What to try next when TLC cannot evaluate a module.

TLC says what it could not do in prose that has hardly changed between versions; the first pattern
that fits decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobs.advice_material import Material
from workers.records import Verdict

_PATTERNS: tuple[tuple[str, str], ...] = (
    (
        r"not enumerable|non-enumerable|is not a finite set",
        (
            "TLC enumerates finite sets only: quantify over a finite set, not over Nat, Int, "
            "Seq(S) or STRING. A configuration can replace such a set: Nat <- SmallNat."
        ),
    ),
    (
        r"unbounded|CHOOSE x \\in S",
        r"Bound the quantifier or CHOOSE by a finite set, as in CHOOSE x \in S : P(x).",
    ),
    (
        r"not completely specified|is not assigned",
        (
            "Every action has to say the next value of every variable: add UNCHANGED <<...>> for "
            "those that it leaves alone."
        ),
    ),
    (
        r"out of domain|not in the domain|empty sequence|apply (?:function|tuple)",
        (
            "A function or sequence is applied outside its domain: guard the place, as in "
            r"Len(s) > 0 or x \in DOMAIN f. In a conjunction the guard has to come first."
        ),
    ),
    (
        r"[Aa]ttempted to (?:compare|check equality|check if)",
        (
            "TLC does not compare values of different kinds, such as a number with a string or a "
            "set: use model values or values of one kind throughout."
        ),
    ),
    (
        r"CASE",
        "No arm of a CASE applies: add an OTHER arm, or guard the expression.",
    ),
    (
        r"CHOOSE",
        "CHOOSE found no element with the property: check the set and the predicate.",
    ),
    (
        r"overridden by the Java method|Attempted to apply the operator|expected|as a set",
        (
            "An operator was given a value of a kind that it does not take: check the arguments at "
            "the marked place."
        ),
    ),
)


def advise_on_running(verdict: Verdict, _material: Material) -> Iterator[str]:
    """Advice on `runtime_error`."""
    if verdict.sub == "search_cut_short":
        yield 'The module ends the search itself (TLCSet("exit", TRUE)): take that out.'
        return
    for pattern, text in _PATTERNS:
        if re.search(pattern, verdict.message):
            yield text
            return
