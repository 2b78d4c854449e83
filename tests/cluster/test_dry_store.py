from __future__ import annotations

import pytest

from cluster.dry_store import DryStore
from cluster.store import LocalStore, MissingObjectError, StoreError


def test_writes_are_seen_by_it_and_arrive_nowhere(store: LocalStore) -> None:
    store.put("runs/a/one", b"below")
    dry = DryStore(store)
    dry.put("runs/a/one", b"above")
    dry.put("runs/b/two", b"0123")
    assert dry.get("runs/a/one") == b"above"
    assert dry.get_range("runs/b/two", 1, 2) == b"12"
    assert dry.exists("runs/b/two")
    assert list(dry.list_keys("runs/")) == ["runs/a/one", "runs/b/two"]
    assert list(dry.list_folders("runs/")) == ["a", "b"]
    assert store.get("runs/a/one") == b"below"
    assert list(store.list_keys("")) == ["runs/a/one"]
    assert dry.uri == store.uri


def test_what_was_not_written_is_read_from_below(store: LocalStore) -> None:
    store.put("runs/a/one", b"below")
    dry = DryStore(store)
    assert dry.get("runs/a/one") == b"below"
    assert dry.get_range("runs/a/one", 1, 3) == b"elo"
    assert not dry.exists("runs/a/two")
    with pytest.raises(MissingObjectError):
        dry.get("runs/a/two")


def test_it_keeps_the_rules_of_a_store(store: LocalStore) -> None:
    dry = DryStore(store)
    with pytest.raises(StoreError, match="not valid"):
        dry.put("../outside", b"")
    dry.put("a", b"12")
    with pytest.raises(StoreError, match="ends before byte 3"):
        dry.get_range("a", 1, 2)
    with pytest.raises(StoreError, match="does not delete"):
        dry.delete("a")
