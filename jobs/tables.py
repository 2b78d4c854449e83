"""The tables of a report, as typed values; how they look is `jobs.rendering`'s concern.

Five tables, each with a row for every model and regime: `summary` (pass@k), `rates` (parse and
correct rate, the form of the TLA+-Bench paper's Table 6), `failures` (by the paper's classes, the
form of its Table A4), `outcomes` (tlagrid's finer taxonomy) and `ungraded` (why attempts have no
result). With a label, every table has a row for each of its values.

Three rules hold in all of them. A rate of a group with ungraded attempts is given as bounds. What
is unknown is `None`, never 0. Problems without a config count in parse rates only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from jobs.pass_at_k import Bounds, Estimate, largest_k, mean_pass_at_k
from jobs.tallies import Group, Tally
from workers.records import Outcome, PaperClass

CLASS_ORDER = (
    PaperClass.PARSE,
    PaperClass.BINDING,
    PaperClass.TEMPORAL,
    PaperClass.DEADLOCK,
    PaperClass.SAFETY,
    PaperClass.LIVENESS,
    PaperClass.RUNTIME,
    PaperClass.RESOURCE,
)
"""The paper's failure classes, in the order in which an attempt can run into them."""


class ColumnKind(StrEnum):
    """What the values of a column are."""

    NAME = "name"
    """A string that tells rows apart, or `None` where the row has no such name."""
    COUNT = "count"
    """An integer."""
    RATIO = "ratio"
    """A `Ratio`."""
    RATE = "rate"
    """A float in [0, 1], or `Bounds` of one."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many of how many."""

    count: int
    of: int


Value = str | int | float | Bounds | Ratio | None
"""A cell; `None` means not available, or for a name that there is none."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `key` is for machines and stays, `title` is for people."""

    key: str
    title: str
    kind: ColumnKind


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose rows have one value for each column."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    footnotes: tuple[str, ...] = ()


def build_tables(
    tally: Tally, ks: Sequence[int] | None = None, by: str | None = None
) -> list[Table]:
    """All tables of a run, in the order in which they are read.

    `ungraded` is always among them, without rows when every attempt is graded.

    Args:
        tally: the counts of the run.
        ks: the k of pass@k; by default every k that is available for any row.
        by: a label of the problems; each of its values gets rows of its own.

    Raises:
        ValueError: a k is below 1.
        UnknownLabelError: no attempted problem carries the label.
    """
    groups = tally.groups(by)
    return [
        _summary(groups, ks, by),
        _rates(groups, by),
        _failures(groups, by),
        _outcomes(groups, by),
        _ungraded(groups, by),
    ]


def _summary(groups: list[Group], ks: Sequence[int] | None, by: str | None) -> Table:
    configured = [group.configured for group in groups]
    counts = [[cell.samples for cell in group.cells] for group in configured]
    available = max(map(largest_k, counts), default=0)
    columns = range(1, available + 1) if ks is None else sorted(set(ks))
    estimates = [[mean_pass_at_k(each, k).value for k in columns] for each in counts]
    rows = [
        (
            *_names(group, by),
            len(group.cells),
            group.attempts,
            group.ungraded.total(),
            *values,
        )
        for group, values in zip(configured, estimates, strict=True)
    ]
    notes = ["pass@k: unbiased estimate for each problem, averaged over problems."]
    if any(None in values for values in estimates):
        notes.append(
            "n/a: some problem of the row has fewer than k samples, or none of them has a config."
        )
    return Table(
        "summary",
        "pass@k",
        (
            *_name_columns(by),
            Column("problems", "problems", ColumnKind.COUNT),
            Column("samples", "samples", ColumnKind.COUNT),
            Column("ungraded", "ungraded", ColumnKind.COUNT),
            *(Column(f"pass@{k}", f"pass@{k}", ColumnKind.RATE) for k in columns),
        ),
        tuple(rows),
        (*notes, *_bounds_note(configured), *_config_note(groups), *_coverage_note(configured)),
    )


def _rates(groups: list[Group], by: str | None) -> Table:
    rows = []
    for group in groups:
        parsed = sum(count for result, count in group.graded.items() if result.parsed)
        correct = _correct(group)
        rows.append(
            (
                *_names(group, by),
                group.attempts,
                _ratio(parsed, group),
                _rate(parsed, group),
                _ratio(correct, group.configured),
                _rate(correct, group.configured),
                group.ungraded.total(),
            )
        )
    note = (
        "parsed: accepted by strict SANY, of all graded attempts; "
        "correct: of the graded attempts at problems with a config."
    )
    return Table(
        "rates",
        "Parse and correct rates",
        (
            *_name_columns(by),
            Column("attempts", "attempts", ColumnKind.COUNT),
            Column("parsed", "parsed", ColumnKind.RATIO),
            Column("parse_rate", "parse rate", ColumnKind.RATE),
            Column("correct", "correct", ColumnKind.RATIO),
            Column("correct_rate", "correct rate", ColumnKind.RATE),
            Column("ungraded", "ungraded", ColumnKind.COUNT),
        ),
        tuple(rows),
        (note, *_bounds_note(groups), *_coverage_note(groups)),
    )


