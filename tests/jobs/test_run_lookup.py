from __future__ import annotations

from pathlib import Path

import pytest

from cluster.store import LocalStore
from jobs.exit_codes import BadUsageError
from jobs.run_lookup import find_run, find_store, store_arguments, unknown_name


def test_the_named_store_wins_over_the_sweeps_and_that_over_the_default(tmp_path: Path) -> None:
    named, swept = str(tmp_path / "named"), str(tmp_path / "swept")
    assert find_store(named, swept).uri == named
    assert find_store(None, swept).uri == swept
    assert find_store(None, None).uri == str(Path("tlagrid-runs").absolute())


def test_a_store_that_cannot_be_opened_is_bad_usage(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for uri in (str(file), "s3://bucket", "gopher://x"):
        with pytest.raises(BadUsageError):
            find_store(uri)


def test_other_commands_are_told_the_store_unless_they_find_it_themselves(tmp_path: Path) -> None:
    assert store_arguments(None, find_store(None)) == ()
    assert store_arguments("given", find_store("given")) == ("--store", "given")
    swept = str(tmp_path / "swept")
    assert store_arguments(None, find_store(None, swept)) == ("--store", swept)


def test_a_run_is_looked_for_among_those_that_exist(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    with pytest.raises(BadUsageError, match="has no runs"):
        find_run(store, "nightly")
    store.put("runs/nightly/run.json", b"{}")
    store.put("runs/never-began/attempts", b"")
    with pytest.raises(BadUsageError, match=r"there is: nightly\. Did you mean nightly\?"):
        find_run(store, "nightly-2")
    with pytest.raises(BadUsageError, match="there is: nightly"):
        find_run(store, "../nightly")


def test_many_names_are_cut_short() -> None:
    message = unknown_name("run", "zzz", (f"n{number:02}" for number in range(30)))
    assert message.endswith("n08, n09, ... (30 in all).")
