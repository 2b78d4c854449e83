"""Counts of what a run decided, taken in one pass over its verdicts.

A run can have more attempts than memory; its tables need only how often each result occurred
for each problem, model and regime. `tally` keeps exactly that: memory grows with those cells,
never with the number of samples, attempts or verdicts. What it reads may come in any order.

An attempt without a verdict, or whose verdict is `infrastructure`, is *ungraded*: it has no
result, and it is never counted as a failure of the model.

Left out: which attempt had which result (the segments have that), and the check that no two
attempts are the same (the manifest's). What can be seen from counts alone is checked: verdicts
that belong to no attempt, more verdicts than attempts, a result that its problem cannot have.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from jobs.pass_at_k import SampleCounts
from workers.records import Family, Label, Outcome, PaperClass, Verdict

NOT_GRADED_YET = "not_graded_yet"
"""Why an attempt without a verdict is ungraded."""


class TallyError(ValueError):
    """Problems, attempts and verdicts do not belong to one run."""


class UnknownLabelError(ValueError):
    """No problem of the run carries the label that was asked for."""


class AttemptIdentity(NamedTuple):
    """What tells an attempt from others; not its text."""

    id: str
    problem: str
    model: str
    regime: str
    sample: int


@dataclass(frozen=True, slots=True)
class ProblemFacts:
    """What the tables need to know of a problem."""

    id: str
    has_config: bool
    """Without a config only the parse gate applies: such problems count in parse rates only."""
    labels: Mapping[str, Label] = field(default_factory=dict)


class Result(NamedTuple):
    """What a verdict says, as far as tables tell verdicts apart."""

    outcome: Outcome
    sub: str | None
    paper_class: PaperClass | None
    parsed: bool

    @property
    def graded(self) -> bool:
        """Whether the checkers decided about the candidate."""
        return self.outcome.family is not Family.INFRASTRUCTURE


@dataclass(slots=True)
class Cell:
    """The attempts of one model in one regime at one problem."""

    problem: ProblemFacts
    attempts: int = 0
    results: Counter[Result] = field(default_factory=Counter)

    @property
    def samples(self) -> SampleCounts:
        """The counts that pass@k is estimated from."""
        graded = sum(count for result, count in self.results.items() if result.graded)
        correct = sum(
            count for result, count in self.results.items() if result.outcome is Outcome.CORRECT
        )
        return SampleCounts(self.attempts, correct, self.attempts - graded)


@dataclass(frozen=True, slots=True)
class Group:
    """The attempts that one row of a table is about."""

    model: str
    regime: str
    stratum: str | None
    """The value of the label by which the tally was stratified; `None` without one."""
    cells: tuple[Cell, ...]

    @property
    def configured(self) -> Group:
        """The part of the group at problems that have a config."""
        cells = tuple(cell for cell in self.cells if cell.problem.has_config)
        return Group(self.model, self.regime, self.stratum, cells)

    @property
    def problems(self) -> frozenset[str]:
        """Ids of the problems that were attempted."""
        return frozenset(cell.problem.id for cell in self.cells)

    @property
    def attempts(self) -> int:
        """How many attempts there are, graded or not."""
        return sum(cell.attempts for cell in self.cells)

    @property
    def graded(self) -> Counter[Result]:
        """How often each result was decided."""
        return Counter({each: count for each, count in self._results().items() if each.graded})

    @property
    def ungraded(self) -> Counter[str]:
        """How many attempts have no result, by reason."""
        results = self._results()
        reasons = Counter[str]()
        for result, count in results.items():
            if not result.graded:
                reasons[result.sub or "unspecified"] += count
        waiting = self.attempts - results.total()
        if waiting:
            reasons[NOT_GRADED_YET] = waiting
        return reasons

    def _results(self) -> Counter[Result]:
        results = Counter[Result]()
        for cell in self.cells:
            results.update(cell.results)
        return results


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of a run by problem, model and regime."""

    cells: Mapping[tuple[str, str, str], Cell]
    """By model, regime and problem id."""

    def groups(self, by: str | None = None) -> list[Group]:
        """Group the attempts by model and regime, and by the label `by` if one is given.

        Sorted by model, regime and label; numbers by size, problems without the label last.

        Raises:
            UnknownLabelError: no attempted problem carries the label.
        """
        if by is not None:
            self._require_label(by)
        grouped: dict[tuple[str, str, str | None], list[Cell]] = {}
        for (model, regime, _), cell in sorted(self.cells.items(), key=lambda item: item[0]):
            stratum = None if by is None else _text(cell.problem.labels.get(by))
            grouped.setdefault((model, regime, stratum), []).append(cell)
        groups = [Group(*key, tuple(cells)) for key, cells in grouped.items()]
        return sorted(groups, key=lambda group: (group.model, group.regime, *_rank(group.stratum)))

    def _require_label(self, label: str) -> None:
        known = {name for cell in self.cells.values() for name in cell.problem.labels}
        if label not in known:
            offer = ", ".join(sorted(known)) or "none: the problems carry no labels"
            raise UnknownLabelError(
                f"no problem of this run has the label {label!r}; labels there are: {offer}"
            )


