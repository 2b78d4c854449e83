"""The check gate: what TLC's messages and exit code decide about a candidate.

Exit 0 is not a pass, and exit 255 is TLC's default bucket: an evaluation error during liveness
checking exits 0 without the success message 2193; `TLCSet("exit", TRUE)` exits 0 *with* it and
states left on the queue. So the messages decide, the exit code must agree with them, and a
disagreement that is not known is nobody's failure but ours. Several violations in one run: the
first decisive message decides. Memory, stack and set-size messages win over the evaluation error
that they also cause, and over nothing else. Codes and exits: `tlc2.output.EC`, and logs of TLC
2.15 and current.

Knowingly left: an exception inside TLC that no input should cause cannot be told from one that
this candidate provokes; message 1000 counts as the candidate's run-time error unless its text
shows a fault of the disk.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from workers.config_file import ConfigFile
from workers.decision import (
    Decision,
    infrastructure_decision,
    limit_decision,
    limit_flags,
    paper_class_of,
)
from workers.jvm import java_exhaustion
from workers.limits import Limit
from workers.records import DecidingLine, Outcome, StateCounts
from workers.runner import ProcessResult
from workers.tool_mode import Message, Transcript

_MEMORY_CODES = frozenset({1001, 1002, 1003})
_STACK_CODES = frozenset({1005})
_CONFIG_FILE_CODES = frozenset(range(5001, 5007))
_ASSERTION = 2132
_ASSUMPTION_EVALUATION_CODES = frozenset({2105, 2405})
_GENERAL = 1000
_SUCCESS = 2193

_SYSTEM_CODES = frozenset(
    {1101, 1102, 2100, 2101, 2160, 2161, 2162, 2163, 2167, 2174, 2175, 2254, 2270, 2502}
    | (set(range(2124, 2139)) - {_ASSERTION})
    | set(range(3100, 3115))
)
"""TLC's own troubles: its disk, its command line, its bugs."""

_EVALUATION_CODES = frozenset(
    {2145, 2154, 2155, 2157, 2158, 2164, 2165, 2169, 2170, 2172, 2215, 2246, 2247, 2248}
    | {2260, 2261, 2265, 2266, 2283}
    | set(range(2176, 2185))
)
"""What evaluating an operator of the standard modules raises: division by zero, an overflow.

Current TLC reports such a code in its own right, where 2.15 wraps it into message 1000.
"""
_UNNAMED_CODE = -1
"""TLC 2.15 reports an evaluation error of the initial states that has no code of its own so."""

_ASSUMPTION_EXITS = frozenset({10})
_EVALUATION_EXITS = frozenset({75, 76, 77, 255})
_OUTCOME_OF_EXIT = {
    10: Outcome.ASSUMPTION_FAILURE,
    11: Outcome.DEADLOCK,
    12: Outcome.SAFETY_VIOLATION,
    13: Outcome.LIVENESS_VIOLATION,
    14: Outcome.SAFETY_VIOLATION,
    75: Outcome.RUNTIME_ERROR,
    76: Outcome.RUNTIME_ERROR,
    77: Outcome.RUNTIME_ERROR,
}
"""Exit codes that TLC gives only for what the candidate did.

They alone cannot be forged: error messages quote the candidate's strings with their newlines, and
`TLCModelValue` of TLCExt prints any text, so that frames can be imitated. With such an exit code no
message makes the attempt anybody else's failure.
"""

_ASSERTION_EXITS = _EVALUATION_EXITS | {14}
_BINDING_EXITS = frozenset({151, 255})
_TEMPORAL_EXITS = frozenset({75, 76, 151, 255})

