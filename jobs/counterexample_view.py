"""A counterexample for a person: state by state, what each step changed, and how it ends.

What a step changed is marked with `*` and with its old value; colour only repeats that. What did
not change is dimmed, and in wide states only named: eyes should go to what moved. A long behaviour
keeps its beginning and its end; the ITF file has every state.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from jobs.printable import paragraph, printable
from jobs.source_excerpt import Source
from workers.counterexample import Counterexample, CounterexampleState

FEW_VARIABLES = 6
"""States with more variables only name those that did not change."""
_HEAD, _TAIL = 10, 40
"""States shown of the beginning and the end of a long behaviour."""
_LONGEST_OLD_VALUE = 40
_LONGEST_VALUE = 2000
"""Characters shown of a value; a model can build a set of millions."""
_ACTION = re.compile(r"(?P<name>.*?)\s*line (?P<line>\d+), col \d+ .*of module (?P<module>\w+)$")
_PIECE = re.compile(r'(?:"(?:[^"\\]++|\\.)*+"?|[^",@]|@(?!@ ))*(?:, |@@ |,$|$|.)', re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Step:
    """A state and what its step did to it."""

    state: CounterexampleState
    before: CounterexampleState | None


def print_counterexample(
    counterexample: Counterexample, console: Console, sources: Mapping[str, Source]
) -> None:
    """Print a behaviour.

    Args:
        counterexample: what TLC found.
        console: decides on width and colour.
        sources: texts of modules by name, to say where an action stands.
    """
    states = counterexample.states
    console.print(Text(_title(counterexample), style="bold"))
    steps = [
        _Step(state, states[index - 1] if index else None) for index, state in enumerate(states)
    ]
    left_out = len(steps) - _HEAD - _TAIL
    for number, step in enumerate(steps):
        if left_out > 1 and _HEAD <= number < _HEAD + left_out:
            if number == _HEAD:
                console.print(
                    Text(f"  ... {left_out} states left out; --itf FILE has them all", "dim")
                )
            continue
        _print_step(step, counterexample, console, sources)
    for line in _ending(counterexample):
        console.print(Text(paragraph(line, console.width), style="yellow"))


def _title(counterexample: Counterexample) -> str:
    count = len(counterexample.states)
    steps = "a single state" if count == 1 else f"{count} states, * marks what a step changed"
    return f"Counterexample: {steps}"


def _print_step(
    step: _Step, counterexample: Counterexample, console: Console, sources: Mapping[str, Source]
) -> None:
    state = step.state
    head = Text(f"  {state.index}  ", style="cyan")
    head.append(_action(state, sources), style="bold cyan")
    if counterexample.loop_to == state.index:
        head.append("   <- the loop begins here", style="yellow")
    console.print(head)
    names = list(state.variables)
    shown = names if _shows_all(step) else [name for name in names if name in state.changed]
    width = max((len(name) for name in shown), default=0)
    for name in shown:
        _print_variable(step, name, width, console)
    rest = [printable(name) for name in names if name not in shown]
    if rest:
        _print_folded(f"{len(rest)} unchanged: {', '.join(rest)}", console)
    elif not state.changed and step.before is not None:
        console.print(Text("      no variable changes", style="dim"))


def _shows_all(step: _Step) -> bool:
    return step.before is None or len(step.state.variables) <= FEW_VARIABLES


def _action(state: CounterexampleState, sources: Mapping[str, Source]) -> str:
    if state.action is None:
        return "initial state" if state.index == 1 else "state"
    match = _ACTION.match(state.action)
    if match is None:
        return printable(state.action)
    name = match["name"] if match["name"] not in {"", "Action"} else "next-state action"
    source = sources.get(match["module"])
    place = (
        source.place(int(match["line"]))
        if source
        else f"line {match['line']} of module {match['module']}"
    )
    return printable(f"{name}  ({place})")


def _print_variable(step: _Step, name: str, name_width: int, console: Console) -> None:
    value = _one_line(step.state.variables[name])
    changed = name in step.state.changed
    mark = Text("    * " if changed else "      ", style="bold yellow")
    margin = 6 + name_width + 3
    lines = _wrapped(value, max(20, console.width - margin))
    # The first state and what a step changed stand out; the rest is background.
    style = "bold yellow" if changed else "" if step.before is None else "dim"
    line = mark + Text(f"{printable(name):<{name_width}} = ", style=style) + Text(lines[0], style)
    if changed and step.before is not None and len(lines) == 1:
        old = _one_line(step.before.variables.get(name, ""))
        note = f"   (was {old})"
        if old and len(old) <= _LONGEST_OLD_VALUE and line.cell_len + len(note) <= console.width:
            line.append(note, style="dim")
    for more in lines[1:]:
        line.append("\n" + " " * margin + more, style=style)
    console.print(line)


def _print_folded(text: str, console: Console) -> None:
    lines = _wrapped(text, max(20, console.width - 8))
    console.print(Text("\n".join("      " + line for line in lines), style="dim"))


def _ending(counterexample: Counterexample) -> Iterator[str]:
    last = counterexample.states[-1].index if counterexample.states else 0
    if counterexample.stuttering:
        yield (
            f"Stuttering: the behaviour stays in state {last} forever. Nothing forces a further "
            "step, and what the property promises has not come."
        )
    elif counterexample.loop_to == last:
        yield f"Back to state {last}: its step repeats forever, and the property never holds."
    elif counterexample.loop_to is not None:
        yield (
            f"Back to state {counterexample.loop_to}: states {counterexample.loop_to} to {last} "
            "repeat forever, and what the property promises never comes."
        )
    if not counterexample.complete:
        yield "TLC was stopped while it printed this behaviour: its last state is not whole."


def _one_line(value: str) -> str:
    line = " ".join(value.split())
    if len(line) > _LONGEST_VALUE:
        line = f"{line[:_LONGEST_VALUE]} ... ({len(line) - _LONGEST_VALUE} characters more)"
    return printable(line)


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` characters, broken after commas and `@@` where there are any."""
    lines = [""]
    for piece in _PIECE.findall(text):
        rest = piece
        if lines[-1] and len(lines[-1]) + len(rest.rstrip()) > width:
            lines.append("")
        while len(rest.rstrip()) > width:
            lines[-1] = rest[:width]
            rest = rest[width:]
            lines.append("")
        lines[-1] += rest
    return [line.rstrip() for line in lines if line.strip()] or [""]
