"""Everything here is really tried, as `tlagrid doctor` does."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from cluster.store import LocalStore
from jobs.check_row import Row, Status
from jobs.node_check import check_node
from workers.runner import examine_node


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    store = LocalStore(tmp_path_factory.mktemp("node") / "new" / "store")
    return {row.name: row for row in check_node(store)}


@pytest.mark.parametrize(
    "name",
    [
        *("Python", "Ray", "Java", "TLC", "grading a correct specification"),
        *("finding a violation", "enforcement", "wall limit", "cpu limit", "memory limit"),
        *("processes limit", "output limit", "scratch limit", "store"),
    ],
)
def test_what_grading_needs_works_here(rows: dict[str, Row], name: str) -> None:
    assert rows[name].status is Status.OK, rows[name].detail


def test_the_jar_is_named_by_path_and_content(rows: dict[str, Row]) -> None:
    assert "tla2tools.jar" in rows["TLC"].detail
    assert "sha256 " in rows["TLC"].detail


def test_missing_isolation_is_admitted(rows: dict[str, Row]) -> None:
    assert rows["isolation"].status is Status.WARNING
    assert "trusted like any program" in rows["isolation"].detail


def test_the_store_is_left_as_it_was(tmp_path: Path) -> None:
    root = tmp_path / "new" / "store"
    *_, last = check_node(LocalStore(root))
    assert last.status is Status.OK
    assert list(tmp_path.iterdir()) == []


def test_a_missing_jar_is_told_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TLAGRID_TLA2TOOLS", str(tmp_path / "none.jar"))
    rows = {row.name: row for row in check_node(LocalStore(tmp_path / "store"))}
    assert rows["tools"].status is Status.MISSING
    assert "TLAGRID_TLA2TOOLS" in rows["tools"].detail
    assert "pip install" in str(rows["tools"].remedy)
    assert "finding a violation" not in rows


def test_a_store_that_cannot_be_written_is_missing(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    (tmp_path / "store").write_text("a file where a folder should be")
    *_, last = check_node(store)
    assert last.status is Status.MISSING
    assert last.remedy is not None


def test_a_temporary_folder_in_memory_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/dev/shm")
    monkeypatch.setenv("TLAGRID_TLA2TOOLS", str(tmp_path / "none.jar"))  # the rest is not the point
    rows = {row.name: row for row in check_node(LocalStore(tmp_path / "store"))}
    assert rows["temporary folder"].status is Status.WARNING
    assert "in memory (tmpfs)" in rows["temporary folder"].detail
    assert rows["memory limit"].status is Status.OK


def test_a_weaker_tier_than_the_node_has_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TLAGRID_ENFORCEMENT", "sampling")
    monkeypatch.setenv("TLAGRID_TLA2TOOLS", str(tmp_path / "none.jar"))
    rows = {row.name: row for row in check_node(LocalStore(tmp_path / "store"))}
    assert rows["enforcement"].detail.startswith("sampling")
    best = str(examine_node().enforcements[0])
    assert rows["enforcement"].status is (Status.OK if best == "sampling" else Status.WARNING)
    assert rows["cores limit"].detail.startswith("not covered")
    assert rows["memory limit"].detail.startswith("detects")
