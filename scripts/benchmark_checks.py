#!/usr/bin/env python3
"""Compare a check by tlagrid with the plain way, on the demo's references.

The plain way is two cold JVMs, `subprocess.run(["java", ...])` for SANY and for TLC, with Java's
default settings. Both grade the same references in turn, in one run on one machine; what counts is
the ratio. Usage, in an environment with tlagrid and the extra `embedded`:

    python scripts/benchmark_checks.py [ROUNDS]
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from jobs.sweep_file import load_sweep
from workers.class_archive import prepare
from workers.grading import grade
from workers.records import Attempt, GradingSettings, Outcome, Problem
from workers.toolchain import Tools, find_tools


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    demo = Path(__file__).resolve().parent.parent / "jobs" / "demo"
    sweep = load_sweep(demo, with_attempts=False)
    tools = find_tools()
    problems = [p for p in sweep.problems.values() if checkable(p)]
    prepare(tools)
    ratios: dict[str, list[float]] = {"CPU": [], "wall": []}
    costs: dict[str, list[float]] = {"plain": [], "tlagrid": []}
    for number in range(rounds):
        for problem in problems:
            plain = measure(partial(check_plainly, problem, tools))
            ours = measure(partial(check_by_tlagrid, problem, sweep.settings))
            ratios["CPU"].append(plain[0] / ours[0])
            ratios["wall"].append(plain[1] / ours[1])
            costs["plain"].append(plain[0])
            costs["tlagrid"].append(ours[0])
        print(f"round {number + 1} of {rounds}: {len(problems)} references", file=sys.stderr)
    for name, values in costs.items():
        print(f"{name}: median {statistics.median(values):.2f} CPU s per check")
    for name, values in ratios.items():
        quartiles = statistics.quantiles(values, n=4)
        print(
            f"plain / tlagrid, {name}: median {quartiles[1]:.2f} (quartiles "
            f"{quartiles[0]:.2f} to {quartiles[2]:.2f})"
        )


def checkable(problem: Problem) -> bool:
    return bool(problem.reference and problem.config) and not problem.labels.get("fixture")


def measure(check: Callable[[], None]) -> tuple[float, float]:
    """CPU seconds of all children, and wall seconds."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    check()
    wall = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def check_plainly(problem: Problem, tools: Tools) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for module, text in {**problem.context, problem.module: problem.reference or ""}.items():
            (folder / f"{module}.tla").write_text(text)
        (folder / f"{problem.module}.cfg").write_text(problem.config or "")
        java = [str(tools.java), f"-Djava.io.tmpdir={folder}", "-cp", tools.class_path]
        for program in (["tla2sany.SANY"], ["tlc2.TLC", "-tool"]):
            command = [*java, *program, f"{problem.module}.tla"]
            subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=True)


def check_by_tlagrid(problem: Problem, settings: GradingSettings) -> None:
    attempt = Attempt(
        id="reference", problem=problem.id, model="reference", text=problem.reference or ""
    )
    verdict = grade(problem, attempt, settings).verdict
    if verdict.outcome is not Outcome.CORRECT:
        raise SystemExit(f"{problem.id}: {verdict.outcome}: {verdict.message}")


if __name__ == "__main__":
    main()
