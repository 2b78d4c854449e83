from __future__ import annotations

from pathlib import Path

import pytest

from cluster.ledger import Ledger
from cluster.runs import AttemptIdentity, ProblemIdentity, RunDescription, create_or_resume
from cluster.store import LocalStore
from jobs.exit_codes import BadUsageError
from jobs.run_tables import choose_table, tables_of, tally_run, verdicts_at
from jobs.tallies import UnknownLabelError
from workers.records import Attempt, GradingSettings, Label, Outcome, Problem, Verdict


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


@pytest.fixture
def run(store: LocalStore) -> RunDescription:
    """Two samples at each of three problems, the first of each graded; one is a fixture."""
    labels: dict[str, dict[str, Label]] = {
        "a": {"fixture": False, "tier": 1},
        "b": {"fixture": True},
        "c": {"fixture": "true"},
    }
    attempts = [
        Attempt(id=f"{problem}{sample}", problem=problem, model="m", sample=sample, text="")
        for problem in labels
        for sample in (0, 1)
    ]
    description = create_or_resume(
        store,
        "run",
        problems=(
            ProblemIdentity.of(Problem(id=name, module="M", config="INIT I", labels=each))
            for name, each in labels.items()
        ),
        attempts=map(AttemptIdentity.of, attempts),
        settings=GradingSettings(),
        toolchain=None,
        tlagrid_version="0",
    )
    ledger = Ledger(store, "run")
    ledger.append(
        Verdict(
            attempt=attempt.id,
            problem=attempt.problem,
            model="m",
            regime="default",
            sample=0,
            outcome=Outcome.CORRECT,
            family=Outcome.CORRECT.family,
            message="-",
            grader_version="0",
        )
        for attempt in attempts
        if attempt.sample == 0
    )
    ledger.close()
    return description


def test_the_tables_of_a_run_need_nothing_but_its_store(
    store: LocalStore, run: RunDescription
) -> None:
    counts = tally_run(store, run)
    (row,) = tables_of(counts, ks=[1])[0].rows
    assert row[:5] == ("m", "default", 3, 6, 3)
    assert counts.fixtures_left_out is None
    assert not any("fixture" in note for table in tables_of(counts) for note in table.footnotes)


def test_only_the_label_true_makes_a_fixture(store: LocalStore, run: RunDescription) -> None:
    counts = tally_run(store, run, fixtures=False)
    assert counts.problems == {"a", "c"}
    (row,) = tables_of(counts, ks=[1])[0].rows
    assert row[:5] == ("m", "default", 2, 4, 2)
    note = "Without fixtures: 1 problem and 2 attempts left out."
    assert all(table.footnotes[-1] == note for table in tables_of(counts))
    left = [verdict.attempt for verdict in verdicts_at(store, run, counts.problems)]
    assert left == ["a0", "c0"]


def test_rows_for_each_value_of_a_label(store: LocalStore, run: RunDescription) -> None:
    rows = tables_of(tally_run(store, run), by="tier")[0].rows
    assert [row[2] for row in rows] == ["1", None]
    with pytest.raises(UnknownLabelError):
        tables_of(tally_run(store, run), by="colour")


def test_a_table_is_chosen_by_name(store: LocalStore, run: RunDescription) -> None:
    tables = tables_of(tally_run(store, run))
    assert choose_table(tables, None) == tables
    assert choose_table(tables, "rates") == [tables[1]]
    with pytest.raises(BadUsageError, match=r"there is no table 'rate'.*Did you mean rates"):
        choose_table(tables, "rate")
