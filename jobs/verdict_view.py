"""A verdict for a person: what was decided, by which line, where in the text, and what next.

Nothing is said by colour alone, and text of candidates and tools is shown without control
characters. Parts that a verdict does not have are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from jobs.counterexample_view import print_counterexample
from jobs.exhibit import Exhibit
from jobs.log_excerpt import LogExcerpt
from jobs.printable import paragraph, printable
from jobs.source_excerpt import excerpt_source
from workers.records import Family, Outcome, Resources, StateCounts, Verdict

_WORDS = {
    Family.CORRECT: ("PASS", "bold green"),
    Family.CANDIDATE: ("FAIL", "bold red"),
    Family.LIMIT: ("LIMIT", "bold yellow"),
    Family.INFRASTRUCTURE: ("UNGRADED", "bold magenta"),
}
_FLAGS = {
    "renamed": "the module has another name than the problem asked for",
    "untranslated_pluscal": "a PlusCal algorithm without its translation",
    "nondeterministic": "random values: the seed is fixed, another one may decide otherwise",
    "invalid_utf8": "the text is not UTF-8; wrong bytes were replaced",
    "no_states": "there was no state to check",
    "time_dependent": "a slower or faster machine may decide otherwise",
}
_LONGEST_LINE = 400


def print_verdict(exhibit: Exhibit, console: Console) -> None:
    """Print a verdict with its reason, evidence and advice."""
    _print_headline(exhibit, console)
    _print_log(exhibit, console)
    _print_source(exhibit, console)
    _print_property(exhibit, console)
    if exhibit.counterexample is not None and exhibit.verdict.outcome is not Outcome.CORRECT:
        console.print()
        print_counterexample(exhibit.counterexample, console, exhibit.sources)
    facts = list(_facts(exhibit.verdict))
    if facts:
        console.print()
    for name, text in facts:
        line = Text(f"{name:<9}", style="dim") + Text(text)
        console.print(line)
    if exhibit.advice:
        passed = exhibit.verdict.family is Family.CORRECT
        console.print()
        console.print(Text("Worth knowing" if passed else "What to try next", style="bold"))
    for sentence in exhibit.advice:
        console.print(Text(paragraph(sentence, console.width, first="  - ")))


def headline(verdict: Verdict) -> str:
    """Such as `FAIL  parse_failure/grammar`."""
    word, _ = _WORDS[verdict.family]
    kind = f"{verdict.outcome}/{verdict.sub}" if verdict.sub else str(verdict.outcome)
    return f"{word}  {kind}"


def _print_headline(exhibit: Exhibit, console: Console) -> None:
    verdict, excerpt = exhibit.verdict, exhibit.log_excerpt
    line = Text(headline(verdict), style=_WORDS[verdict.family][1])
    if verdict.property:
        line.append(f"  of {printable(verdict.property)}", style="bold")
    if verdict.paper_class is not None and verdict.outcome is not Outcome.CORRECT:
        line.append(f"   (in the paper's classes: {verdict.paper_class})", style="dim")
    console.print(line)
    if excerpt is None or not _says(excerpt, verdict.message):
        console.print(Text(paragraph(verdict.message, console.width)))
    for flag in verdict.flags:
        meaning = f": {_FLAGS[flag]}" if flag in _FLAGS else ""
        console.print(Text(paragraph(f"flag {flag}{meaning}", console.width), style="yellow"))
    if verdict.unconfirmed:
        busy = "the machine was busy: grade it again when it is calm before you believe this"
        console.print(Text(paragraph(busy, console.width), style="yellow"))


def _says(excerpt: LogExcerpt, message: str) -> bool:
    """Whether the excerpt holds every word of a message in its order."""
    return " ".join(message.split()) in " ".join(
        " ".join(line.split()) for _, line in excerpt.lines
    )


def _print_log(exhibit: Exhibit, console: Console) -> None:
    decided_by, excerpt = exhibit.verdict.decided_by, exhibit.log_excerpt
    if decided_by is None:
        return
    console.print()
    console.print(Text(f"Decided by {decided_by.log}, line {decided_by.line}", style="bold"))
    if excerpt is None:
        console.print(Text(f"  > {printable(decided_by.text)}"))
    else:
        # After a success TLC goes on with estimates of fingerprint collisions.
        passed = exhibit.verdict.outcome is Outcome.CORRECT
        _print_log_lines(excerpt, console, only_deciding=passed)


def _print_log_lines(excerpt: LogExcerpt, console: Console, *, only_deciding: bool) -> None:
    for index, (_, line) in enumerate(excerpt.lines):
        deciding = index == excerpt.deciding
        if only_deciding and not deciding:
            continue
        shown = printable(line[:_LONGEST_LINE].expandtabs(8))
        shown += " ..." if len(line) > _LONGEST_LINE else ""
        indent = "  > " if deciding else "    "
        if len(indent) + len(shown) > console.width:
            text = Text(paragraph(shown, console.width, first=indent, rest="      "))
        else:
            text = Text(indent + shown)
        text.stylize("" if deciding else "dim")
        console.print(text)


def _print_source(exhibit: Exhibit, console: Console) -> None:
    location = exhibit.error_location
    if location is None or location.module is None:
        return
    source = exhibit.sources[location.module]
    excerpt = excerpt_source(source, location, console.width)
    if excerpt is None:
        return
    console.print()
    console.print(Text(f"At {printable(source.place(location.line))}", style="bold"))
    console.print(excerpt)


def _print_property(exhibit: Exhibit, console: Console) -> None:
    location = exhibit.property_location
    if location is None or location.module not in exhibit.sources:
        return
    source = exhibit.sources[location.module]
    first = location.line + source.lines_before
    last = location.end_line + source.lines_before
    console.print()
    console.print(
        Text(
            f"{exhibit.verdict.property} is defined at {printable(source.place(location.line))}",
            "bold",
        )
    )
    for line in source.lines[first - 1 : last]:
        console.print(
            Text("    " + printable(line.expandtabs(8)), no_wrap=True, overflow="ellipsis")
        )


def _facts(verdict: Verdict) -> Iterator[tuple[str, str]]:
    if states := _states(verdict.states):
        yield "States", states
    if used := _resources(verdict.resources):
        yield "Used", used
    if verdict.resources.enforced_by:
        yield "Limits", f"held by {verdict.resources.enforced_by}"
    tools = verdict.toolchain
    if tools is not None:
        yield "Tools", printable(f"TLC {tools.tla2tools_version}, Java {tools.java_version}")


def _states(states: StateCounts) -> str:
    parts = (
        (states.generated, "generated"),
        (states.distinct, "distinct"),
        (states.queue, "left on the queue"),
    )
    shown = [f"{count:,} {what}" for count, what in parts if count is not None]
    if states.depth is not None:
        shown.append(f"depth {states.depth}")
    return ", ".join(shown)


def _resources(resources: Resources) -> str:
    shown = []
    if resources.wall_seconds is not None:
        shown.append(f"{resources.wall_seconds:.1f} s")
    if resources.cpu_seconds is not None:
        shown.append(f"{resources.cpu_seconds:.1f} s of CPU")
    if resources.peak_memory_bytes is not None:
        shown.append(f"at most {resources.peak_memory_bytes / 1e6:,.0f} MB")
    return ", ".join(shown)