def tally(
    problems: Iterable[ProblemFacts],
    attempts: Iterable[AttemptIdentity],
    verdicts: Iterable[Verdict],
) -> Tally:
    """Count the results of a run.

    Args:
        problems: every problem that an attempt names; others do no harm.
        attempts: all attempts of the run, those without a verdict too.
        verdicts: at most one for each attempt.

    Raises:
        TallyError: an attempt names an unknown problem, a verdict belongs to no attempt, or says
            what cannot be said of its problem.
    """
    facts = {problem.id: problem for problem in problems}
    cells: dict[tuple[str, str, str], Cell] = {}
    for attempt in attempts:
        key = (attempt.model, attempt.regime, attempt.problem)
        cell = cells.get(key)
        if cell is None:
            if attempt.problem not in facts:
                raise TallyError(
                    f"attempt {attempt.id!r} is at problem {attempt.problem!r}, which this run "
                    "does not have; report with the problems that it was graded with"
                )
            cell = cells[key] = Cell(facts[attempt.problem])
        cell.attempts += 1
    for verdict in verdicts:
        cell = cells.get((verdict.model, verdict.regime, verdict.problem))
        if cell is None:
            raise TallyError(
                f"the verdict on {verdict.attempt!r} belongs to no attempt of this run: none is by "
                f"{verdict.model!r} in regime {verdict.regime!r} at {verdict.problem!r}; report "
                "with the attempts that were graded"
            )
        cell.results[_result(verdict, cell.problem)] += 1
    _require_enough_attempts(cells.items())
    return Tally(cells)


def _result(verdict: Verdict, problem: ProblemFacts) -> Result:
    possible = Outcome.CORRECT if problem.has_config else Outcome.PARSED
    if verdict.outcome in {Outcome.CORRECT, Outcome.PARSED} and verdict.outcome is not possible:
        raise TallyError(
            f"the verdict on {verdict.attempt!r} is {verdict.outcome}, but problem {problem.id!r} "
            f"has {'a' if problem.has_config else 'no'} config; report with the problems that the "
            "run was graded with"
        )
    return Result(verdict.outcome, verdict.sub, verdict.paper_class, verdict.gates.parsed is True)


def _require_enough_attempts(cells: Iterable[tuple[tuple[str, str, str], Cell]]) -> None:
    for (model, regime, problem), cell in cells:
        verdicts = cell.results.total()
        if verdicts > cell.attempts:
            raise TallyError(
                f"{verdicts} verdicts on {cell.attempts} attempts of {model!r} in regime "
                f"{regime!r} at {problem!r}; give one verdict for each attempt"
            )


def _text(label: Label) -> str | None:
    if isinstance(label, bool):
        return "true" if label else "false"
    return None if label is None else str(label)


def _rank(stratum: str | None) -> tuple[int, float, str]:
    if stratum is None:
        return (2, 0.0, "")
    try:
        number = float(stratum)
    except ValueError:
        return (1, 0.0, stratum)
    # Not a number would compare with nothing, and so leave the order to chance.
    return (0, number, stratum) if math.isfinite(number) else (1, 0.0, stratum)
