# ruff: noqa: E501 - a case of a table is one line
import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs.input_errors import InputError
from jobs.sweep_file import ReportSettings, ToolchainPins, load_sweep
from workers.records import ExtractRule, GradingSettings, IoOperators, Quota, QuotaChange

CLOCK = "---- MODULE Clock ----\n====\n"
PROBLEM: dict[str, Any] = {
    "schema_version": 1,
    "id": "clock",
    "module": "Clock",
    "labels": {"tier": "gold"},
}
ATTEMPT: dict[str, Any] = {
    "schema_version": 1,
    "problem": "clock",
    "model": "m",
    "text": {"path": "f/a.tla"},
}
FILES = 'problems = "problems.jsonl"\nattempts = ["attempts.jsonl"]\n'


def write_lines(path: Path, *lines: dict[str, Any]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small manifest: one problem, two attempts, one of them in a file of its own."""
    folder = tmp_path / "My sweep"
    (folder / "f").mkdir(parents=True)
    (folder / "f" / "a.tla").write_text(CLOCK)
    write_lines(folder / "problems.jsonl", PROBLEM)
    write_lines(folder / "attempts.jsonl", ATTEMPT, ATTEMPT | {"sample": 1, "text": "x"})
    return folder


def with_toml(folder: Path, text: str) -> Path:
    (folder / "sweep.toml").write_text(text)
    return folder


def faults_of(path: Path, *, with_attempts: bool = True) -> list[str]:
    with pytest.raises(InputError) as caught:
        load_sweep(path, with_attempts=with_attempts)
    root = path if path.is_dir() else path.parent
    return [str(fault).replace(f"{root}/", "") for fault in caught.value.faults]


def test_a_folder_without_a_sweep_file_is_a_sweep_with_default_settings(folder: Path) -> None:
    sweep = load_sweep(folder)
    assert list(sweep.problems) == ["clock"]
    assert [entry.id for entry in sweep.attempts] == ["clock/m/default/0", "clock/m/default/1"]
    assert sweep.attempts[0].load().text == CLOCK
    assert sweep.settings == GradingSettings()
    assert sweep.report == ReportSettings()
    assert sweep.pins == ToolchainPins()
    assert sweep.store is None


def test_every_setting_of_the_sweep_file_is_kept(folder: Path) -> None:
    with_toml(
        folder,
        f"""{FILES}
extract = "published"
io_operators = "refuse"
store = "runs"
probes = []
[quota.specification]
wall_seconds = 60
heap_bytes = 1_000_000_000
[quota.proof]
wall_seconds = 700
[report]
k = [1, 5]
by = "tier"
[toolchain]
tla2tools_sha256 = "{"a" * 64}"
java_version = "25.0.2"
""",
    )
    sweep = load_sweep(folder)
    assert sweep.settings == GradingSettings(
        quota=Quota(wall_seconds=60, heap_bytes=1_000_000_000),
        extract=ExtractRule.PUBLISHED,
        io_operators=IoOperators.REFUSE,
    )
    assert sweep.proof_quota == QuotaChange(wall_seconds=700)
    assert sweep.report == ReportSettings(k=(1, 5), by=("tier",))
    assert sweep.pins == ToolchainPins(tla2tools_sha256="a" * 64, java_version="25.0.2")
    assert sweep.store == str(folder / "runs")


def test_a_store_by_uri_is_kept_as_it_is(folder: Path) -> None:
    with_toml(folder, FILES + 'store = "s3://bucket/prefix"\n')
    assert load_sweep(folder).store == "s3://bucket/prefix"


def test_a_sweep_cannot_be_changed(folder: Path) -> None:
    field = "name"
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(load_sweep(folder), field, "other")


@pytest.mark.parametrize(
    "attempts",
    ['"*s/a*.jsonl"', '["parts/a1.jsonl", "parts/a2.jsonl"]', '["parts/a1.jsonl", "**/a*.jsonl"]'],
)
def test_paths_and_globs_name_each_file_once(folder: Path, attempts: str) -> None:
    (folder / "attempts.jsonl").unlink()
    (folder / "parts").mkdir()
    write_lines(folder / "parts" / "a1.jsonl", ATTEMPT | {"text": "one"})
    write_lines(folder / "parts" / "a2.jsonl", ATTEMPT | {"sample": 1, "text": "two"})
    with_toml(folder, f'problems = "problems.jsonl"\nattempts = {attempts}\n')
    assert [entry.load().text for entry in load_sweep(folder).attempts] == ["one", "two"]


@pytest.mark.parametrize("kind", ["absolute", "up", "absolute glob"])
def test_a_sweep_file_may_name_a_manifest_elsewhere(folder: Path, kind: str) -> None:
    names = {
        "absolute": f"{folder}/problems.jsonl",
        "up": "../My sweep/problems.jsonl",
        "absolute glob": f"{folder}/prob*.jsonl",
    }
    other = folder.parent / "other"
    other.mkdir()
    with_toml(other, f'problems = "{names[kind]}"\nattempts = "../My sweep/attempts.jsonl"\n')
    assert len(load_sweep(other).attempts) == 2


def test_a_file_whose_name_looks_like_a_pattern_is_found(folder: Path) -> None:
    (folder / "attempts.jsonl").rename(folder / "attempts[1].jsonl")
    with_toml(folder, 'problems = "problems.jsonl"\nattempts = "attempts[1].jsonl"\n')
    assert len(load_sweep(folder).attempts) == 2


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('attempts = "attempts.jsonl"\n', "sweep.toml: problems: is missing"),
        (FILES + 'extrakt = "robust"\n', "sweep.toml:3: extrakt: unknown field; did you mean 'extract'?"),
        (FILES + 'extract = "loose"\n', "sweep.toml:3: extract: should be 'robust' or 'published', not 'loose'"),
        (FILES + "io_operators = true\n", "sweep.toml:3: io_operators: should be 'refuse' or 'allow', not True"),
        (
            FILES + 'io_operators = "allow"\n',
            ("sweep.toml:3: io_operators: only nodes that isolate candidates may allow IO operators, "
            'and this version isolates none; use "refuse"'),
        ),
        (FILES + 'probes = ["mutation"]\n', "sweep.toml:3: probes: this version has no probes; take the key out or leave the list empty"),
        (FILES + 'probes = "mutation"\n', "sweep.toml:3: probes: must be a list"),
        (FILES + 'store = ""\n', "sweep.toml:3: store: must not be empty"),
        (FILES + "[quota.specification]\nwall = 5\n", "sweep.toml:4: quota.specification.wall: unknown field"),
        (FILES + "[quota.specification]\ncores = 0\n", "sweep.toml:4: quota.specification.cores: should be greater than 0, not 0"),
        (FILES + "[quota.proof]\ncores = 0.5\n", "sweep.toml:4: quota.proof.cores: should be a valid integer, not 0.5"),
        (FILES + "[quota.spec]\ncores = 1\n", "sweep.toml:3: quota.spec: unknown field"),
        (
            FILES + "[quota.proof]\nmemory_bytes = 1_000_000\n",
            "sweep.toml:3: quota.proof: heap_bytes (2147483648) must be below memory_bytes (1000000): the JVM needs memory beside its heap",
        ),
        (FILES + "quota = 5\n", "sweep.toml:3: quota: must be an object with named fields, not 5"),
        (FILES + "[report]\nk = 5\n", "sweep.toml:4: report.k: must be a list"),
        (FILES + "[report]\nk = [1, 0]\n", "sweep.toml:4: report.k.1: should be greater than or equal to 1, not 0"),
        (FILES + "[report]\nby = []\n", "sweep.toml:4: report.by: must be a string or a list of strings that is not empty"),
        (FILES + '[toolchain]\njava = "25"\n', "sweep.toml:4: toolchain.java: unknown field"),
        (FILES + '[toolchain]\ntla2tools_sha256 = "abc"\n', "sweep.toml:4: toolchain.tla2tools_sha256: should match pattern '^[0-9a-f]{{64}}$', not 'abc'"),
        ('problems = "problems.jsonl"\nattempts = "a-*.jsonl"\n', "sweep.toml:2: attempts: no file matches 'a-*.jsonl' below {folder}"),
        ('problems = "problems.jsonl"\nattempts = "a**.jsonl"\n', "sweep.toml:2: attempts: no file matches 'a**.jsonl' below {folder}"),
        ('problems = "none.jsonl"\nattempts = "attempts.jsonl"\n', "sweep.toml:1: problems: no file matches 'none.jsonl' below {folder}"),
        ('problems = "s3://b/p.jsonl"\nattempts = "attempts.jsonl"\n', "sweep.toml:1: problems: 's3://b/p.jsonl': this version reads local files only"),
        ('problems = 5\nattempts = "attempts.jsonl"\n', "sweep.toml:1: problems: must be a string or a list of strings that is not empty"),
        ('problems = "problems.jsonl"\nattempts = [7, "attempts.jsonl"]\n', "sweep.toml:2: attempts.0: should be a valid string, not 7"),
        (FILES + "probes = [\n", "sweep.toml: not TOML: Invalid value (at end of document)"),
        (FILES + "= 5\n", "sweep.toml:3: not TOML: Invalid statement at column 1"),
    ],
)  # fmt: skip
def test_each_mistake_in_a_sweep_file_is_one_fault_with_line_and_field(
    folder: Path, text: str, fault: str
) -> None:
    assert faults_of(with_toml(folder, text)) == [fault.format(folder=folder)]


def test_faults_of_the_sweep_file_and_of_both_manifests_come_together(folder: Path) -> None:
    with_toml(folder, FILES + 'probes = ["mutation"]\n')
    write_lines(folder / "problems.jsonl", PROBLEM, PROBLEM)
    write_lines(folder / "attempts.jsonl", ATTEMPT | {"model": ""})
    assert faults_of(folder) == [
        "attempts.jsonl:1: model: must not be empty",
        "problems.jsonl:2: id: problem 'clock' is already defined at problems.jsonl:1",
        "sweep.toml:3: probes: this version has no probes; take the key out or leave the list empty",
    ]


def test_a_problems_quota_must_fit_the_quota_of_the_sweep(folder: Path) -> None:
    with_toml(folder, FILES + "[quota.specification]\nheap_bytes = 1_000_000_000\n")
    write_lines(folder / "problems.jsonl", PROBLEM | {"quota": {"memory_bytes": 900_000_000}})
    assert [fault.split(": ")[:2] for fault in faults_of(folder)] == [["problems.jsonl:1", "quota"]]
    write_lines(folder / "problems.jsonl", PROBLEM | {"quota": {"memory_bytes": 1_100_000_000}})
    assert load_sweep(folder).problems["clock"].quota == QuotaChange(memory_bytes=1_100_000_000)


def test_a_folder_that_holds_no_sweep_is_a_fault(tmp_path: Path) -> None:
    assert faults_of(tmp_path) == [
        f"{tmp_path}: the folder has neither sweep.toml nor problems.jsonl"
    ]


def test_a_folder_with_problems_only_names_the_missing_half(folder: Path) -> None:
    (folder / "attempts.jsonl").unlink()
    assert faults_of(folder) == [
        f"{folder}: attempts: no file matches 'attempts.jsonl' below {folder}"
    ]


def test_a_path_that_does_not_exist_is_a_fault(tmp_path: Path) -> None:
    assert faults_of(tmp_path / "none") == ["none: cannot be read: No such file or directory"]


def test_problems_alone_can_be_read_from_a_file_a_folder_or_a_sweep_file(folder: Path) -> None:
    with_toml(folder, FILES)
    (folder / "attempts.jsonl").unlink()
    for path in (folder / "problems.jsonl", folder, folder / "sweep.toml"):
        sweep = load_sweep(path, with_attempts=False)
        assert list(sweep.problems) == ["clock"]
        assert sweep.attempts == []


def test_a_problem_file_alone_is_no_sweep(folder: Path) -> None:
    assert faults_of(folder / "problems.jsonl") == [
        f"problems.jsonl: is one half of a manifest; give its folder {folder} or a sweep file"
    ]


def test_the_name_tells_the_folder_and_is_the_same_for_the_file_in_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_toml(folder, FILES)
    name = load_sweep(folder).name
    assert name.rpartition("-")[0] == "My-sweep"
    assert len(name.rpartition("-")[2]) == 8
    assert load_sweep(folder / "sweep.toml").name == name
    monkeypatch.chdir(folder)
    assert load_sweep(folder.relative_to(folder)).name == name


def test_another_sweep_file_gives_its_own_name(folder: Path) -> None:
    shutil.copy(with_toml(folder, FILES) / "sweep.toml", folder / "nightly run.toml")
    assert load_sweep(folder / "nightly run.toml").name.startswith("nightly-run-")


def test_moved_inputs_and_reordered_lines_are_the_same_sweep(folder: Path) -> None:
    before = load_sweep(folder)
    moved = folder.parent / "elsewhere" / folder.name
    shutil.copytree(folder, moved)
    lines = (moved / "attempts.jsonl").read_text().splitlines(keepends=True)
    (moved / "attempts.jsonl").write_text("\n" + "".join(reversed(lines)))
    after = load_sweep(moved)
    assert (after.inputs_digest, after.name) == (before.inputs_digest, before.name)


def test_a_text_in_a_file_and_the_same_text_inline_are_the_same_input(folder: Path) -> None:
    before = load_sweep(folder).inputs_digest
    write_lines(
        folder / "attempts.jsonl", ATTEMPT | {"text": CLOCK}, ATTEMPT | {"sample": 1, "text": "x"}
    )
    assert load_sweep(folder).inputs_digest == before


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "f" / "a.tla").write_text("other"),
        lambda folder: write_lines(folder / "attempts.jsonl", ATTEMPT),
        lambda folder: write_lines(folder / "problems.jsonl", PROBLEM | {"config": "INIT I"}),
    ],
)
def test_other_inputs_have_another_digest_and_name(
    folder: Path, change: Callable[[Path], Any]
) -> None:
    before = load_sweep(folder)
    change(folder)
    after = load_sweep(folder)
    assert after.inputs_digest != before.inputs_digest
    assert after.name != before.name


def test_other_settings_have_another_name_but_the_same_inputs(folder: Path) -> None:
    before = load_sweep(folder)
    after = load_sweep(with_toml(folder, FILES + "[quota.specification]\nwall_seconds = 5\n"))
    assert after.inputs_digest == before.inputs_digest
    assert after.name != before.name
