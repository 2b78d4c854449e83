"""Everything here is really tried, as `tlagrid doctor` does."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.store import LocalStore
from jobs.check_row import Row, Status
from jobs.node_check import check_node


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
