from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.store import LocalStore, MissingObjectError, StoreError, check_key, open_store

KEYS = st.lists(st.from_regex(r"[a-c0-1_][a-c0-1._-]{0,4}", fullmatch=True), min_size=1, max_size=3)


def test_an_object_comes_back_whole_and_in_ranges(store: LocalStore) -> None:
    store.put("packs/ab/x.pack", b"0123456789")
    assert store.get("packs/ab/x.pack") == b"0123456789"
    assert store.get_range("packs/ab/x.pack", 3, 4) == b"3456"
    assert store.exists("packs/ab/x.pack")


def test_writing_again_replaces_the_object_whole(store: LocalStore) -> None:
    store.put("a/b", b"long old content")
    store.put("a/b", b"new")
    store.put("a/b", b"new")
    assert store.get("a/b") == b"new"
    assert list(store.list_keys("")) == ["a/b"]


def test_what_is_missing_is_a_clear_error(store: LocalStore) -> None:
    with pytest.raises(MissingObjectError, match=r"there is no runs/x/run\.json"):
        store.get("runs/x/run.json")
    with pytest.raises(MissingObjectError, match=r"runs/x/run\.json"):
        store.get_range("runs/x/run.json", 0, 1)
    assert not store.exists("runs/x/run.json")
    store.delete("runs/x/run.json")


def test_a_range_beyond_the_end_says_that_the_object_is_truncated(store: LocalStore) -> None:
    store.put("a", b"12345")
    with pytest.raises(StoreError, match="a ends before byte 8"):
        store.get_range("a", 3, 5)


def test_a_deleted_object_is_gone(store: LocalStore) -> None:
    store.put("a/b", b"1")
    store.delete("a/b")
    assert not store.exists("a/b")
    assert list(store.list_keys("a/")) == []


@settings(deadline=None, max_examples=40)
@given(
    keys=st.sets(KEYS.map("/".join), max_size=12),
    prefix=st.from_regex(r"([a-c0-1_]{1,2}/)?[a-c0-1_]{0,2}", fullmatch=True),
)
def test_keys_are_listed_in_name_order_whatever_the_folders(
    tmp_path_factory: pytest.TempPathFactory, keys: set[str], prefix: str
) -> None:
    # A key cannot be both an object and a folder in a local store.
    keys = {key for key in keys if not any(other.startswith(f"{key}/") for other in keys)}
    store = LocalStore(tmp_path_factory.mktemp("listed"))
    for key in keys:
        store.put(key, b"")
    assert list(store.list_keys(prefix)) == sorted(key for key in keys if key.startswith(prefix))


def test_folders_are_listed_without_what_is_in_them(store: LocalStore) -> None:
    for key in ("runs/b/run.json", "runs/a/results/1", "runs/note", "packs/aa/x"):
        store.put(key, b"")
    assert list(store.list_folders("runs/")) == ["a", "b"]
    assert list(store.list_folders("nothing/")) == []


@pytest.mark.parametrize(
    "key", ["", "/etc/passwd", "../x", "a/../b", "a//b", "a/", ".tmp-1", "a b"]
)
def test_a_key_that_could_leave_the_store_is_refused(store: LocalStore, key: str) -> None:
    with pytest.raises(StoreError, match="is not valid"):
        check_key(key)
    with pytest.raises(StoreError, match="is not valid"):
        store.put(key, b"")


@pytest.mark.parametrize(
    ("number", "advice"), [(errno.ENOSPC, "free space"), (errno.EACCES, "make the folder writable")]
)
def test_a_failed_write_tells_the_way_out_and_leaves_the_old_object(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, number: int, advice: str
) -> None:
    store.put("a/b", b"old")

    def fail(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StoreError, match=f"cannot write a/b: .*{advice}"):
        store.put("a/b", b"new")
    assert store.get("a/b") == b"old"
    assert [path.name for path in Path(store.uri, "a").iterdir()] == ["b"]


def test_a_store_that_cannot_be_written_is_a_clear_error() -> None:
    # Even root cannot make files there.
    with pytest.raises(StoreError, match="store /proc/tlagrid: cannot write a"):
        LocalStore(Path("/proc/tlagrid")).put("a", b"")


def test_a_crashed_write_leaves_nothing_that_is_listed(store: LocalStore) -> None:
    store.put("a/b", b"")
    Path(store.uri, "a", ".tmp-0123").write_bytes(b"half")
    assert list(store.list_keys("a/")) == ["a/b"]


def test_opening_a_store_makes_nothing(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "new"))
    assert list(store.list_folders("runs/")) == []
    assert not (tmp_path / "new").exists()


def test_a_store_is_opened_by_path_or_file_uri(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_store("runs here").uri == str(tmp_path / "runs here")
    assert open_store((tmp_path / "runs here").as_uri()).uri == str(tmp_path / "runs here")


@pytest.mark.parametrize("uri", ["s3://bucket/prefix", "gs://bucket", "file://elsewhere/x"])
def test_a_store_that_this_version_lacks_is_refused(uri: str) -> None:
    with pytest.raises(StoreError, match=uri):
        open_store(uri)


def test_a_file_is_not_a_store(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="is a file, not a folder"):
        LocalStore(tmp_path / "file")
