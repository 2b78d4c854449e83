"""What to try next after a verdict: concrete, and true whatever the module is about.

Advice is for the author of the candidate, or of the problem where the problem is at fault. It
decides nothing and is no part of a verdict. Where nothing useful can be said for certain, nothing
is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches

from jobs.advice_material import Material
from jobs.config_interface import interface_of
from jobs.parse_advice import advise_on_parsing
from jobs.run_advice import advise_on_running
from workers.records import Outcome, Verdict

_UNASSIGNED = re.compile(r"constant parameter (?P<name>\S+) is not assigned")
_UNDEFINED = re.compile(
    r"The \S+ (?P<name>\S+) specified in the configuration file|identifier (?P<other>\w+)"
)
_SEVERAL_NAMES = 30


def advise(verdict: Verdict, material: Material) -> tuple[str, ...]:
    """Sentences on what to try next, the most useful first; often none for a pass."""
    return tuple(_advice(verdict, material))


def _advice(verdict: Verdict, material: Material) -> Iterator[str]:
    adviser = _ADVISERS.get(verdict.outcome)
    if adviser is not None:
        yield from adviser(verdict, material)
    elif verdict.sub is not None and verdict.sub in _BY_SUB:
        yield _BY_SUB[verdict.sub]
    elif verdict.outcome in _BY_OUTCOME:
        yield _BY_OUTCOME[verdict.outcome]
    if "untranslated_pluscal" in verdict.flags and verdict.outcome is not Outcome.CORRECT:
        yield (
            "The module holds a PlusCal algorithm without its translation; PlusCal is not "
            "translated here, so the algorithm says nothing to TLC."
        )


def _on_correct(verdict: Verdict, material: Material) -> Iterator[str]:
    if verdict.states.distinct == 0:
        yield (
            "There was no state to check: the initial predicate has no solution, or none is named."
        )
    elif verdict.states.distinct == 1:
        yield "There is only one reachable state, so the properties were checked on that alone."
    if material.config is not None and not (
        material.config.names("INVARIANT") or material.config.names("PROPERTY")
    ):
        yield (
            "The configuration names no invariant and no property: only deadlock and errors count."
        )
    if "nondeterministic" in verdict.flags:
        yield "The module draws random values: with another seed the verdict can be another."


def _on_binding(verdict: Verdict, material: Material) -> Iterator[str]:
    interface = interface_of(material.config) if material.config else None
    if verdict.sub == "no_behaviour_spec":
        yield (
            "The module has variables, but the configuration names neither SPECIFICATION nor INIT "
            "and NEXT, so TLC does not know the behaviour."
        )
        return
    if verdict.sub == "unassigned_constant":
        found = _UNASSIGNED.search(verdict.message)
        name = found["name"] if found else "the constant"
        given = (
            [each.name for each in (*interface.constants, *interface.replacements)]
            if interface
            else []
        )
        assigned = f" It assigns {', '.join(given)}." if given else ""
        yield (
            f"The configuration gives {name} no value: define {name} in the module instead of "
            f"declaring it, or do without it.{assigned}"
        )
        return
    names = material.names
    missing = (
        interface.missing_from([names, *material.names_of_context()]) if interface and names else ()
    )
    found = _UNDEFINED.search(verdict.message)
    reported = (found["name"] or found["other"]) if found else None
    wanted = missing or ((reported,) if reported else ())
    if interface:
        yield f"The configuration needs these names: {_listed(interface.names())}."
    if wanted:
        yield f"The module does not define: {_listed(wanted)}."
    if names and names.definitions:
        yield f"It defines: {_listed(names.definitions)}."
        for name in wanted:
            close = get_close_matches(name, names.definitions, n=1, cutoff=0.6)
            if close:
                yield (
                    f"Is {close[0]} meant to be {name}? Then rename it, or add "
                    f"{name} == {close[0]}."
                )


def _on_safety(verdict: Verdict, material: Material) -> Iterator[str]:
    behaviour = material.counterexample
    if "argument of Assert" in verdict.message:
        yield (
            "An Assert is false: TLC evaluates it wherever it stands, also while it tries a step. "
            "For a condition on when a step may happen, write the condition itself as a conjunct."
        )
        return
    name = verdict.property or "the invariant"
    if behaviour is not None and len(behaviour.states) == 1:
        yield f"The initial predicate allows a state in which {name} is false: compare the two."
    elif behaviour is not None:
        action = _last_action(material)
        step = f"its last step, {action}," if action else "its last step"
        yield (
            f"{name} holds until {step} and is false after it: that step needs a guard, changes "
            f"too much, or {name} asks for too much."
        )


def _on_liveness(verdict: Verdict, material: Material) -> Iterator[str]:
    behaviour = material.counterexample
    properties = material.config.names("PROPERTY") if material.config else ()
    if verdict.property is None and len(properties) > 1:
        yield f"TLC does not say which of {_listed(properties)} failed: check them one at a time."
    if behaviour is None or (behaviour.loop_to is None and not behaviour.stuttering):
        yield (
            "A step, or the first state, already breaks the property, so fairness cannot help: "
            "compare the last state above with what the property says of it."
        )
        return
    fair = material.module is not None and re.search(r"\b[WS]F_", material.module)
    if material.module is not None and not fair:
        yield (
            "The module has no fairness condition (WF_, SF_), so a behaviour may stop at any "
            "state. Conjoin one to the specification: Spec == Init /\\ [][Next]_vars /\\ "
            "WF_vars(Next)."
        )
    elif behaviour.stuttering:
        yield (
            "The behaviour stops although a step may be possible: an action that must happen "
            "needs weak fairness, WF_vars(Action), or no action is enabled there."
        )
    else:
        yield (
            "The loop above satisfies the fairness conditions. An action that is enabled again "
            "and again, but not all the time, needs strong fairness, SF_vars(Action); weak "
            "fairness of Next alone lets one action be passed over for ever."
        )


def _on_deadlock(_verdict: Verdict, material: Material) -> Iterator[str]:
    yield (
        "In the last state no action is enabled. If the system should go on, a guard is too strong."
    )
    yield (
        "If it has finished there, say so: a disjunct of Next such as Terminated /\\ "
        "UNCHANGED vars lets it stay."
    )
    config = material.config
    if config is not None and config.names("CHECK_DEADLOCK") != ("FALSE",):
        yield (
            "TLC counts a state without a next step as an error unless the configuration says "
            "CHECK_DEADLOCK FALSE; this one does not."
        )


def _on_limit(verdict: Verdict, _material: Material) -> Iterator[str]:
    if verdict.sub not in {"wall", "cpu"}:
        yield _BY_SUB[str(verdict.sub)]
    elif verdict.message.startswith("SANY"):
        yield "The parser alone took that long: the text is very large or nests very deeply."
    else:
        yield (
            "TLC was still searching. If a variable grows without bound (a counter, a queue, a "
            "history), bound it in the actions; else the state space is too large for the "
            "constants given."
        )
        yield "`tlagrid grade --wall-seconds N` and a problem's `quota` allow more time."


def _last_action(material: Material) -> str | None:
    behaviour = material.counterexample
    action = behaviour.states[-1].action if behaviour and behaviour.states else None
    name = action.split(" line ")[0].strip() if action else ""
    return name if re.fullmatch(r"\w+(?:\(.*\))?", name) and name != "Action" else None


def _listed(names: Iterable[str]) -> str:
    listed = list(names)
    left_out = len(listed) - _SEVERAL_NAMES
    return ", ".join(listed[:_SEVERAL_NAMES]) + (f" and {left_out} more" if left_out > 0 else "")


_BY_SUB: Mapping[str, str] = {
    "memory": (
        "A value or the set of states outgrew the memory: look for large sets (SUBSET, [S -> T], "
        "Seq) and for variables that grow without bound."
    ),
    "output": "The module prints too much: take Print and PrintT out of actions and invariants.",
    "set_size": "TLC enumerates sets of up to a million elements: build a smaller set.",
    "stack": (
        "A recursion does not end or goes very deep: check its base case, or write it over a "
        "finite set."
    ),
    "scratch": "TLC wrote too many states to disk: the state space is too large; bound it.",
    "processes": "The run started too many processes and threads; no specification needs them.",
    "unreadable_config": (
        "The configuration is at fault, not the candidate: mend the line that is named."
    ),
    "broken_context": (
        "A module that the problem provides is at fault, not the candidate: mend that one."
    ),
    "toolchain_unsupported": (
        "The tools in use cannot judge this problem. Set TLAGRID_TLA2TOOLS to a newer "
        "tla2tools.jar or TLAGRID_COMMUNITY_MODULES to CommunityModules-deps.jar; `tlagrid doctor` "
        "shows what is in use."
    ),
    "tool_failure": (
        "The candidate is not to blame. The tools' logs tell more; `tlagrid doctor` tests them."
    ),
    "contradiction": (
        "What the tools said fits no known case, so it is not held against the candidate; their "
        "logs tell more."
    ),
    "missing_config": "The problem is at fault, not the candidate: it needs a configuration.",
    "grader": "tlagrid itself failed here: please report it, with the stored evidence.",
    "node": "The candidate is not to blame: `tlagrid doctor` tests this machine.",
}
"""Advice that needs no more than the sub-kind of a limit or of infrastructure."""

_BY_OUTCOME: Mapping[Outcome, str] = {
    Outcome.ASSUMPTION_FAILURE: (
        "An ASSUME is false for the constants that the configuration gives: it must hold for them, "
        "or it assumes too much."
    ),
    Outcome.FORBIDDEN_OPERATOR: (
        "Candidates may not use operators that reach outside the model checker (files, programs, "
        "the environment); say it without them."
    ),
}

_ADVISERS: Mapping[Outcome, Callable[[Verdict, Material], Iterator[str]]] = {
    Outcome.CORRECT: _on_correct,
    Outcome.PARSE_FAILURE: advise_on_parsing,
    Outcome.SEMANTIC_ERROR: advise_on_parsing,
    Outcome.MALFORMED_TEMPORAL: advise_on_parsing,
    Outcome.CONFIG_BINDING: _on_binding,
    Outcome.SAFETY_VIOLATION: _on_safety,
    Outcome.LIVENESS_VIOLATION: _on_liveness,
    Outcome.DEADLOCK: _on_deadlock,
    Outcome.RUNTIME_ERROR: advise_on_running,
    Outcome.RESOURCE_LIMIT: _on_limit,
}
