from __future__ import annotations

import io
from collections.abc import Mapping

import pytest
from rich.console import Console

from cluster.progress import Progress
from jobs import progress_view
from workers.records import Outcome


def progress(decided: int, outcomes: Mapping[Outcome, int], retrying: int = 0) -> Progress:
    return Progress(
        total=20,
        graded=decided,
        ungraded=0,
        planned=10,
        decided=decided,
        retrying=retrying,
        outcomes=outcomes,
        seconds=decided * 2.0,
    )


def lines_of(*reports: Progress) -> list[str]:
    console = Console(file=io.StringIO(), width=80, force_terminal=False)
    with progress_view.progress_view(console) as show:
        for report in reports:
            show(report)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_without_a_terminal_there_are_plain_lines_with_rate_and_time_left() -> None:
    outcomes = {Outcome.CORRECT: 3, Outcome.DEADLOCK: 1}
    assert lines_of(progress(4, outcomes)) == [
        "4/10 graded now, 0.5/s, 0:12 left; in all 3 correct, 1 failed"
    ]


def test_plain_lines_are_rare_but_the_last_one_is_always_there_once() -> None:
    reports = [progress(decided, {Outcome.CORRECT: decided}) for decided in (*range(11), 10)]
    lines = lines_of(*reports)
    assert [line.split()[0] for line in lines] == ["0/10", "10/10"]


def test_a_line_comes_when_ten_seconds_have_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 5.0, 11.0, 12.0])
    monkeypatch.setattr("jobs.progress_view.time.monotonic", lambda: next(clock))
    lines = lines_of(*(progress(decided, {}) for decided in (0, 1, 2, 3)))
    assert [line.split()[0] for line in lines] == ["0/10", "2/10"]


def test_a_terminal_gets_a_bar_with_the_counts_and_it_is_gone_at_the_end() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    with progress_view.progress_view(console) as show:
        show(progress(4, {Outcome.CORRECT: 4}, retrying=2))
    assert isinstance(console.file, io.StringIO)
    written = console.file.getvalue()
    assert "4/10 graded now, 0.5/s, 0:12 left" in written
    assert "4 correct, 2 to be tried again" in written
    assert written.endswith("\x1b[2K") or written.rstrip().endswith("\x1b[2K")
