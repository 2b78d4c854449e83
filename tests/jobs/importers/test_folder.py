# ruff: noqa: E501 - a case of a table is one line
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from jobs.importers.folder import Imported, import_folder
from jobs.input_errors import InputError
from jobs.sweep_file import load_sweep
from workers.records import Problem, QuotaChange

CLOCK = "---- MODULE Clock ----\nEXTENDS Util\n====\n"
UTIL = "---- MODULE Util ----\n====\n"


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


SOURCE: dict[str, str | bytes] = {
    "README.md": "what this is",
    "problems/clock/Clock.tla": CLOCK,
    "problems/clock/Clock.cfg": "SPECIFICATION Spec\n",
    "problems/clock/context/Util.tla": UTIL,
    "problems/clock/problem.json": json.dumps(
        {"labels": {"tier": "gold"}, "quota": {"wall_seconds": 5}}
    ),
    "problems/lock/reference.tla": "---- MODULE Lock ----\n====\n",
    "problems/lock/reference.cfg": "INIT Init\n",
    "problems/silver/problem.json": '{"module": "Silver"}',
    "attempts/m1/clock/0.tla": CLOCK,
    "attempts/m1/clock/1.md": "```tla\n```",
    "attempts/m1/lock.txt": b"not UTF-8 \xff",
    "attempts/m1/.DS_Store": b"\xff",
    "attempts/m2/config-aware/clock/10.tla": "ten",
    "attempts/m2/config-aware/clock/9.tla": "nine",
    "attempts/m2/config-aware/silver.tla": "silver",
    "attempts/m2/silver.tla": "default silver",
}


@pytest.fixture
def src(tmp_path: Path) -> Path:
    write(tmp_path / "src", SOURCE)
    return tmp_path / "src"


def faults_of(src: Path, out: Path) -> list[str]:
    with pytest.raises(InputError) as caught:
        import_folder(src, out)
    assert not (out / "problems.jsonl").exists()
    return [str(fault).replace(f"{src}/", "") for fault in caught.value.faults]


def test_a_folder_becomes_a_sweep_that_loads_without_faults(src: Path, tmp_path: Path) -> None:
    assert import_folder(src, tmp_path / "out") == Imported(problems=3, attempts=7)
    sweep = load_sweep(tmp_path / "out")
    assert sweep.problems == {
        "clock": Problem(
            id="clock",
            module="Clock",
            reference=CLOCK,
            config="SPECIFICATION Spec\n",
            context={"Util": UTIL},
            labels={"tier": "gold"},
            quota=QuotaChange(wall_seconds=5),
        ),
        "lock": Problem(
            id="lock",
            module="Lock",
            reference="---- MODULE Lock ----\n====\n",
            config="INIT Init\n",
        ),
        "silver": Problem(id="silver", module="Silver"),
    }
    attempts = {entry.id: entry.load() for entry in sweep.attempts}
    assert {name: attempt.text for name, attempt in attempts.items()} == {
        "clock/m1/default/0": CLOCK,
        "clock/m1/default/1": "```tla\n```",
        "lock/m1/default/0": "not UTF-8 \ufffd",
        "clock/m2/config-aware/9": "nine",
        "clock/m2/config-aware/10": "ten",
        "silver/m2/config-aware/0": "silver",
        "silver/m2/default/0": "default silver",
    }
    assert not attempts["lock/m1/default/0"].valid_utf8


