import hashlib
import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.input_errors import FaultLog, InputError
from jobs.manifests import AttemptEntry, read_attempts, read_problems
from workers.records import Attempt, Problem, Quota, QuotaChange, Usage

CLOCK = "---- MODULE Clock ----\n====\n"
PROBLEM: dict[str, Any] = {
    "schema_version": 1,
    "id": "clock",
    "kind": "specification",
    "module": "Clock",
    "reference": CLOCK,
    "config": "SPECIFICATION Spec\n",
    "context": {"Util": "---- MODULE Util ----\n====\n"},
    "labels": {"tier": "gold", "difficulty": 2, "fixture": False, "weight": 0.5, "note": None},
}
ATTEMPT: dict[str, Any] = {"schema_version": 1, "problem": "clock", "model": "m", "text": CLOCK}


class Folder:
    """A manifest being written; its files are named relative to it in faults."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, *lines: Any) -> Path:
        text = "".join(
            (line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines
        )
        (self.path / name).write_bytes(text.encode(errors="surrogatepass"))
        return self.path / name

    def read(
        self, problems: Sequence[Any], attempts: Sequence[Any] = (), quota: Quota | None = None
    ) -> tuple[dict[str, Problem], list[AttemptEntry], list[str]]:
        log = FaultLog()
        reading = read_problems(
            [self.write("problems.jsonl", *problems)], log, quota=quota or Quota()
        )
        entries = read_attempts([self.write("attempts.jsonl", *attempts)], log, problems=reading)
        return reading.problems, entries, self.shown(log)

    def shown(self, log: FaultLog) -> list[str]:
        return [str(fault).replace(f"{self.path}/", "") for fault in InputError(log.faults).faults]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def without(record: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


def test_a_problem_is_read_with_all_its_fields(folder: Folder) -> None:
    (folder.path / "c.cfg").write_bytes(b"INIT Init\r\n")
    line = PROBLEM | {
        "config": {"path": "c.cfg"},
        "quota": {"wall_seconds": 5},
        "mapping": "x <- y",
    }
    problems, _, faults = folder.read([line])
    assert faults == []
    assert problems == {
        "clock": Problem(
            id="clock",
            module="Clock",
            reference=CLOCK,
            config="INIT Init\r\n",
            context=PROBLEM["context"],
            labels=PROBLEM["labels"],
            mapping="x <- y",
            quota=QuotaChange(wall_seconds=5),
        )
    }


def test_a_problem_needs_no_more_than_version_id_and_module(folder: Folder) -> None:
    problems, _, faults = folder.read([{"schema_version": 1, "id": "clock", "module": "Clock"}])
    assert faults == []
    assert problems == {"clock": Problem(id="clock", module="Clock")}


def test_null_is_not_given_for_what_may_be_unknown(folder: Folder) -> None:
    nulls = {"reference": None, "config": None, "mapping": None, "quota": None}
    problems, _, faults = folder.read([PROBLEM | nulls])
    assert faults == []
    assert problems["clock"].config is None


def test_an_attempt_gets_regime_sample_and_id_by_default(folder: Folder) -> None:
    _, [entry], faults = folder.read([PROBLEM], [ATTEMPT])
    assert faults == []
    assert (entry.id, entry.regime, entry.sample) == ("clock/m/default/0", "default", 0)
    assert entry.text_sha256 == hashlib.sha256(CLOCK.encode()).hexdigest()
    assert entry.load() == Attempt(id=entry.id, problem="clock", model="m", text=CLOCK)


def test_what_a_model_used_comes_with_the_loaded_attempt(folder: Folder) -> None:
    usage = {"input_tokens": 10, "cost_usd": 1, "seconds": None}
    _, [entry], faults = folder.read([PROBLEM], [ATTEMPT | {"id": "a", "usage": usage}])
    assert faults == []
    assert entry.load().usage == Usage(input_tokens=10, cost_usd=1)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"schema_version": 2}, "schema_version: this version reads schema_version 1, not 2"),
        ({"schema_version": True}, "schema_version: should be a valid integer, not True"),
        ({"id": ""}, "id: must not be empty"),
        ({"id": 7}, "id: should be a valid string, not 7"),
        ({"id": "\ud800"}, "id: is not valid Unicode: it contains half of a surrogate pair"),
        ({"kind": "puzzle"}, "kind: should be 'specification', not 'puzzle'"),
        (
            {"kind": "proof", "mode": "x"},
            "kind: proof problems are not supported by this version; take the line out",
        ),
        (
            {"module": "../x"},
            "module: '../x' is not a TLA+ module name: letters, digits and _, with a letter",
        ),
        ({"modul": "Clock"}, "modul: unknown field; did you mean 'module'?"),
        (
            {"reference": "---- MODULE Lock ----\n===="},
            "reference: is module 'Lock', but should be module 'Clock'",
        ),
        (
            {"reference": "x == 1"},
            "reference: has no module header; it should start with ---- MODULE Clock ----",
        ),
        ({"config": 5}, 'config: must be a string, {"path": ...} or {"uri": ...}'),
        ({"config": {"path": "a.cfg"}}, "config.path: no such file: 'a.cfg' below {root}"),
        (
            {"config": {"uri": "s3://b/a.cfg"}},
            (
                "config.uri: s3:// is not supported: this version reads local files only; "
                'use {"path": ...}'
            ),
        ),
        ({"config": {"path": "bad.cfg"}}, "config: not UTF-8 at byte 1; save the text as UTF-8"),
        (
            {"mapping": {"path": "/x"}},
            "mapping.path: '/x' leaves its root; give a path below {root} without '..' parts",
        ),
        ({"context": []}, "context: must be an object with named fields, not []"),
        (
            {"context": {"Util": CLOCK}},
            "context.Util: is module 'Clock', but should be module 'Util'",
        ),
        (
            {"context": {"Util": {"path": "bad.cfg"}}},
            "context.Util: not UTF-8 at byte 1; save the text as UTF-8",
        ),
        (
            {"labels": {"tier": ["gold"]}},
            "labels.tier: must be a string, a boolean, a number of at most 64 bits or null",
        ),
        ({"labels": "gold"}, "labels: must be an object with named fields, not 'gold'"),
        ({"quota": {"walls": 1}}, "quota.walls: unknown field"),
        ({"quota": {"wall_seconds": -1}}, "quota.wall_seconds: should be greater than 0, not -1"),
        ({"quota": {"processes": 1.5}}, "quota.processes: should be a valid integer, not 1.5"),
        (
            {"quota": {"memory_bytes": 2**30}},
            (
                "quota: heap_bytes (2147483648) must be below memory_bytes (1073741824): "
                "the JVM needs memory beside its heap"
            ),
        ),
    ],
)  # fmt: skip
def test_each_mistake_in_a_problem_is_one_fault_with_line_and_field(
    folder: Folder, change: dict[str, Any], fault: str
) -> None:
    (folder.path / "bad.cfg").write_bytes(b"\xff")
    problems, _, faults = folder.read(["", PROBLEM | {"id": "other"}, PROBLEM | change])
    assert faults == ["problems.jsonl:3: " + fault.replace("{root}", str(folder.path))]
    assert list(problems) == ["other"]


@pytest.mark.parametrize("name", ["schema_version", "id", "module"])
def test_a_missing_field_of_a_problem_is_a_fault(folder: Folder, name: str) -> None:
    _, _, faults = folder.read([without(PROBLEM, name)])
    assert faults == [f"problems.jsonl:1: {name}: is missing"]


def test_a_problems_quota_is_checked_against_the_quota_of_the_sweep(folder: Folder) -> None:
    line = PROBLEM | {"quota": {"memory_bytes": 2**30}}
    assert folder.read([line], quota=Quota(heap_bytes=2**29))[2] == []


def test_two_problems_with_one_id_are_a_fault_that_names_the_first(folder: Folder) -> None:
    _, _, faults = folder.read([PROBLEM, PROBLEM])
    assert faults == [
        "problems.jsonl:2: id: problem 'clock' is already defined at problems.jsonl:1"
    ]


def test_the_same_id_in_two_files_is_a_fault(folder: Folder) -> None:
    log = FaultLog()
    files = [folder.write("a.jsonl", PROBLEM), folder.write("b.jsonl", PROBLEM)]
    read_problems(files, log, quota=None)
    assert folder.shown(log) == ["b.jsonl:1: id: problem 'clock' is already defined at a.jsonl:1"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"schema_version": 0}, "schema_version: this version reads schema_version 1, not 0"),
        ({"id": ""}, "id: must not be empty"),
        ({"problem": "lock"}, "problem: no problem has the id 'lock'"),
        ({"problem": ""}, "problem: must not be empty"),
        ({"model": None}, "model: should be a valid string, not None"),
        ({"regime": ""}, "regime: must not be empty"),
        ({"sample": -1}, "sample: should be greater than or equal to 0, not -1"),
        ({"sample": True}, "sample: should be a valid integer, not True"),
        ({"sample": "3"}, "sample: should be a valid integer, not '3'"),
        ({"text": 5}, 'text: must be a string, {"path": ...} or {"uri": ...}'),
        ({"text": {"path": "a.tla"}}, "text.path: no such file: 'a.tla' below {root}"),
        (
            {"text": {"path": "b.tla", "sha256": "0" * 64}},
            f"text.sha256: the file's digest is {hashlib.sha256(b'b').hexdigest()}, not {'0' * 64}",
        ),
        ({"tex": ""}, "tex: unknown field; did you mean 'text'?"),
        ({"usage": 5}, "usage: must be an object with named fields, not 5"),
        (
            {"usage": {"input_tokens": -5}},
            "usage.input_tokens: should be greater than or equal to 0, not -5",
        ),
        ({"usage": {"tokens": 5}}, "usage.tokens: unknown field"),
        (
            {"claims": {}},
            "claims: belong to attempts at proofs, and this is a specification",
        ),
    ],
)
def test_each_mistake_in_an_attempt_is_one_fault_with_line_and_field(
    folder: Folder, change: dict[str, Any], fault: str
) -> None:
    (folder.path / "b.tla").write_bytes(b"b")
    _, entries, faults = folder.read([PROBLEM], [ATTEMPT | {"sample": 9}, "", ATTEMPT | change])
    assert faults == ["attempts.jsonl:3: " + fault.replace("{root}", str(folder.path))]
    assert [entry.sample for entry in entries] == [9]


@pytest.mark.parametrize("name", ["schema_version", "problem", "model", "text"])
def test_a_missing_field_of_an_attempt_is_a_fault(folder: Folder, name: str) -> None:
    _, _, faults = folder.read([PROBLEM], [without(ATTEMPT, name)])
    assert faults == [f"attempts.jsonl:1: {name}: is missing"]


def test_two_attempts_with_one_id_are_a_fault(folder: Folder) -> None:
    lines = [ATTEMPT | {"id": "a"}, ATTEMPT | {"id": "a", "sample": 1}]
    _, _, faults = folder.read([PROBLEM], lines)
    assert faults == ["attempts.jsonl:2: id: attempt 'a' is already at attempts.jsonl:1"]


@pytest.mark.parametrize("ids", [({}, {}), ({"id": "a"}, {"id": "b"}), ({"id": "a"}, {})])
def test_the_same_sample_twice_is_one_fault_whatever_the_ids(
    folder: Folder, ids: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    _, _, faults = folder.read([PROBLEM], [ATTEMPT | ids[0], ATTEMPT | ids[1]])
    assert len(faults) == 1
    assert faults[0] == (
        "attempts.jsonl:2: sample: the same problem, model, regime and sample as the attempt at "
        "attempts.jsonl:1; number the samples"
    )


def test_a_whole_line_repeated_is_one_fault(folder: Folder) -> None:
    line = ATTEMPT | {"id": "a"}
    _, _, faults = folder.read([PROBLEM], [line, line])
    assert faults == ["attempts.jsonl:2: id: attempt 'a' is already at attempts.jsonl:1"]


def test_a_given_id_that_equals_a_default_id_is_a_fault(folder: Folder) -> None:
    lines = [ATTEMPT, ATTEMPT | {"id": "clock/m/default/0", "sample": 1}]
    _, _, faults = folder.read([PROBLEM], lines)
    assert faults == [
        "attempts.jsonl:2: id: attempt 'clock/m/default/0' is already at attempts.jsonl:1"
    ]


def test_a_duplicate_is_found_even_when_the_line_has_another_fault(folder: Folder) -> None:
    _, _, faults = folder.read([PROBLEM], [ATTEMPT | {"usage": 5}, ATTEMPT])
    assert [fault.split(":")[1] for fault in faults] == ["1", "2"]


@pytest.mark.parametrize("change", [{"quota": {"x": 1}}, {"kind": "proof"}])
def test_attempts_at_a_faulty_problem_are_no_faults_of_their_own(
    folder: Folder, change: dict[str, Any]
) -> None:
    attempts = [ATTEMPT, ATTEMPT | {"sample": 1, **({"claims": {}} if "kind" in change else {})}]
    _, _, faults = folder.read([PROBLEM | change], attempts)
    assert len(faults) == 1


def test_an_unreadable_problem_file_does_not_make_every_attempt_a_fault(folder: Folder) -> None:
    log = FaultLog()
    reading = read_problems([folder.path / "missing.jsonl"], log, quota=None)
    read_attempts([folder.write("attempts.jsonl", ATTEMPT)], log, problems=reading)
    assert folder.shown(log) == ["missing.jsonl: cannot be read: No such file or directory"]


def test_an_unreadable_attempt_file_is_a_fault(folder: Folder) -> None:
    log = FaultLog()
    (folder.path / "attempts.jsonl").mkdir()
    reading = read_problems([folder.write("problems.jsonl", PROBLEM)], log, quota=None)
    read_attempts([folder.path / "attempts.jsonl"], log, problems=reading)
    assert folder.shown(log) == ["attempts.jsonl: cannot be read: Is a directory"]


def test_ten_mistakes_give_ten_messages(folder: Folder) -> None:
    problems = [
        "{not json",
        "[]",
        PROBLEM | {"schema_version": 3},
        PROBLEM | {"id": "p4", "config": {"path": "../x.cfg"}},
        '{"schema_version": 1, "id": "p5", "module": "A", "module": "B"}',
    ]
    attempts = [
        ATTEMPT | {"sample": -1},
        ATTEMPT | {"problem": "nowhere"},
        ATTEMPT | {"sample": 3, "colour": "red"},
        ATTEMPT | {"sample": 4},
        ATTEMPT | {"sample": 4},
        ATTEMPT | {"sample": 5, "text": {"path": "none.tla"}},
    ]
    _, entries, faults = folder.read(problems, attempts)
    assert [fault.split(": ")[:2] for fault in faults] == [
        ["attempts.jsonl:1", "sample"],
        ["attempts.jsonl:2", "problem"],
        ["attempts.jsonl:3", "colour"],
        ["attempts.jsonl:5", "sample"],
        ["attempts.jsonl:6", "text.path"],
        ["problems.jsonl:1", "not JSON"],
        ["problems.jsonl:2", "must be a JSON object, not an array"],
        ["problems.jsonl:3", "schema_version"],
        ["problems.jsonl:4", "config.path"],
        ["problems.jsonl:5", "module"],
    ]
    assert [entry.sample for entry in entries] == [4]


def test_several_mistakes_in_one_line_are_all_reported(folder: Folder) -> None:
    line = without(PROBLEM, "module") | {"x": 1, "labels": {"a": []}, "config": {"path": "none"}}
    _, _, faults = folder.read([line])
    assert sorted(fault.split(": ")[1] for fault in faults) == [
        "config.path", "labels.a", "module", "x",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "text", "valid"),
    [
        (b"ok \xc3\xbc", "ok ü", True),
        (b"\xef\xbb\xbfbom\r\n", "\ufeffbom\r\n", True),
        ("\ufffd".encode(), "\ufffd", True),
        (b"bad \xff!", "bad \ufffd!", False),
        (b"", "", True),
    ],
)
def test_an_answers_file_may_hold_any_bytes(
    folder: Folder, content: bytes, text: str, valid: bool
) -> None:
    (folder.path / "a.tla").write_bytes(content)
    _, [entry], faults = folder.read([PROBLEM], [ATTEMPT | {"text": {"path": "a.tla"}}])
    assert faults == []
    assert entry.text_sha256 == hashlib.sha256(content).hexdigest()
    loaded = entry.load()
    assert (loaded.text, loaded.valid_utf8) == (text, valid)


def test_an_inline_answer_with_half_a_surrogate_pair_is_graded_as_not_utf8(folder: Folder) -> None:
    _, [entry], faults = folder.read([PROBLEM], [ATTEMPT | {"text": "a\ud800b"}])
    assert faults == []
    loaded = entry.load()
    assert loaded.valid_utf8 is False
    assert loaded.text.startswith("a\ufffd")


def test_an_answers_file_that_changed_after_the_reading_is_refused(folder: Folder) -> None:
    (folder.path / "a.tla").write_bytes(b"old")
    _, [entry], _ = folder.read([PROBLEM], [ATTEMPT | {"text": {"path": "a.tla"}}])
    (folder.path / "a.tla").write_bytes(b"new")
    with pytest.raises(InputError) as caught:
        entry.load()
    assert str(caught.value).endswith(
        "attempts.jsonl:1: text: attempt 'clock/m/default/0' is not what it was when the sweep was "
        "read; leave the inputs alone while a sweep runs, and start it again"
    )


@pytest.mark.parametrize(
    "lines",
    [
        [ATTEMPT | {"text": "---- MODULE Clack ----\n====\n"}],
        [ATTEMPT | {"model": "n"}],
        [ATTEMPT | {"sample": 12}, ATTEMPT],
        [],
    ],
)
def test_a_manifest_that_changed_after_the_reading_is_refused(
    folder: Folder, lines: list[Any]
) -> None:
    _, [entry], _ = folder.read([PROBLEM], [ATTEMPT])
    folder.write("attempts.jsonl", *lines)
    with pytest.raises(InputError, match=r"attempts\.jsonl:1: text: attempt 'clock/m/default/0'"):
        entry.load()


def test_a_manifest_that_grew_after_the_reading_still_loads(folder: Folder) -> None:
    _, [entry], _ = folder.read([PROBLEM], [ATTEMPT])
    folder.write("attempts.jsonl", ATTEMPT, ATTEMPT | {"sample": 1})
    assert entry.load().text == CLOCK


def test_an_answers_file_that_vanished_is_refused(folder: Folder) -> None:
    (folder.path / "a.tla").write_bytes(b"old")
    _, [entry], _ = folder.read([PROBLEM], [ATTEMPT | {"text": {"path": "a.tla"}}])
    (folder.path / "a.tla").unlink()
    with pytest.raises(InputError, match="no such file"):
        entry.load()


def test_reading_many_answers_keeps_none_of_their_texts(folder: Folder) -> None:
    count, text = 5_000, "x == 1\n" * 300
    lines = (ATTEMPT | {"sample": sample, "text": text} for sample in range(count))
    path = folder.write("attempts.jsonl", *lines)
    log = FaultLog()
    reading = read_problems([folder.write("problems.jsonl", PROBLEM)], log, quota=None)
    read_attempts([path], log, problems=reading)
    tracemalloc.start()
    try:
        entries = read_attempts([path], log, problems=reading)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(entries) == count
    assert peak < count * len(text) / 2


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
numbers = st.floats(0, 1e9) | st.integers(0, 10**9).map(float)
labels = st.dictionaries(
    names, st.none() | st.booleans() | st.integers(-(2**40), 2**40) | texts | numbers, max_size=3
)
modules = st.from_regex(r"[0-9_]{0,2}[A-Za-z][A-Za-z0-9_]{0,5}", fullmatch=True)
bodies = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="-"), max_size=30)


@st.composite
def problem_records(draw: st.DrawFn) -> Problem:
    module = draw(modules)
    context = draw(st.lists(modules, max_size=2, unique=True))
    return Problem(
        id=draw(names),
        module=module,
        reference=draw(
            st.none() | bodies.map(lambda body: f"{body}---- MODULE {module} ----\n{body}")
        ),
        config=draw(st.none() | texts),
        context={name: f"---- MODULE {name} ----\n{draw(bodies)}" for name in context},
        labels=draw(labels),
        mapping=draw(st.none() | texts),
        quota=draw(st.none() | st.builds(QuotaChange, wall_seconds=st.floats(1, 100))),
    )


usages = st.builds(
    Usage, input_tokens=st.none() | st.integers(0, 2**40), cost_usd=st.none() | numbers
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)
@given(
    data=st.data(),
    written=st.lists(problem_records(), min_size=1, max_size=3, unique_by=lambda p: p.id),
)
def test_records_that_are_written_as_a_manifest_are_read_back_equal(
    folder: Folder, data: st.DataObject, written: list[Problem]
) -> None:
    keys = data.draw(
        st.lists(st.tuples(st.sampled_from(written), names, names, st.integers(0, 99)), max_size=4,
                 unique_by=lambda key: (key[0].id, *key[1:]))
    )  # fmt: skip
    answers = [
        Attempt(id=f"a{number}", problem=problem.id, model=model, regime=regime, sample=sample,
                text=data.draw(texts), usage=data.draw(st.none() | usages))
        for number, (problem, model, regime, sample) in enumerate(keys)
    ]  # fmt: skip
    problems, entries, faults = folder.read(
        [problem.model_dump_json() for problem in written],
        [answer.model_dump_json(exclude={"valid_utf8"}) for answer in answers],
    )
    assert faults == []
    assert list(problems.values()) == written
    assert [entry.load() for entry in entries] == answers
