"""What a newcomer does first, and the mistakes that newcomers make."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cluster.ledger import read_verdicts
from cluster.store import LocalStore

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Tlagrid

pytestmark = pytest.mark.timeout(600)

CLOCK = """---- MODULE Clock ----
EXTENDS Naturals
VARIABLE hour
Init == hour = 0
Tick == hour' = IF hour = 11 THEN 0 ELSE hour + 1
Spec == Init /\\ [][Tick]_hour
InRange == hour \\in 0..11
====
"""
CONFIG = "SPECIFICATION Spec\nINVARIANT InRange\n"
PROBLEM: dict[str, Any] = {
    "schema_version": 1,
    "id": "clock",
    "module": "Clock",
    "reference": CLOCK,
    "config": CONFIG,
}
ATTEMPT: dict[str, Any] = {"schema_version": 1, "problem": "clock", "model": "m", "text": CLOCK}


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    """A folder as TLC's users have it, with a specification that is correct."""
    folder = tmp_path / "clock"
    folder.mkdir()
    (folder / "Clock.tla").write_text(CLOCK)
    (folder / "Clock.cfg").write_text(CONFIG)
    return folder


def write_lines(file: Path, lines: Sequence[Any]) -> None:
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    file.write_text(text, encoding="utf-8")


def contents(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def test_doctor_finds_this_machine_ready_and_leaves_nothing(
    tlagrid: Tlagrid, temporary: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    finished = tlagrid("doctor", "--store", store, TMPDIR=temporary)
    assert finished.code == 0, finished.output
    assert finished.stdout.endswith("\nReady to grade.\n")
    for row in ("Java", "TLC", "grading a correct specification", "wall limit", "memory limit"):
        assert re.search(rf"^ok +{row}: ", finished.stdout, re.MULTILINE), finished.output
    assert list(temporary.iterdir()) == []
    assert not store.exists()


def test_doctor_says_what_mends_a_missing_java(tlagrid: Tlagrid, tmp_path: Path) -> None:
    finished = tlagrid("doctor", "--json", TLAGRID_JAVA=tmp_path / "java")
    assert finished.code == 1, finished.output
    report = json.loads(finished.stdout)
    assert report["ready"] is False
    missing = [check for check in report["checks"] if check["status"] == "missing"]
    assert any("TLAGRID_JAVA" in check["detail"] and check["remedy"] for check in missing)


def test_a_correct_specification_passes_and_nothing_is_written(
    tlagrid: Tlagrid, temporary: Path, clock: Path
) -> None:
    before = contents(clock)
    finished = tlagrid("grade", "Clock.tla", cwd=clock, PYTHONPATH=tlagrid.root, TMPDIR=temporary)
    assert finished.code == 0, finished.output
    assert re.search(r"^PASS  correct$", finished.stdout, re.MULTILINE)
    assert "12 distinct" in finished.stdout
    assert contents(clock) == before
    assert list(temporary.iterdir()) == []


def test_a_violation_is_shown_with_its_states_and_with_what_to_try(
    tlagrid: Tlagrid, clock: Path
) -> None:
    (clock / "Clock.tla").write_text(CLOCK.replace("hour = 11", "hour = 13"))
    itf = clock / "out.itf.json"
    finished = tlagrid("grade", clock / "Clock.tla", "--itf", itf)
    assert finished.code == 1, finished.output
    assert "FAIL  safety_violation  of InRange" in finished.stdout
    assert "> Invariant InRange is violated." in finished.stdout
    assert "Counterexample: 13 states" in finished.stdout
    assert "    * hour = 12   (was 11)\n" in finished.stdout
    assert "What to try next" in finished.stdout
    states = json.loads(itf.read_text(encoding="utf-8"))["states"]
    assert [state["hour"] for state in states] == [{"#bigint": str(n)} for n in range(13)] or [
        state["hour"] for state in states
    ] == list(range(13))


def test_a_parse_error_is_shown_in_the_answer_as_it_came(tlagrid: Tlagrid, clock: Path) -> None:
    broken = CLOCK.replace("THEN 0 ELSE hour + 1", "THEN 0 hour + 1")
    (clock / "answer.md").write_text(f"Here is my clock.\n\n```tla\n{broken}```\nIt ticks.\n")
    finished = tlagrid("grade", clock / "answer.md", "--config", clock / "Clock.cfg")
    assert finished.code == 1, finished.output
    assert "FAIL  parse_failure/grammar" in finished.stdout
    assert "At answer.md:8\n" in finished.stdout
    assert re.search(r"^ *8 > .*THEN 0 hour \+ 1$", finished.stdout, re.MULTILINE)


def test_an_answer_can_come_from_a_pipe(tlagrid: Tlagrid, clock: Path) -> None:
    answer = f"Sure!\n```\n{CLOCK}```\n".encode()
    piped = tlagrid("grade", "-", "--config", clock / "Clock.cfg", "--json", stdin=answer)
    assert piped.code == 0, piped.output
    verdict = json.loads(piped.stdout)["verdict"]
    assert (verdict["outcome"], verdict["states"]["distinct"]) == ("correct", 12)
    parse_only = tlagrid("grade", "-", stdin=answer)
    assert parse_only.code == 0, parse_only.output
    assert "PASS  parsed" in parse_only.stdout


def test_an_answer_that_is_not_utf8_is_graded_and_flagged(tlagrid: Tlagrid, clock: Path) -> None:
    latin = CLOCK.replace("VARIABLE", "\\* Größe\nVARIABLE").encode("latin-1")
    (clock / "Clock.tla").write_bytes(latin)
    finished = tlagrid("grade", clock / "Clock.tla")
    assert finished.code == 0, finished.output
    assert "flag invalid_utf8" in finished.stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("grade", "Nowhere.tla"), "Nowhere.tla"),
        (("grade", "Clock.tla", "--config", "Nowhere.cfg"), "Nowhere.cfg"),
        (("grade", "Clock.tla", "--context", "nowhere"), "nowhere"),
        (("grade", "Clock.tla", "--speed", "high"), "--speed"),
        (("sweep", "nowhere"), "nowhere"),
        (("report", "nightly", "--store", "empty"), "nightly"),
        (("status", "nightly", "--store", "Clock.tla"), "Clock.tla"),
        (("runs", "--store", "s3://bucket/prefix"), "s3://bucket/prefix"),
        (("interface", "clock"), "--manifest"),
        (("interface", "Nowhere.cfg"), "Nowhere.cfg"),
        (("import", "folder", "nowhere", "out"), "nowhere"),
        (("import", "folder", ".", "."), "."),
    ],
)
def test_what_is_not_there_is_named_and_exits_with_2(
    tlagrid: Tlagrid, clock: Path, arguments: tuple[str, ...], named: str
) -> None:
    before = contents(clock)
    finished = tlagrid(*arguments, cwd=clock, PYTHONPATH=tlagrid.root)
    assert finished.code == 2, finished.output
    assert named in finished.stderr
    assert "Traceback" not in finished.stderr
    assert finished.stdout == ""
    assert contents(clock) == before


