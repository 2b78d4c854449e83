from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.lines import compress_lines, read_lines
from cluster.store import LocalStore, StoreError

LINES = st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line), max_size=30)


@settings(deadline=None, max_examples=40)
@given(lines=LINES)
def test_lines_come_back_in_order(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    store = LocalStore(tmp_path_factory.mktemp("lines"))
    packed = compress_lines(iter(lines))
    key = f"x-{packed.sha256}.jsonl.zst"
    store.put(key, packed.data)
    assert list(read_lines(store, key)) == lines
    assert packed.count == len(lines)


def test_more_lines_than_one_chunk_come_back(store: LocalStore) -> None:
    lines = [b"%d" % number * 7 for number in range(200_000)]
    packed = compress_lines(lines)
    key = f"x-{packed.sha256}.jsonl.zst"
    store.put(key, packed.data)
    assert list(read_lines(store, key)) == lines


def test_every_truncation_is_noticed_before_the_first_line(store: LocalStore) -> None:
    packed = compress_lines([b"one", b"two", b"three"])
    key = f"runs/x/list-{packed.sha256}.jsonl.zst"
    for length in range(len(packed.data)):
        store.put(key, packed.data[:length])
        with pytest.raises(StoreError, match=f"{key} is .*corrupt"):
            next(read_lines(store, key))


def test_other_lines_under_the_name_are_noticed(store: LocalStore) -> None:
    packed = compress_lines([b"one"])
    key = f"x-{packed.sha256}.jsonl.zst"
    store.put(key, compress_lines([b"won"]).data)
    with pytest.raises(StoreError, match="truncated or corrupt"):
        next(read_lines(store, key))