def test_an_import_is_the_same_wherever_and_whenever_it_is_made(src: Path, tmp_path: Path) -> None:
    import_folder(src, tmp_path / "one")
    moved = tmp_path / "moved"
    write(moved, dict(reversed(SOURCE.items())))
    import_folder(moved, tmp_path / "two")
    for name in ("problems.jsonl", "attempts.jsonl", "sweep.toml"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_an_import_stands_alone_once_it_is_made(src: Path, tmp_path: Path) -> None:
    import_folder(src, tmp_path / "out")
    src.rename(tmp_path / "gone")
    (tmp_path / "out").rename(tmp_path / "moved")
    assert len(load_sweep(tmp_path / "moved").attempts) == 7


def test_a_folder_that_is_not_empty_is_left_alone(src: Path, tmp_path: Path) -> None:
    write(tmp_path / "out", {"mine.txt": "keep"})
    assert faults_of(src, tmp_path / "out") == [
        f"{tmp_path}/out: exists and is not an empty folder; name a new one"
    ]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_an_empty_folder_is_filled(src: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    import_folder(src, tmp_path / "out")
    assert load_sweep(tmp_path / "out").problems


def test_a_source_without_the_layout_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    assert faults_of(tmp_path / "src", tmp_path / "out") == [
        "attempts: cannot be read: No such file or directory",
        "problems: cannot be read: No such file or directory",
    ]


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({"problems/note.txt": ""}, "problems/note.txt: is not a folder; each problem has one of its own"),
        ({"problems/clock/refrence.txt": ""}, "problems/clock/refrence.txt: has no place in a problem's folder"),
        ({"problems/clock/Other.tla": UTIL}, "problems/clock/Other.tla: there is also Clock.tla; put the modules that it imports into context/"),
        ({"problems/clock/Other.cfg": ""}, "problems/clock/Other.cfg: there is also Clock.cfg; a problem has one configuration"),
        ({"problems/clock/Clock.tla": UTIL}, "problems/clock/Clock.tla: is module 'Util', but should be module 'Clock'"),
        ({"problems/lock/reference.tla": "x"}, "problems/lock/reference.tla: has no module header; it should start with ---- MODULE Name ----"),
        ({"problems/lock/reference.tla": b"\xff"}, "problems/lock/reference.tla: not UTF-8 at byte 1; save the text as UTF-8"),
        ({"problems/lock/problem.json": '{"module": "Key"}'}, "problems/lock/reference.tla: is module 'Lock', but should be module 'Key'"),
        ({"problems/silver/S.cfg": ""}, "problems/silver/S.cfg: should be called reference.cfg or Silver.cfg"),
        ({"problems/clock/Clock.cfg": b"\xff"}, "problems/clock/Clock.cfg: not UTF-8 at byte 1; save the text as UTF-8"),
        ({"problems/clock/context/Util.tla": CLOCK}, "problems/clock/context/Util.tla: is module 'Clock', but should be module 'Util'"),
        ({"problems/clock/context/Util.cfg": ""}, "problems/clock/context/Util.cfg: is not a .tla file; context/ holds modules only"),
        ({"problems/empty/problem.json": "{}"}, "problems/empty: has no .tla file and no problem.json that names the module"),
        ({"problems/clock/problem.json": "{\n]"}, "problems/clock/problem.json: not JSON: Expecting property name enclosed in double quotes at line 2, column 1"),
        ({"problems/clock/problem.json": '{"label": {}}'}, "problems/clock/problem.json: label: unknown field; did you mean 'labels'?"),
        ({"problems/clock/problem.json": '{"labels": {"a": []}}'}, "problems/clock/problem.json: labels.a: must be a string, a boolean, a number of at most 64 bits or null"),
        ({"problems/clock/problem.json": '{"quota": {"cores": 0}}'}, "problems/clock/problem.json: quota.cores: should be greater than 0, not 0"),
        ({"problems/clock/problem.json": '{"quota": {"memory_bytes": 5}}'}, "problems/clock/problem.json: quota: heap_bytes (2147483648) must be below memory_bytes (5): the JVM needs memory beside its heap"),
        ({"attempts/note.txt": ""}, "attempts/note.txt: is not a folder; each model has one of its own"),
        ({"attempts/m1/cluck/0.tla": ""}, "attempts/m1/cluck: there is no problem 'cluck', and no problem's answers below it"),
        ({"attempts/m1/cluck.tla": ""}, "attempts/m1/cluck.tla: there is no problem 'cluck'"),
        ({"attempts/m2/config-aware/cluck/0.tla": ""}, "attempts/m2/config-aware/cluck: there is no problem 'cluck'"),
        ({"attempts/m1/clock/first.tla": ""}, "attempts/m1/clock/first.tla: should be named by its sample number, such as 0.tla"),
        ({"attempts/m1/clock/2.json": ""}, "attempts/m1/clock/2.json: is not a file that ends in .tla, .txt, .md"),
        ({"attempts/m1/clock/00.tla": ""}, "attempts/m1/clock/00.tla: is the same sample as {src}/attempts/m1/clock/0.tla"),
        ({"attempts/m1/clock/1.tla": ""}, "attempts/m1/clock/1.tla: is the same sample as {src}/attempts/m1/clock/1.md"),
        ({"attempts/m1/clock.tla": ""}, "attempts/m1/clock.tla: is the same sample as {src}/attempts/m1/clock/0.tla"),
        ({"attempts/m1/clock/2.tla/x": ""}, "attempts/m1/clock/2.tla: is not a file that ends in .tla, .txt, .md"),
    ],
)  # fmt: skip
def test_each_slip_in_the_layout_is_one_fault_with_its_file(
    src: Path, tmp_path: Path, files: dict[str, str | bytes], fault: str
) -> None:
    write(src, files)
    faults = faults_of(src, tmp_path / "out")
    assert len(faults) == 1
    assert faults[0] == fault.replace("{src}/", "")


def test_a_link_out_of_the_source_is_not_followed(src: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (src / "attempts" / "m1" / "clock" / "2.tla").symlink_to(tmp_path / "secret")
    [fault] = faults_of(src, tmp_path / "out")
    assert fault.startswith("attempts/m1/clock/2.tla: ")
    assert "through a symbolic link" in fault


def test_slips_in_several_files_are_reported_together(src: Path, tmp_path: Path) -> None:
    write(
        src,
        {
            "problems/clock/problem.json": '{"x": 1, "labels": 5}',
            "problems/lock/Lock.cfg": "",
            "attempts/m1/clock/a.tla": "",
            "attempts/m1/cluck.tla": "",
        },
    )
    assert [fault.split(": ")[0] for fault in faults_of(src, tmp_path / "out")] == [
        "attempts/m1/clock/a.tla",
        "attempts/m1/cluck.tla",
        "problems/clock/problem.json",
        "problems/clock/problem.json",
        "problems/lock/reference.cfg",
    ]