def test_the_demos_problems_are_checked_and_those_at_fault_are_flagged(
    tlagrid: Tlagrid, demo: Path
) -> None:
    finished = tlagrid("check-problems", demo / "problems.jsonl", "--json")
    lines = (demo / "problems.jsonl").read_text(encoding="utf-8").splitlines()
    report = {each["problem"]: each for each in json.loads(finished.stdout)["problems"]}
    assert list(report) == [json.loads(line)["id"] for line in lines]
    too_tight = report.pop("music-box")  # no Java fits its quota, which only a run shows
    assert (too_tight["passes"], too_tight["faults"]) == (False, [])
    assert too_tight["verdict"]["sub"] == "processes"
    for problem in report.values():
        verdict = problem["verdict"]
        assert problem["passes"] == (verdict["outcome"] in {"correct", "parsed"})
        assert problem["passes"] == (not problem["faults"])
    assert report["wall-clock"]["verdict"]["states"]["distinct"] == 24
    assert [fault["sub"] for fault in report["cuckoo"]["faults"]] == ["unreadable_config"]
    remarks = {name: [r["name"] for r in each["remarks"]] for name, each in report.items()}
    assert remarks["wall-clock"] == []
    assert remarks["seating-plan"] == ["fixture"]
    assert remarks["railway-crossing"] == ["no_config"]
    assert finished.code == 1, finished.output  # attempts at cuckoo would stay ungraded


def test_the_names_that_a_configuration_needs_are_printed_for_a_prompt(
    tlagrid: Tlagrid, demo: Path
) -> None:
    finished = tlagrid("interface", "club-vote", "--manifest", demo)
    assert finished.code == 0, finished.output
    for name in ("ClubVote", "Spec", "TypeOK", "AtMostOne", "VotesStand", "Members", "Options"):
        assert f"`{name}`" in finished.stdout


def test_a_folder_of_answers_becomes_a_sweep_and_is_graded_from_anywhere(
    tlagrid: Tlagrid, temporary: Path, tmp_path: Path
) -> None:
    home = tmp_path / "Läufe von heute"
    problem = home / "outputs" / "problems" / "clock"
    answers = home / "outputs" / "attempts" / "modèle-1" / "clock"
    problem.mkdir(parents=True)
    answers.mkdir(parents=True)
    (problem / "Clock.tla").write_text(CLOCK)
    (problem / "Clock.cfg").write_text(CONFIG)
    (answers / "0.tla").write_text(CLOCK)
    (answers / "1.md").write_text("I am sorry, I cannot do that.")
    (answers / "2.txt").write_text(CLOCK.replace("0..11", "0..2"))

    def command(*arguments: str) -> Any:
        finished = tlagrid(*arguments, cwd=home, PYTHONPATH=tlagrid.root, TMPDIR=temporary)
        assert finished.code == 0, finished.output
        return finished

    imported = command("import", "folder", "outputs", "mein sweep")
    assert "1 problem, 3 attempts" in imported.stdout
    follow = tlagrid.arguments_of(imported.stdout.partition("next: ")[2])
    assert follow[0] == "sweep"

    before = contents(home)
    dry = command(*follow, "--dry-run")
    assert "to grade:  3" in dry.stdout
    assert contents(home) == before
    assert list(temporary.iterdir()) == []

    graded = command(*follow)
    assert "3 graded now, 0 already had a verdict" in graded.stdout
    assert re.search(r"^modèle-1 +default +1 +3 +0 +33\.3%", graded.stdout, re.MULTILINE)
    store = home / "tlagrid-runs"
    (run,) = [path.name for path in (store / "runs").iterdir()]
    outcomes = {v.sample: v.outcome.value for v in read_verdicts(LocalStore(store), run)}
    assert outcomes == {0: "correct", 1: "parse_failure", 2: "safety_violation"}
    assert list(temporary.iterdir()) == []
    trace = command("trace", run, "clock/modèle-1/default/2")
    assert "FAIL  safety_violation  of InRange" in trace.stdout