# Anchored at line starts: a candidate's text stands there only between quotation marks.
_MEMORY_TEXT = re.compile(
    r"^(?:: )?(?:Java heap space|GC overhead limit exceeded|Requested array size exceeds VM limit)$"
    r"|^(?:: |The exception was a )?java\.lang\.OutOfMemoryError\b",
    re.MULTILINE,
)
_STACK_TEXT = re.compile(
    r"^(?:The exception was a )?java\.lang\.StackOverflowError$"
    r"|^This was a Java StackOverflowError\.",
    re.MULTILINE,
)
_SET_SIZE_TEXT = re.compile(
    r"^(?:: )?Attempted to construct a set with too many elements", re.MULTILINE
)
_DISK_TEXT = re.compile(
    r"^The exception was a java\.(?:io|nio)\.|^(?:: )?(?:[\w.$]+: )?No space left on device$",
    re.MULTILINE,
)
_PREAMBLE = (
    "TLC threw an unexpected exception",
    "This was probably caused by an error in the spec or model",
    "See the User Output or TLC Console",
    "The exception was a ",
)
_COUNTS = re.compile(
    r"([\d,]+) states generated, ([\d,]+) distinct states found, ([\d,]+) states left on queue"
)
_DEPTH = re.compile(r"The depth of the complete state graph search is ([\d,]+)")
_NAMES = {
    2107: re.compile(r"Invariant (\S+) is violated by the initial state"),
    2108: re.compile(r"Property (\S+) is violated by the initial state"),
    2110: re.compile(r"Invariant (\S+) is violated"),
    2112: re.compile(r"Action property (\S+) is violated"),
    2116: re.compile(r"Temporal property (\S+) was violated"),
}


@dataclass(frozen=True, slots=True)
class _Rule:
    """What a message code means, and the exit codes that agree with it."""

    outcome: Outcome
    exits: frozenset[int]
    sub: str | None = None


def _rules() -> dict[int, _Rule]:
    rules: dict[int, _Rule] = {}

    def add(outcome: Outcome, exits: frozenset[int], *codes: int, sub: str | None = None) -> None:
        rules.update({code: _Rule(outcome, exits, sub) for code in codes})

    add(
        Outcome.CONFIG_BINDING,
        _BINDING_EXITS,
        *(*range(2223, 2231), *range(2232, 2238), *range(2242, 2246), 2280, 2281),
        sub="undefined_name",
    )
    add(Outcome.CONFIG_BINDING, _BINDING_EXITS, 2222, sub="unassigned_constant")
    add(Outcome.CONFIG_BINDING, _BINDING_EXITS, 2231, sub="no_behaviour_spec")
    add(
        Outcome.MALFORMED_TEMPORAL,
        _TEMPORAL_EXITS,
        *(2146, 2213, 2214, *range(2238, 2242), *range(2249, 2253), 2272, 2273, 2274, 2301),
    )
    add(Outcome.ASSUMPTION_FAILURE, _ASSUMPTION_EXITS, 2104, 2404)
    add(Outcome.RUNTIME_ERROR, _ASSUMPTION_EXITS, *_ASSUMPTION_EVALUATION_CODES)
    add(Outcome.SAFETY_VIOLATION, frozenset({12}), 2107, 2110)
    add(Outcome.SAFETY_VIOLATION, _ASSERTION_EXITS, _ASSERTION)
    add(Outcome.LIVENESS_VIOLATION, frozenset({13}), 2108, 2112)
    # 12 where the formula under PROPERTY is a safety property.
    add(Outcome.LIVENESS_VIOLATION, frozenset({12, 13}), 2116)
    add(Outcome.DEADLOCK, frozenset({11}), 2114)
    add(
        Outcome.RUNTIME_ERROR,
        _EVALUATION_EXITS,
        *(_UNNAMED_CODE, 2103, 2106, 2109, 2111, 2115, 2147, 2148, 2253),
        *_EVALUATION_CODES,
    )
    add(Outcome.RUNTIME_ERROR, _EVALUATION_EXITS | {13}, 2113)
    # Both exit with 0 where liveness checking raised them.
    add(Outcome.RUNTIME_ERROR, _EVALUATION_EXITS | {0}, _GENERAL, 2102)
    return rules


_RULES = _rules()


def decide_check(transcript: Transcript, result: ProcessResult, config: ConfigFile) -> Decision:
    """The decision of the check gate, from one run of TLC on a candidate that SANY accepted."""
    errors = transcript.errors()
    first = next((m for m in errors if _is_decisive(m, result.exit_code)), None)
    exhausted = _exhaustion(errors, first, result)
    if exhausted is not None:
        return exhausted
    if first is not None:
        return _decide_by_message(first, transcript, result, config)
    if result.limit is not None:
        return limit_decision(result.limit.value, f"TLC ran into the {result.limit} limit")
    if result.signal is not None:
        return infrastructure_decision(f"TLC was killed by signal {result.signal}, not by us")
    if result.exit_code in _OUTCOME_OF_EXIT and _is_garbled(transcript):
        return _decide_by_exit(result.exit_code)
    if errors:
        return _contradiction(
            f"TLC reported message {errors[0].code}, which no rule covers", errors[0]
        )
    success = transcript.find(_SUCCESS)
    if result.exit_code == 0 and success is not None:
        return _decide_success(state_counts(transcript), success)
    if result.exit_code == 0:
        return _contradiction("TLC exited with 0 and did not say that it completed", None)
    return _decide_from_stderr(result)


