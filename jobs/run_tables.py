"""The tables of a run, from what its store holds: no sweep file and no texts are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cluster.ledger import read_verdicts
from cluster.runs import RunDescription, read_attempts, read_problems
from cluster.store import Store
from jobs.counts import counted
from jobs.exit_codes import BadUsageError
from jobs.run_lookup import unknown_name
from jobs.tables import Table, build_tables
from jobs.tallies import AttemptIdentity, ProblemFacts, Tally, tally
from workers.records import Verdict

_FIXTURE = "fixture"


@dataclass(frozen=True, slots=True)
class RunTally:
    """The counts of a run, with or without the fixtures among its problems."""

    tally: Tally
    problems: frozenset[str]
    """Ids of the problems that are counted."""
    fixtures_left_out: int | None
    """How many fixtures were left out; `None` when fixtures count."""
    attempts_left_out: int = 0


def tally_run(store: Store, run: RunDescription, *, fixtures: bool = True) -> RunTally:
    """Count the results of a run; without `fixtures`, problems with that label are left out.

    Raises:
        StoreError: the run cannot be read.
        TallyError: its verdicts do not fit its attempts.
    """
    facts = [
        ProblemFacts(problem.id, has_config=problem.has_config, labels=problem.labels)
        for problem in read_problems(store, run)
    ]
    counted = [fact for fact in facts if fixtures or fact.labels.get(_FIXTURE) is not True]
    ids = frozenset(fact.id for fact in counted)
    counts = tally(counted, _attempts(store, run, ids), verdicts_at(store, run, ids))
    in_tally = sum(cell.attempts for cell in counts.cells.values())
    return RunTally(
        tally=counts,
        problems=ids,
        fixtures_left_out=None if fixtures else len(facts) - len(counted),
        attempts_left_out=run.attempts.count - in_tally,
    )


def tables_of(
    run_tally: RunTally, *, ks: Sequence[int] | None = None, by: str | None = None
) -> list[Table]:
    """All tables; each of them says when fixtures are left out.

    Raises:
        UnknownLabelError: no attempted problem carries the label `by`.
    """
    tables = build_tables(run_tally.tally, ks, by)
    left_out = run_tally.fixtures_left_out
    if left_out is None:
        return tables
    problems = counted(left_out, "problem")
    attempts = counted(run_tally.attempts_left_out, "attempt")
    note = f"Without fixtures: {problems} and {attempts} left out."
    return [replace(table, footnotes=(*table.footnotes, note)) for table in tables]


def choose_table(tables: Sequence[Table], name: str | None) -> list[Table]:
    """The table of this name, or all without a name.

    Raises:
        BadUsageError: there is no such table; the message gives the names that there are.
    """
    chosen = [table for table in tables if name in (None, table.name)]
    if name is not None and not chosen:
        raise BadUsageError(unknown_name("table", name, (table.name for table in tables)))
    return chosen


def verdicts_at(store: Store, run: RunDescription, problems: frozenset[str]) -> Iterator[Verdict]:
    """The run's verdicts on attempts at these problems, as they are read."""
    return (verdict for verdict in read_verdicts(store, run.name) if verdict.problem in problems)


def _attempts(
    store: Store, run: RunDescription, problems: frozenset[str]
) -> Iterator[AttemptIdentity]:
    for each in read_attempts(store, run):
        if each.problem in problems:
            yield AttemptIdentity(each.id, each.problem, each.model, each.regime, each.sample)