def test_a_part_of_a_sweep_is_graded_first_and_the_rest_only_with_the_same_inputs(
    tlagrid: Tlagrid, tmp_path: Path
) -> None:
    write_lines(tmp_path / "problems.jsonl", [PROBLEM])
    write_lines(tmp_path / "attempts.jsonl", [ATTEMPT | {"sample": n} for n in range(4)])
    store = tmp_path / "store"
    command = ("sweep", tmp_path, "--store", store, "--run", "nightly", "--limit", "2", "--json")
    finished = tlagrid(*command)
    assert finished.code == 0, finished.output
    report = json.loads(finished.stdout)
    assert (report["graded_now"], report["ungraded"]) == (2, {"not_graded_yet": 2})
    (row,) = next(table["rows"] for table in report["tables"] if table["name"] == "summary")
    assert row["pass@1"] == {"low": 0.5, "high": 1.0}

    # The run is not continued with other inputs.
    before = contents(store / "runs" / "nightly" / "results")
    write_lines(tmp_path / "attempts.jsonl", [ATTEMPT | {"sample": n} for n in range(3)])
    refused = tlagrid(*command)
    assert refused.code == 2, refused.output
    assert "clock/m/default/3" in refused.stderr
    assert contents(store / "runs" / "nightly" / "results") == before


def test_ten_mistakes_in_a_manifest_yield_ten_messages_and_nothing_runs(
    tlagrid: Tlagrid, temporary: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "sweep"
    folder.mkdir()
    other = CLOCK.replace("MODULE Clock", "MODULE Watch")
    write_lines(
        folder / "problems.jsonl",
        [
            PROBLEM,
            PROBLEM,  # the same id again
            PROBLEM | {"id": "b", "config": {"path": "missing.cfg"}},
            PROBLEM | {"id": "c", "reference": other},
            PROBLEM | {"id": "d", "labls": {}},
            PROBLEM | {"id": "e", "quota": {"wall_seconds": -1}},
        ],
    )
    write_lines(
        folder / "attempts.jsonl",
        [
            ATTEMPT,
            ATTEMPT | {"id": "another", "text": "no module"},  # the same sample again
            ATTEMPT | {"sample": 1, "problem": "clcok"},
            ATTEMPT | {"sample": -2},
            ATTEMPT | {"sample": 3, "text": {"path": "../outside.tla"}},
        ],
    )
    (folder / "sweep.toml").write_text(
        'problems = "problems.jsonl"\nattempts = "attempts.jsonl"\nextract = "greedy"\n'
    )
    before = contents(tmp_path)
    finished = tlagrid("sweep", folder, "--store", tmp_path / "store", TMPDIR=temporary)
    assert finished.code == 2, finished.output
    assert finished.stdout == ""
    messages = finished.stderr.splitlines()
    places = [re.match(r"(.+?):(\d+): ([\w.]+): .", message) for message in messages]
    assert [place and (Path(place[1]).name, int(place[2]), place[3]) for place in places] == [
        ("attempts.jsonl", 2, "sample"),
        ("attempts.jsonl", 3, "problem"),
        ("attempts.jsonl", 4, "sample"),
        ("attempts.jsonl", 5, "text.path"),
        ("problems.jsonl", 2, "id"),
        ("problems.jsonl", 3, "config.path"),
        ("problems.jsonl", 4, "reference"),
        ("problems.jsonl", 5, "labls"),
        ("problems.jsonl", 6, "quota.wall_seconds"),
        ("sweep.toml", 3, "extract"),
    ], finished.stderr
    assert contents(tmp_path) == before
    assert list(temporary.iterdir()) == []


def test_another_modules_folder_cannot_take_the_place_of_ours(
    tlagrid: Tlagrid, tmp_path: Path
) -> None:
    shutil.copytree(tlagrid.root / "workers", tmp_path / "workers")
    finished = tlagrid("doctor", cwd=tmp_path, PYTHONPATH=tlagrid.root)
    assert finished.code not in (0, 1), finished.output
    assert str(tmp_path / "workers") in finished.stderr
    assert "Traceback" not in finished.stderr
