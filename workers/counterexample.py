"""The counterexample of a TLC run as structured states, and as ITF JSON.

TLC prints a state per message 2217 (`<n>: <action>` and one conjunct per variable), 2218 where
the behaviour stutters, and 2122 where a lasso returns to an earlier state. A violation in an
initial state (2107, 2108) carries that state in its own text, and an evaluation error the state
that it happened in (2102).
"""

from __future__ import annotations

import re

import orjson

from workers.records import Record
from workers.tla_values import ItfValue, read_value
from workers.tool_mode import Message, Transcript

_HEAD = re.compile(r"(\d+): (?:<(.*)>|(.*))$")
_CONJUNCT = re.compile(r"(?:/\\ )?([0-9A-Za-z_]+) = ?(.*)$")
_STUTTERING = 2218
_BACK_TO_STATE = 2122
_STATE = 2217
_STATE_IN_TEXT = {2107, 2108, 2102}


class CounterexampleState(Record):
    """One state of the behaviour."""

    index: int
    """Position from 1, as TLC numbers it."""
    action: str | None
    """Action that led here, with its location; `None` for an initial state."""
    variables: dict[str, str]
    """Values as TLC printed them."""
    changed: tuple[str, ...]
    """Variables whose value differs from the state before; none in the first state."""


class Counterexample(Record):
    """A behaviour that violates a property, or that leads to an error."""

    states: tuple[CounterexampleState, ...]
    loop_to: int | None = None
    """Index of the state that the last one returns to, for a lasso."""
    stuttering: bool = False
    """Whether the behaviour stays in its last state forever."""
    complete: bool = True
    """False when TLC was stopped while it printed the behaviour."""

    def as_itf(self, description: str) -> bytes:
        """The behaviour in the Informal Trace Format; a loop index counts from 0."""
        names = list(self.states[0].variables) if self.states else []
        document: dict[str, object] = {
            "#meta": {"format": "ITF", "description": description},
            "vars": names,
            "states": [
                {"#meta": {"index": number}, **_itf_variables(state)}
                for number, state in enumerate(self.states)
            ],
        }
        if self.stuttering and self.states:
            document["loop"] = len(self.states) - 1
        elif self.loop_to is not None:
            document["loop"] = self.loop_to - 1
        return orjson.dumps(document, option=orjson.OPT_INDENT_2)


def read_counterexample(transcript: Transcript) -> Counterexample | None:
    """The first behaviour that TLC printed, or `None` when it printed none."""
    states: list[CounterexampleState] = []
    loop_to: int | None = None
    stuttering = False
    complete = True
    for message in transcript.messages:
        if message.code in _STATE_IN_TEXT and not states:
            variables = _variables("\n".join(message.lines).split("\n")[1:])
            if variables:
                return Counterexample(
                    states=(
                        CounterexampleState(index=1, action=None, variables=variables, changed=()),
                    ),
                    complete=message.complete,
                )
        elif message.code == _STATE:
            state = _read_state(message, states[-1] if states else None)
            if state is None or (states and state.index <= states[-1].index):
                break
            states.append(state)
            complete &= message.complete
        elif message.code == _STUTTERING and states:
            stuttering = True
        elif message.code == _BACK_TO_STATE and states:
            loop_to = _loop_target(message, states)
    if not states:
        return None
    return Counterexample(
        states=tuple(states), loop_to=loop_to, stuttering=stuttering, complete=complete
    )


def _read_state(message: Message, before: CounterexampleState | None) -> CounterexampleState | None:
    lines = [line for line in message.lines if line.strip()]
    head = _HEAD.match(lines[0]) if lines else None
    if head is None:
        return None
    action = head[2] or head[3] or None
    variables = _variables(lines[1:])
    changed: tuple[str, ...] = ()
    if before is not None:
        changed = tuple(
            name for name, value in variables.items() if before.variables.get(name) != value
        )
    return CounterexampleState(
        index=int(head[1]),
        action=None if action == "Initial predicate" else action,
        variables=variables,
        changed=changed,
    )


def _variables(lines: list[str]) -> dict[str, str]:
    r"""Conjuncts `/\ name = value`; a value may go on over several lines."""
    found: dict[str, list[str]] = {}
    name = ""
    conjuncts = any(line.startswith("/\\ ") for line in lines)
    for line in lines:
        match = _CONJUNCT.match(line)
        starts = match is not None and (line.startswith("/\\ ") or (not conjuncts and not name))
        if match is not None and starts:
            name = match[1]
            found[name] = [match[2]] if match[2] else []
        elif name and line.strip():
            found[name].append(line)
    return {key: "\n".join(value).strip() for key, value in found.items()}


def _loop_target(message: Message, states: list[CounterexampleState]) -> int | None:
    match = re.match(r"(\d+): Back to state", message.text)
    if match is None:
        return None
    target = int(match[1])
    return target if any(state.index == target for state in states) else None


def _itf_variables(state: CounterexampleState) -> dict[str, ItfValue]:
    return {name: read_value(value) for name, value in state.variables.items()}