def _failures(groups: list[Group], by: str | None) -> Table:
    configured = [group.configured for group in groups]
    counts = [_failure_counts(group) for group in configured]
    classes: tuple[PaperClass | None, ...] = CLASS_ORDER
    if any(None in each for each in counts):
        classes = (*classes, None)
    rows = []
    for group, failures in zip(configured, counts, strict=True):
        graded = group.graded.total()
        values = [*(failures[each] for each in classes), failures.total()]
        rows.append(
            (
                *_names(group, by),
                *(values if graded else [None] * len(values)),
                graded,
                group.ungraded.total(),
            )
        )
    notes = ["Counts are of graded attempts at problems with a config."]
    if any(group.ungraded for group in configured):
        notes.append("Where attempts are ungraded, each count can still grow by as many.")
    if not all(group.graded for group in configured):
        notes.append("n/a: no attempt of the row is graded, or none of its problems has a config.")
    return Table(
        "failures",
        "Failures by class",
        (
            *_name_columns(by),
            *(_class_column(each) for each in classes),
            Column("total", "total", ColumnKind.COUNT),
            Column("graded", "graded", ColumnKind.COUNT),
            Column("ungraded", "ungraded", ColumnKind.COUNT),
        ),
        tuple(rows),
        (*notes, *_config_note(groups)),
    )


def _failure_counts(group: Group) -> Counter[PaperClass | None]:
    """Count the failures by class; `None` is a failure whose verdict names no class of failure."""
    failures = Counter[PaperClass | None]()
    for result, count in group.graded.items():
        if result.outcome is not Outcome.CORRECT:
            known = result.paper_class in CLASS_ORDER
            failures[result.paper_class if known else None] += count
    return failures


def _outcomes(groups: list[Group], by: str | None) -> Table:
    order = {outcome: rank for rank, outcome in enumerate(Outcome)}
    rows = []
    for group in groups:
        counts = Counter[tuple[Outcome, str | None]]()
        for result, count in group.graded.items():
            counts[result.outcome, result.sub] += count
        for outcome, sub in sorted(counts, key=lambda each: (order[each[0]], each[1] or "")):
            count = counts[outcome, sub]
            rows.append((*_names(group, by), str(outcome), sub, count, _rate(count, group)))
    return Table(
        "outcomes",
        "Outcomes",
        (
            *_name_columns(by),
            Column("outcome", "outcome", ColumnKind.NAME),
            Column("sub", "sub-kind", ColumnKind.NAME),
            Column("attempts", "attempts", ColumnKind.COUNT),
            Column("share", "share", ColumnKind.RATE),
        ),
        tuple(rows),
        _bounds_note(groups),
    )


def _ungraded(groups: list[Group], by: str | None) -> Table:
    rows = [
        (*_names(group, by), reason, count)
        for group in groups
        for reason, count in sorted(group.ungraded.items())
    ]
    note = (
        "Not failures of the model: the node, the tools, tlagrid or the problem's definition "
        "failed, or grading has not come to them."
    )
    return Table(
        "ungraded",
        "Ungraded attempts",
        (
            *_name_columns(by),
            Column("reason", "reason", ColumnKind.NAME),
            Column("attempts", "attempts", ColumnKind.COUNT),
        ),
        tuple(rows),
        (note,),
    )


def _name_columns(by: str | None) -> tuple[Column, ...]:
    columns = (
        Column("model", "model", ColumnKind.NAME),
        Column("regime", "regime", ColumnKind.NAME),
    )
    # A prefix, because a label may be called `model` or `total` like another column.
    return columns if by is None else (*columns, Column(f"label:{by}", by, ColumnKind.NAME))


def _names(group: Group, by: str | None) -> tuple[str | None, ...]:
    names = (group.model, group.regime)
    return names if by is None else (*names, group.stratum)


def _class_column(paper_class: PaperClass | None) -> Column:
    title = paper_class.value if paper_class else "unclassified"
    key = title.replace(" ", "_").replace("-", "_")
    return Column(key, title, ColumnKind.COUNT)


def _correct(group: Group) -> int:
    return sum(count for result, count in group.graded.items() if result.outcome is Outcome.CORRECT)


def _ratio(count: int, group: Group) -> Ratio | None:
    graded = group.graded.total()
    return Ratio(count, graded) if graded else None


def _rate(count: int, group: Group) -> Estimate:
    """Divide by all attempts of the group; `count` is of its graded ones."""
    attempts, ungraded = group.attempts, group.ungraded.total()
    if not attempts:
        return None
    if ungraded:
        return Bounds(count / attempts, (count + ungraded) / attempts)
    return count / attempts


def _bounds_note(groups: Iterable[Group]) -> tuple[str, ...]:
    if not any(group.ungraded for group in groups):
        return ()
    return ("A range low-high: the rate if every ungraded attempt counts against it, or for it.",)


def _config_note(groups: Iterable[Group]) -> tuple[str, ...]:
    left_out = sum(group.attempts - group.configured.attempts for group in groups)
    if not left_out:
        return ()
    attempts = "1 attempt" if left_out == 1 else f"{left_out} attempts"
    return (f"Left out: {attempts} at problems without a config, which count in parse rates only.",)


def _coverage_note(groups: Sequence[Group]) -> tuple[str, ...]:
    by_stratum: dict[str | None, set[frozenset[str]]] = {}
    for group in groups:
        by_stratum.setdefault(group.stratum, set()).add(group.problems)
    if all(len(covered) == 1 for covered in by_stratum.values()):
        return ()
    return ("Rows cover different sets of problems: compare them with care.",)