def state_counts(transcript: Transcript) -> StateCounts:
    """TLC's closing statistics; `None` for what it did not print."""
    found = [_COUNTS.search(m.text) for m in transcript.messages if m.code == 2199]
    # The last are TLC's own; a candidate can imitate others before them, but not to its profit.
    match = max(filter(None, found), key=lambda counts: _number(counts[3]), default=None)
    depth_message = transcript.find(2194)
    depth = _DEPTH.search(depth_message.text) if depth_message else None
    generated, distinct, queue = map(_number, match.groups()) if match else (None, None, None)
    return StateCounts(
        generated=generated,
        distinct=distinct,
        queue=queue,
        depth=_number(depth[1]) if depth else None,
    )


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _exhaustion(
    errors: tuple[Message, ...], first: Message | None, result: ProcessResult
) -> Decision | None:
    """A limit that TLC itself reports, unless something else was decided before."""
    for message in errors:
        if first is not None and first.line < message.line and not _is_evaluation_error(first):
            return None
        if message.code in _MEMORY_CODES or _says(message, _MEMORY_TEXT):
            if result.limit is Limit.PROCESSES:
                # Java calls a thread that it cannot start an OutOfMemoryError, too.
                return limit_decision("processes", "TLC ran into the processes limit")
            return _resource(message, "memory", "TLC ran out of its heap")
        if message.code in _STACK_CODES or _says(message, _STACK_TEXT):
            return _resource(
                message, "stack", "TLC's stack overflowed: unbounded or very deep recursion"
            )
        if _says(message, _SET_SIZE_TEXT):
            return _resource(message, "set_size", "a set has more elements than TLC enumerates")
    return None


def _is_evaluation_error(message: Message) -> bool:
    rule = _RULES.get(_telling_code(message))
    return rule is not None and rule.outcome is Outcome.RUNTIME_ERROR


def _says(message: Message, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(part.text) for part in message.all())


def _is_decisive(message: Message, exit_code: int | None) -> bool:
    # 2103 only tells where; 2121 and 2264 only introduce the counterexample.
    if message.code in {2103, 2121, 2264}:
        return False
    ours = message.code in _SYSTEM_CODES or message.code == 3002
    return message.code in _RULES or (ours and exit_code not in _OUTCOME_OF_EXIT)


def _decide_by_message(
    message: Message, transcript: Transcript, result: ProcessResult, config: ConfigFile
) -> Decision:
    inner = {part.code for part in message.all()}
    if inner & _CONFIG_FILE_CODES:
        return _from(message, Outcome.INFRASTRUCTURE, sub="unreadable_config")
    if result.exit_code not in _OUTCOME_OF_EXIT and (
        inner & _SYSTEM_CODES or (message.code == _GENERAL and _says(message, _DISK_TEXT))
    ):
        return _from(message, Outcome.INFRASTRUCTURE, sub="tool_failure")
    if message.code == 3002:
        return _contradiction("TLC does not parse what SANY alone accepted", message)
    rule = _RULES[_telling_code(message)]
    if rule.outcome is Outcome.CONFIG_BINDING and result.exit_code in _EVALUATION_EXITS:
        # TLC uses 2280 and its kin for names that have no value yet while it evaluates, too.
        rule = _RULES[_GENERAL] if message.code == _GENERAL else rule
    exits = rule.exits | _RULES[message.code].exits
    if result.limit is None and result.exit_code not in exits:
        return _contradiction(
            f"TLC's exit code {result.exit_code} contradicts its message {message.code}", message
        )
    if result.exit_code == 0 and result.limit is None and transcript.find(_SUCCESS):
        return _contradiction("TLC reported an error and success in one run", message)
    # A state predicate under PROPERTY is checked, and here reported, as the invariant it is.
    violated = _violated_property(message, config)
    return _from(message, rule.outcome, sub=rule.sub, violated=violated)


