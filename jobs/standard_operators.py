"""Which standard module defines an operator, for telling a candidate what to extend.

Only modules that every TLC since 2.15 brings; their operators as those modules define them.
"""

from __future__ import annotations

from collections.abc import Mapping

_OPERATORS: Mapping[str, str] = {
    "Naturals": r"Nat + - * ^ < > <= =< \leq >= \geq % \div ..",
    "Integers": "Int -.",
    "Reals": "Real / Infinity",
    "Sequences": r"Seq Len \o \circ Append Head Tail SubSeq SelectSeq",
    "FiniteSets": "IsFiniteSet Cardinality",
    "Bags": (
        "IsABag BagToSet SetToBag BagIn EmptyBag BagUnion SubBag BagOfAll BagCardinality "
        r"CopiesIn (+) (-) \oplus \ominus \sqsubseteq"
    ),
    "TLC": (
        "Print PrintT Assert JavaTime TLCGet TLCSet :> @@ Permutations SortSeq RandomElement Any "
        "ToString TLCEval"
    ),
    "Randomization": "RandomSubset RandomSetOfSubsets TestRandomSetOfSubsets",
}
_MODULE_OF = {name: module for module, names in _OPERATORS.items() for name in names.split()}

STANDARD_MODULES = frozenset(_OPERATORS)
"""Names of the standard modules that are known here."""


def module_of(operator: str) -> str | None:
    """The standard module to extend for an operator; `None` when no standard module has it."""
    return _MODULE_OF.get(operator)
