#!/usr/bin/env python3
"""Measure what a run under quota costs over plain fork and exec, in each tier.

Each round starts /bin/true once plainly and once under each enforcement that this machine has, in
turn, so that all see the same load. Prints medians and quartiles. Usage:

    python scripts/benchmark_runner.py [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from workers.enforcement import Enforcement
from workers.limits import Limits
from workers.runner import examine_node, run

_PROGRAM = "/bin/true"
_LIMITS = Limits(
    wall_seconds=60,
    cpu_seconds=60,
    memory_bytes=1 << 30,
    processes=64,
    scratch_bytes=1 << 30,
    output_bytes=1 << 20,
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    enforcements = examine_node().enforcements
    with tempfile.TemporaryDirectory(prefix="tlagrid-benchmark-") as name:
        folder = Path(name)
        plain, guarded = _measure(folder, enforcements, rounds)
    print(f"{rounds} rounds of {_PROGRAM} on {os.cpu_count()} cores, milliseconds")
    print(f"{'':<34} {'median':>7} {'quartiles':>14}   over plain")
    _print("fork and exec", plain, None)
    for enforcement, times in guarded.items():
        _print(enforcement, times, plain)


def _measure(
    folder: Path, enforcements: tuple[Enforcement, ...], rounds: int
) -> tuple[list[float], dict[str, list[float]]]:
    plain: list[float] = []
    guarded: dict[str, list[float]] = {str(each): [] for each in enforcements}
    for number in range(rounds):
        plain.append(_timed(_run_plainly))
        for enforcement in enforcements:
            place = folder / f"{number}-{enforcement}"
            (place / "scratch").mkdir(parents=True)
            seconds = _timed(partial(_run_guarded, place, enforcement))
            guarded[str(enforcement)].append(seconds)
    return plain, guarded


def _run_plainly() -> None:
    child = os.fork()
    if not child:
        os.execv(_PROGRAM, [_PROGRAM])
    os.waitpid(child, 0)


def _run_guarded(place: Path, enforcement: Enforcement) -> None:
    run(
        [_PROGRAM],
        environment={},
        scratch=place / "scratch",
        spool=place / "spool",
        limits=_LIMITS,
        enforcement=enforcement,
    )


def _timed(action: Callable[[], None]) -> float:
    started = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - started)


def _print(name: str, times: list[float], plain: list[float] | None) -> None:
    first, median, third = statistics.quantiles(times, n=4)
    over = "" if plain is None else f"{median - statistics.median(plain):+.1f} ms"
    print(f"{name:<34} {median:>7.1f} {first:>6.1f}-{third:<7.1f}   {over}")


if __name__ == "__main__":
    main()
