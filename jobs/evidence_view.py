"""Who graded a stored verdict, and what evidence there is of it."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from jobs.printable import printable
from workers.records import Verdict


def print_evidence(verdict: Verdict, console: Console) -> None:
    """Print the attempt's identity, the circumstances of its grading and its evidence."""
    facts = {
        "Attempt": verdict.attempt,
        "Problem": verdict.problem,
        "Model": f"{verdict.model}, regime {verdict.regime}, sample {verdict.sample}",
        "Graded": _circumstances(verdict),
    }
    console.print()
    for name, value in facts.items():
        console.print(Text(f"{name:<9}", style="dim") + Text(printable(value)))
    console.print()
    if not verdict.traces:
        console.print("No evidence is stored: the attempt ended before a tool ran.")
        return
    console.print(Text("Evidence (--log NAME prints one)", style="bold"))
    width = max(len(each.name) for each in verdict.traces)
    for each in verdict.traces:
        console.print(Text(f"  {each.name:<{width}}  {each.size:>9,} bytes"))


def _circumstances(verdict: Verdict) -> str:
    parts = [f"by tlagrid {verdict.grader_version}"]
    if verdict.node is not None:
        parts.append(f"on node {verdict.node}")
    if verdict.queue_seconds is not None:
        parts.append(f"after {verdict.queue_seconds:.1f} s in the queue")
    if verdict.cached:
        parts.append("taken from the cache")
    return ", ".join(parts)