def _telling_code(message: Message) -> int:
    """The code that says what happened: 1000 and evaluation errors wrap others."""
    codes = [part.code for part in message.all()]
    if _ASSERTION in codes and message.code not in _ASSUMPTION_EVALUATION_CODES:
        return _ASSERTION
    if message.code == _GENERAL:
        return next((code for code in codes if code != _GENERAL and code in _RULES), _GENERAL)
    return message.code


def _violated_property(message: Message, config: ConfigFile) -> str | None:
    """The configured name that was violated; TLC does not always say it."""
    pattern = _NAMES.get(message.code)
    named = pattern.search(message.text) if pattern else None
    invariants, properties = config.names("INVARIANT"), config.names("PROPERTY")
    if named is not None and named[1] in {*invariants, *properties}:
        return named[1]
    if message.code in {2108, 2112, 2116} and len(properties) == 1:
        return properties[0]
    return None


def _is_garbled(transcript: Transcript) -> bool:
    """Whether frames do not fit: one that never ends, or TLC's own troubles beside a verdict."""
    if transcript.find(_SUCCESS) is not None:
        return False
    return any(
        not message.complete or message.code in _SYSTEM_CODES or message.code == 3002
        for message in transcript.messages
    )


def _decide_by_exit(exit_code: int) -> Decision:
    outcome = _OUTCOME_OF_EXIT[exit_code]
    return Decision(
        outcome=outcome,
        message=f"TLC's exit code is {exit_code}, and its messages do not say more",
        paper_class=paper_class_of(outcome, saw_unknown_operator=False, sub=None),
    )


def _decide_success(states: StateCounts, success: Message) -> Decision:
    if states.queue is None:
        return _contradiction("TLC reported success without its statistics", success)
    if states.queue > 0:
        return _from(
            success,
            Outcome.RUNTIME_ERROR,
            sub="search_cut_short",
            text=f"the search stopped with {states.queue} states left on the queue",
        )
    return _from(
        success,
        Outcome.CORRECT,
        flags=("no_states",) if states.distinct == 0 else (),
        text="model checking completed and found no error",
    )


def _decide_from_stderr(result: ProcessResult) -> Decision:
    """TLC died without a message of its own: only Java's error stream can tell why."""
    exhausted = java_exhaustion(result.stderr)
    if exhausted == "stack":
        return limit_decision("stack", "TLC's stack overflowed")
    if exhausted == "memory":
        return limit_decision("memory", "TLC ran out of its heap")
    return infrastructure_decision(f"TLC exited with {result.exit_code} and reported nothing")


def _resource(message: Message, sub: str, text: str) -> Decision:
    return _from(message, Outcome.RESOURCE_LIMIT, sub=sub, flags=limit_flags(sub), text=text)


def _contradiction(text: str, message: Message | None) -> Decision:
    if message is None:
        return infrastructure_decision(text, "contradiction")
    return _from(message, Outcome.INFRASTRUCTURE, sub="contradiction", text=text)


def _from(
    message: Message,
    outcome: Outcome,
    *,
    sub: str | None = None,
    flags: tuple[str, ...] = (),
    violated: str | None = None,
    text: str | None = None,
) -> Decision:
    lines = [line for part in message.all() for line in part.text.split("\n") if line.strip()]
    summary = text or " ".join(_informative(lines)[:3]) or f"TLC message {message.code}"
    return Decision(
        outcome=outcome,
        message=summary[:1000],
        sub=sub,
        flags=flags,
        property=violated,
        decided_by=_deciding_line(message),
        paper_class=paper_class_of(outcome, saw_unknown_operator=False, sub=sub),
    )


def _deciding_line(message: Message) -> DecidingLine:
    """The first line of a message, or of one nested in it, that tells something."""
    for part in message.all():
        # Lines after a nested message have moved; those before it are where they were.
        unmoved = part.nested[0].line - part.line - 1 if part.nested else len(part.lines)
        for number, line in enumerate(part.lines[:unmoved], start=part.line + 1):
            if line.strip() and _informative([line]):
                return DecidingLine(log="tlc.stdout", line=number, text=line[:1000])
    text = f"TLC message {message.code}"
    return DecidingLine(log="tlc.stdout", line=message.line, text=text)


def _informative(lines: list[str]) -> list[str]:
    """Lines without the preamble that TLC puts before every unexpected exception."""
    return [line.removeprefix(": ").strip() for line in lines if not line.startswith(_PREAMBLE)]
