from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from cluster.ledger import Ledger
from cluster.packs import PackWriter
from cluster.runs import AttemptIdentity, create_or_resume
from cluster.store import LocalStore
from workers.counterexample import Counterexample, CounterexampleState
from workers.evidence import Evidence, Graded
from workers.records import (
    Attempt,
    DecidingLine,
    Extraction,
    ExtractRule,
    GradingSettings,
    Outcome,
    Verdict,
)

MODULE = "---- MODULE Lock ----\nStop == FALSE\n====\n"
LOG = b"@!@!@STARTMSG 2114:1 @!@!@\nDeadlock reached.\n@!@!@ENDMSG 2114 @!@!@\n"
BEHAVIOUR = Counterexample(
    states=(CounterexampleState(index=1, action=None, variables={"x": "0"}, changed=()),)
)
EVIDENCE = (
    Evidence("answer.txt", MODULE.encode()),
    Evidence("module.tla", MODULE.encode()),
    Evidence("tlc.stdout", LOG),
    Evidence("counterexample.json", BEHAVIOUR.model_dump_json().encode()),
    Evidence("counterexample.itf.json", BEHAVIOUR.as_itf("x")),
)


@pytest.fixture
def run(store: LocalStore) -> str:
    """A run with a deadlock, an attempt that a lost node kept from grading, and one to come."""
    attempts = [
        Attempt(id=f"lock/m/default/{n}", problem="lock", model="m", sample=n, text="x")
        for n in range(3)
    ]
    create_or_resume(
        store,
        "nightly",
        problems=[],
        attempts=map(AttemptIdentity.of, attempts),
        settings=GradingSettings(),
        toolchain=None,
        tlagrid_version="0",
    )
    deadlock = verdict(attempts[0], Outcome.DEADLOCK).model_copy(
        update={
            "decided_by": DecidingLine(log="tlc.stdout", line=2, text="Deadlock reached."),
            "extraction": Extraction(rule=ExtractRule.ROBUST, module="Lock", end=len(MODULE)),
        }
    )
    pack = PackWriter()
    pack.add(Graded(deadlock, EVIDENCE))
    sealed = pack.seal()
    store.put(sealed.key, sealed.data)
    ledger = Ledger(store, "nightly")
    ledger.append(sealed.verdicts)
    lost = verdict(attempts[1], Outcome.INFRASTRUCTURE)
    ledger.append([lost.model_copy(update={"sub": "node", "message": "the node was lost"})])
    ledger.close()
    return "nightly"


def verdict(attempt: Attempt, outcome: Outcome) -> Verdict:
    return Verdict(
        attempt=attempt.id,
        problem=attempt.problem,
        model=attempt.model,
        regime=attempt.regime,
        sample=attempt.sample,
        outcome=outcome,
        family=outcome.family,
        message="Deadlock reached.",
        grader_version="0",
    )


def test_a_verdict_is_shown_with_its_evidence(
    tlagrid: Callable[..., Result], store: LocalStore, run: str
) -> None:
    result = tlagrid("trace", run, "lock/m/default/0", "--store", store.uri)
    assert result.exit_code == 0
    assert result.stdout.startswith("FAIL  deadlock\n")
    assert "  > Deadlock reached." in result.stdout
    assert "Counterexample: a single state" in result.stdout
    assert "  tlc.stdout " in result.stdout


def test_a_log_is_printed_as_it_is(
    tlagrid: Callable[..., Result], store: LocalStore, run: str
) -> None:
    result = tlagrid("trace", run, "lock/m/default/0", "--store", store.uri, "--log", "tlc.stdout")
    assert result.stdout_bytes == LOG


def test_an_itf_file_is_written(
    tlagrid: Callable[..., Result], store: LocalStore, run: str, tmp_path: Path
) -> None:
    arguments = ("trace", run, "lock/m/default/0", "--store", store.uri, "--itf")
    tlagrid(*arguments, tmp_path / "x.itf.json")
    assert json.loads((tmp_path / "x.itf.json").read_text())["vars"] == ["x"]
    assert json.loads(tlagrid(*arguments, "-").stdout)["vars"] == ["x"]


def test_json_is_one_document(tlagrid: Callable[..., Result], store: LocalStore, run: str) -> None:
    result = tlagrid("trace", run, "lock/m/default/0", "--store", store.uri, "--json")
    document = json.loads(result.stdout)
    assert document["run"] == "nightly"
    assert document["verdict"]["outcome"] == "deadlock"
    assert [each["name"] for each in document["verdict"]["traces"]] == [e.name for e in EVIDENCE]


def test_an_attempt_that_left_nothing_is_shown_too(
    tlagrid: Callable[..., Result], store: LocalStore, run: str
) -> None:
    result = tlagrid("trace", run, "lock/m/default/1", "--store", store.uri)
    assert result.exit_code == 0
    assert "UNGRADED  infrastructure/node" in result.stdout
    assert "No evidence is stored" in result.stdout
    missing = tlagrid("trace", run, "lock/m/default/1", "--store", store.uri, "--itf", "-")
    assert missing.exit_code == 2
    assert "there is nothing" in missing.stderr


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (("nightly", "lock/m/default/2"), "has no verdict yet"),
        (("nightly", "lock/m/defalt/0"), "Did you mean lock/m/default/0"),
        (("nightli", "lock/m/default/0"), "Did you mean nightly?"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(
    tlagrid: Callable[..., Result],
    store: LocalStore,
    run: str,
    named: tuple[str, str],
    expected: str,
) -> None:
    result = tlagrid("trace", *named, "--store", store.uri)
    assert result.exit_code == 2
    assert expected in result.stderr


def test_options_that_exclude_each_other_are_refused(
    tlagrid: Callable[..., Result], store: LocalStore, run: str
) -> None:
    arguments = ("trace", run, "lock/m/default/0", "--store", store.uri, "--itf", "-", "--json")
    assert tlagrid(*arguments).exit_code == 2
