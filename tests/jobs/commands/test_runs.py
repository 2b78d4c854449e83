from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from cluster.store import LocalStore


def test_runs_lists_every_run_with_its_counts_and_state(
    tlagrid: Callable[..., Any], make_run: Callable[..., Any], store: LocalStore
) -> None:
    make_run("a-run", {"m": {"clock": ["correct", "infrastructure/node"]}})
    make_run("b-run", {"m": {"clock": ["correct", "deadlock", "correct"]}})
    result = tlagrid("runs", "--store", store.uri)
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines() if "-run" in line]
    assert [[row[0], row[1], *row[-3:]] for row in rows[-2:]] == [
        ["a-run", "incomplete", "2", "1", "1"],
        ["b-run", "finished", "3", "3", "0"],
    ]


def test_runs_as_json_are_one_document(
    tlagrid: Callable[..., Any], make_run: Callable[..., Any], store: LocalStore
) -> None:
    make_run("a-run", {"m": {"clock": ["correct", None]}})
    document = json.loads(tlagrid("runs", "--store", store.uri, "--json").stdout)
    assert document["store"] == store.uri
    (run,) = document["runs"]
    assert (run["run"], run["attempts"], run["graded"]) == ("a-run", 2, 1)


def test_a_store_without_runs_says_so_and_is_not_made(
    tlagrid: Callable[..., Any], store: LocalStore, tmp_path: Any
) -> None:
    result = tlagrid("runs", "--store", store.uri)
    assert (result.exit_code, result.stdout) == (0, f"{store.uri} has no runs\n")
    assert not (tmp_path / "store").exists()


def test_a_store_that_cannot_be_is_bad_usage(tlagrid: Callable[..., Any]) -> None:
    result = tlagrid("runs", "--store", "ftp://somewhere/else")
    assert result.exit_code == 2
    assert "unknown scheme 'ftp'" in result.stderr


def test_a_damaged_store_is_an_infrastructure_failure(
    tlagrid: Callable[..., Any], make_run: Callable[..., Any], store: LocalStore
) -> None:
    make_run("a-run", {"m": {"clock": ["correct"]}})
    (key,) = store.list_keys("runs/a-run/results/")
    store.put(key, b"damaged")
    result = tlagrid("runs", "--store", store.uri)
    assert result.exit_code == 3
    assert f"{key} is corrupt" in result.stderr
