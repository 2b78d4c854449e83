from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from cluster.store import LocalStore

RESULTS = {
    "m": {
        "clock": ["correct", "correct", "deadlock", "resource_limit/wall", "infrastructure/node"],
        "toy": ["infrastructure/unreadable_config", None],
    }
}


def test_status_tells_graded_ungraded_by_reason_and_outcomes(
    tlagrid: Callable[..., Any], make_run: Callable[..., Any], store: LocalStore
) -> None:
    make_run("nightly", RESULTS)
    result = tlagrid("status", "nightly", "--store", store.uri)
    assert result.exit_code == 0
    lines = dict(line.split(maxsplit=1) for line in result.stdout.splitlines() if line[0] != " ")
    assert lines["state"] == "incomplete"
    assert lines["graded"] == "4 of 7"
    assert lines["ungraded"] == "3: 1 node, 1 not_graded_yet, 1 unreadable_config"
    assert lines["outcomes"] == "2 correct, 1 deadlock, 1 resource_limit"
    assert lines["rate"].endswith("attempts per second")
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if store.uri not in line)


def test_status_of_a_run_that_is_driven_gives_the_time_left(
    tlagrid: Callable[..., Any], make_run: Callable[..., Any], store: LocalStore
) -> None:
    make_run("nightly", RESULTS, ended=False)
    result = tlagrid("status", "nightly", "--store", store.uri, "--json")
    document = json.loads(result.stdout)
    assert document["state"] == "running"
    assert document["driver"]["live"] is True
    assert document["rate_per_second"] > 0
    assert document["eta_seconds"] > 0
    assert document["ungraded"] == {"node": 1, "not_graded_yet": 1, "unreadable_config": 1}
    assert document["cpu_seconds"] == 9.0


def test_a_run_whose_rest_is_the_problems_fault_is_finished(
    tlagrid: Callable[..., Any], make_run: Callable[..., Any], store: LocalStore
) -> None:
    make_run("nightly", {"m": {"clock": ["correct"], "toy": ["infrastructure/missing_config"]}})
    document = json.loads(tlagrid("status", "nightly", "--store", store.uri, "--json").stdout)
    assert document["state"] == "finished"
    assert document["eta_seconds"] is None


def test_an_unknown_run_gives_the_names_that_there_are(
    tlagrid: Callable[..., Any], make_run: Callable[..., Any], store: LocalStore
) -> None:
    make_run("nightly", RESULTS)
    result = tlagrid("status", "nightli", "--store", store.uri)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "there is no run 'nightli'; there is: nightly. Did you mean nightly?" in result.stderr


def test_the_store_comes_from_the_environment_or_is_a_folder_here(
    tlagrid: Callable[..., Any], make_run: Callable[..., Any], store: LocalStore, monkeypatch: Any
) -> None:
    make_run("nightly", RESULTS)
    assert "tlagrid-runs has no runs" in tlagrid("status", "nightly").stderr
    monkeypatch.setenv("TLAGRID_STORE", store.uri)
    assert tlagrid("status", "nightly").exit_code == 0
