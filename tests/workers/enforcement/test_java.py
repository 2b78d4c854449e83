"""A Java machine that runs out of memory: of its heap, or of what its quota leaves beside it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from workers.enforcement import Enforcement
from workers.limits import Limit, Limits
from workers.records import Attempt, Outcome, Problem, QuotaChange
from workers.specification import grade_specification
from workers.toolchain import Tools

if TYPE_CHECKING:
    from tests.workers.enforcement.conftest import Bench

MIB = 1 << 20
# TLC has to hold every function of the set before it can count them: about 2 GB.
HEAVY = """---- MODULE Heavy ----
EXTENDS Naturals, FiniteSets
VARIABLE x
Init == x = Cardinality({[n \\in 1..200 |-> n + m] : m \\in 1..500000})
Next == x' = x
Spec == Init /\\ [][Next]_x
====
"""
DUMPS = ("hs_err", "replay_pid", "java_pid", "core")
CONFIG = "SPECIFICATION Spec\n"
LIMITS = Limits(
    wall_seconds=60,
    cpu_seconds=120,
    memory_bytes=2048 * MIB,
    processes=200,
    scratch_bytes=500 * MIB,
    output_bytes=MIB,
)


@pytest.fixture
def dumps(
    make_bench: Callable[[], Bench], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], set[Path]]:
    """What Java left of a crash where it might: heap dumps, error files and cores."""
    monkeypatch.chdir(tmp_path)

    def find() -> set[Path]:
        paths = {*tmp_path.rglob("*"), *Path("/tmp").iterdir(), *Path("/").iterdir()}
        return {path for path in paths if path.name.startswith(DUMPS)}

    before = find()
    return lambda: find() - before


@pytest.mark.parametrize("heap", ["1g", "80m"], ids=["allowed heap above the limit", "below it"])
def test_a_java_machine_over_the_memory_limit_dies_by_it_without_a_dump(
    bench: Bench, tools: Tools, dumps: Callable[[], set[Path]], heap: str
) -> None:
    (bench.scratch / "Heavy.tla").write_text(HEAVY)
    (bench.scratch / "Heavy.cfg").write_text(CONFIG)
    limits = replace(LIMITS, memory_bytes=(150 if heap == "1g" else 100) * MIB)
    command = [str(tools.java), f"-Xmx{heap}", "-XX:+UseSerialGC", "-cp", tools.class_path]
    result = bench.run([*command, "tlc2.TLC", "-metadir", "states", "Heavy.tla"], limits)
    assert result.limit is Limit.MEMORY, result.stdout.read_text()
    assert dumps() == set()
    bench.check_nothing_is_left()
    bench.check_cleanup(result)


@pytest.mark.parametrize(
    "quota",
    [
        pytest.param(QuotaChange(heap_bytes=32 * MIB), id="heap"),
        pytest.param(
            QuotaChange(heap_bytes=160 * MIB, memory_bytes=161 * MIB), id="memory beside the heap"
        ),
    ],
)
def test_a_specification_that_needs_too_much_memory_is_stopped_by_its_quota(
    enforcement: Enforcement,
    tools: Tools,
    dumps: Callable[[], set[Path]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make_problem: Callable[..., Problem],
    make_attempt: Callable[..., Attempt],
    quota: QuotaChange,
) -> None:
    monkeypatch.setenv("TLAGRID_ENFORCEMENT", str(enforcement))
    problem = make_problem("Heavy", config=CONFIG, quota=quota.model_dump())
    verdict = grade_specification(problem, make_attempt(HEAVY, problem="heavy")).verdict
    assert (verdict.outcome, verdict.sub) == (Outcome.RESOURCE_LIMIT, "memory")
    assert verdict.gates.parsed
    assert verdict.resources.enforced_by == str(enforcement)
    assert dumps() == set()
    assert list(Path(tempfile.gettempdir()).iterdir()) == []
    assert programs_below(tmp_path) == []


def programs_below(folder: Path) -> list[bytes]:
    """Programs whose arguments name the folder: Java is told where its temporary files go."""
    programs = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            programs.append(path.read_bytes())
    return [program for program in programs if bytes(folder) in program]
