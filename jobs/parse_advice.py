"""What to try next when SANY does not accept a module.

Every sentence holds whatever the module is about; where the message names the thing (an operator,
a character, a token) the advice does too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches

from jobs.advice_material import Material
from jobs.standard_operators import STANDARD_MODULES, module_of
from workers.module_text import imports_of
from workers.records import Outcome, Verdict

_SYMBOL = re.compile(
    r"(?:Unknown operator: `|Could not find declaration or definition of symbol '"
    r"|Couldn't resolve (?:in|pre|post)fix\s+operator symbol `)(?P<name>[^'`]+)'"
)
_ENCOUNTERED = re.compile(r'Encountered "(?P<token>[^"]*)"')
_CHARACTER = re.compile(r'Encountered: "(?P<shown>(?:[^"\\]|\\.)*)" \((?P<code>\d+)\)')
_DUPLICATE = re.compile(r"Operator (?P<name>\S+) already defined or declared")
_MISSING = re.compile(r"cannot find module (?P<name>\S+)")
_SUBSTITUTION = re.compile(r"Substitution missing for symbol (?P<name>\w+)")
_CONFIG_WORDS = {
    "INVARIANT", "INVARIANTS", "PROPERTY", "PROPERTIES", "SPECIFICATION", "INIT", "NEXT",
    "CONSTRAINT", "CONSTRAINTS", "SYMMETRY", "VIEW", "CHECK_DEADLOCK",
}  # fmt: skip
_ASCII = {
    "∈": r"\in", "∉": r"\notin", "∧": "/\\", "∨": "\\/", "¬": "~", "∀": r"\A", "∃": r"\E",
    "⟨": "<<", "⟩": ">>", "→": "->", "↦": "|->", "≤": "<=", "≥": ">=", "≠": "#", "∪": r"\union",
    "∩": r"\intersect", "⊆": r"\subseteq", "×": r"\X", "□": "[]", "◇": "<>", "≜": "==",
    "⇒": "=>", "≡": "<=>", "′": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "..",
}  # fmt: skip


def advise_on_parsing(verdict: Verdict, material: Material) -> Iterator[str]:
    """Advice on `parse_failure`, `semantic_error` and `malformed_temporal`."""
    match verdict.outcome, verdict.sub:
        case Outcome.PARSE_FAILURE, "no_module":
            yield from _no_module(material)
        case Outcome.SEMANTIC_ERROR, "unknown_operator":
            yield from _unknown_operator(verdict.message, material)
        case Outcome.MALFORMED_TEMPORAL, _:
            yield from _temporal(verdict.message)
        case _, str(sub) if sub in _BY_MESSAGE:
            yield from _BY_MESSAGE[sub](verdict.message)


def _grammar(message: str) -> Iterator[str]:
    found = _ENCOUNTERED.search(message)
    token = found["token"] if found else ""
    if token == "<EOF>":
        yield (
            "The text ends inside the module: close it with a line of at least four `=`. An "
            "answer that was cut off at a token limit looks like this too."
        )
    elif token.startswith("===="):
        yield "Something before the closing line is not finished: an expression or a bracket."
    elif "Beginning of definition" in token:
        yield (
            "A new definition begins where the one before it is not finished: look for an open "
            "bracket, a missing THEN/ELSE or IN, or an operator without its right-hand side."
        )
    elif token == "=":
        yield "Definitions are written with `==`; a single `=` is only equality."
    elif token in _CONFIG_WORDS:
        yield f"{token} belongs in the configuration file, not in the module."
    elif token == "define":
        yield "PlusCal stands inside a comment: (* --algorithm ... *), followed by its translation."
    elif "Precedence conflict" in message:
        yield "These operators do not bind one tighter than the other: add parentheses."
    else:
        yield (
            "SANY stops at the first token that cannot go on; the mistake is there or just "
            "before. Lists of /\\ and \\/ are grouped by column: keep their bullets aligned."
        )


def _lexical(message: str) -> Iterator[str]:
    found = _CHARACTER.search(message)
    if found is None:
        yield "Look at the marked place for a character that TLA+ does not have."
        return
    character = chr(int(found["code"])) if int(found["code"]) < 0x110000 else found["shown"]
    ascii_form = _ASCII.get(character)
    if ascii_form:
        yield f"Write {ascii_form} for {character}: the SANY in use reads ASCII operators only."
    elif character == ";":
        yield "TLA+ has no `;`: join conjuncts with /\\, and end a definition by starting the next."
    else:
        yield f"{character!r} is no character of TLA+ outside strings and comments; take it out."


def _no_module(material: Material) -> Iterator[str]:
    answer = material.answer or ""
    if not answer.strip():
        yield "The answer is empty."
    elif re.search(r"<think(?:ing)?>", answer, re.IGNORECASE) and not re.search(
        r"</think(?:ing)?>", answer, re.IGNORECASE
    ):
        yield (
            "The reasoning part is never closed: the output was cut before the answer. Allow the "
            "model more tokens."
        )
    elif re.search(r"\bMODULE\b", answer):
        yield (
            "There is no complete module header: it needs at least four dashes on each side, as "
            "in ---- MODULE Name ----."
        )
    else:
        yield "A module begins with a header: ---- MODULE Name ---- and ends with a line of ====."


def _missing_module(message: str) -> Iterator[str]:
    found = _MISSING.search(message)
    if found is None:
        return
    name = found["name"]
    close = get_close_matches(name, STANDARD_MODULES, n=1, cutoff=0.75)
    if close:
        yield f"The standard module is called {close[0]}."
        return
    yield (
        f"Modules that a solution may import come with the problem (its `context`); {name} is "
        f"not among them. With `tlagrid grade`, give a folder that holds {name}.tla: --context DIR."
    )


def _unknown_operator(message: str, material: Material) -> Iterator[str]:
    found = _SYMBOL.search(message)
    if found is None:
        return
    name = found["name"].replace("\\\\", "\\")
    home = module_of(name)
    extended = imports_of(material.module) if material.module else []
    if home and home not in extended:
        yield f"{name} is defined in the standard module {home}: add it to EXTENDS."
        return
    known = material.names
    candidates = [*known.definitions, *known.constants, *known.variables] if known else []
    close = get_close_matches(name, candidates, n=1, cutoff=0.7)
    if close:
        yield f"Did you mean {close[0]}, which the module has?"
        return
    if re.fullmatch(r"\w+", name):
        yield (
            f"Define {name} before its first use, or declare it as CONSTANT or VARIABLE. Strings "
            "need double quotes, and a definition is visible only after the place where it stands."
        )
    else:
        yield f"No module that is extended defines {name}; define it or write it otherwise."


def _duplicate(message: str) -> Iterator[str]:
    found = _DUPLICATE.search(message)
    name = found["name"] if found else None
    home = module_of(name) if name else None
    if home:
        yield f"The standard module {home} defines {name} already: drop or rename your own."
    else:
        yield (
            "The name is there already, in this module or in one that it extends: keep one. "
            "Bound variables must not repeat the name of a constant, variable or definition."
        )


def _other(message: str) -> Iterator[str]:
    found = _SUBSTITUTION.search(message)
    if found:
        yield (
            f"INSTANCE needs a value for {found['name']}: write WITH {found['name']} <- ..., or "
            f"declare a name {found['name']} here."
        )
    elif message.startswith("@ used"):
        yield "@ stands only on the right-hand side of EXCEPT, for the old value."
    elif "assumptions must be level 0" in message:
        yield "An ASSUME speaks of constants only: it must not mention variables."


def _temporal(message: str) -> Iterator[str]:
    if "followed by action not of form" in message:
        yield (
            "[] and <> take no bare action. Write [][A]_vars for 'every step is A or leaves vars "
            "unchanged', <><<A>>_vars for 'eventually a step is A', with vars the tuple of all "
            "variables."
        )
    elif "is not a state predicate" in message:
        yield (
            "An INVARIANT is checked in single states: it must hold no primes and no [], <>, ~>. "
            "Define the name as a state predicate; the configuration says that it is an invariant."
        )
    elif "cannot handle the temporal formula" in message:
        yield (
            "TLC checks temporal formulas built from [], <>, ~>, WF_, SF_ over state predicates "
            "and [A]_v; quantifiers in them must range over constant, finite sets."
        )
    elif "action" in message.lower() or "not correctly defined" in message:
        yield (
            "A PROPERTY is a temporal formula. For an action A that every step must take, define "
            "it as [][A]_vars."
        )
    else:
        yield "State predicates, actions and temporal formulas do not mix at the marked place."


def _arity(_message: str) -> Iterator[str]:
    yield (
        "Compare the use at the marked place with the definition: an operator takes as many "
        "arguments as it was defined with, and one without arguments takes no ()."
    )


def _module_name(_message: str) -> Iterator[str]:
    yield "Rename the module in its header; the name must not be that of another module."


_BY_MESSAGE: Mapping[str, Callable[[str], Iterator[str]]] = {
    "grammar": _grammar,
    "lexical": _lexical,
    "module_name": _module_name,
    "missing_module": _missing_module,
    "arity": _arity,
    "duplicate": _duplicate,
    "other": _other,
}
"""By sub-kind, where the message alone is enough."""
