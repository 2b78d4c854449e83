from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.packs import PackWriter, SealedPack, read_pack, read_trace
from cluster.store import LocalStore, MissingObjectError, StoreError
from workers.evidence import Evidence, Graded
from workers.records import Outcome, Verdict

MakeVerdict = Callable[..., Verdict]

EVIDENCE = st.lists(
    st.builds(Evidence, name=st.sampled_from(["tlc.stdout", "trace.json"]), content=st.binary()),
    max_size=4,
)


def seal(make_verdict: MakeVerdict, *batch: list[Evidence]) -> SealedPack:
    writer = PackWriter()
    for number, evidence in enumerate(batch):
        writer.add(Graded(make_verdict(f"attempt {number}"), tuple(evidence)))
    return writer.seal()


@settings(deadline=None, max_examples=40)
@given(batch=st.lists(EVIDENCE, max_size=4))
def test_evidence_comes_back_by_the_verdicts_references(
    tmp_path_factory: pytest.TempPathFactory,
    make_verdict: MakeVerdict,
    batch: list[list[Evidence]],
) -> None:
    store = LocalStore(tmp_path_factory.mktemp("packs"))
    pack = seal(make_verdict, *batch)
    store.put(pack.key, pack.data)
    for verdict, evidence in zip(pack.verdicts, batch, strict=True):
        read = [Evidence(trace.name, read_trace(store, trace)) for trace in verdict.traces]
        assert read == evidence


@settings(deadline=None, max_examples=40)
@given(batch=st.lists(EVIDENCE, max_size=4))
def test_a_pack_tells_its_verdicts_on_its_own(
    tmp_path_factory: pytest.TempPathFactory,
    make_verdict: MakeVerdict,
    batch: list[list[Evidence]],
) -> None:
    store = LocalStore(tmp_path_factory.mktemp("packs"))
    pack = seal(make_verdict, *batch)
    store.put(pack.key, pack.data)
    assert read_pack(store, pack.key) == pack.verdicts


def test_the_same_batch_makes_the_same_pack(make_verdict: MakeVerdict) -> None:
    batch = [Evidence("sany.stdout", b"Parsing"), Evidence("tlc.stdout", b"No error")]
    first, second = seal(make_verdict, batch), seal(make_verdict, batch)
    assert (first.key, first.data) == (second.key, second.data)
    assert first.key.startswith(f"packs/{first.key[6:8]}/{first.key[6:8]}")


def test_equal_evidence_is_kept_once(make_verdict: MakeVerdict) -> None:
    log = Evidence("sany.stdout", bytes(range(256)) * 40)
    alone, twice = seal(make_verdict, [log]), seal(make_verdict, [log], [log])
    assert twice.verdicts[0].traces == twice.verdicts[1].traces
    assert len(twice.data) < len(alone.data) + 200


def test_any_damaged_byte_of_the_evidence_is_noticed(
    store: LocalStore, make_verdict: MakeVerdict
) -> None:
    pack = seal(make_verdict, [Evidence("tlc.stdout", b"Error: Deadlock reached." * 3)])
    (trace,) = pack.verdicts[0].traces
    for position in range(trace.offset, trace.offset + trace.length):
        damaged = bytearray(pack.data)
        damaged[position] ^= 0x55
        store.put(pack.key, bytes(damaged))
        with pytest.raises(StoreError, match=r"\.pack at 15 \(tlc\.stdout\) is corrupt"):
            read_trace(store, trace)


def test_a_truncated_pack_is_a_clear_error(store: LocalStore, make_verdict: MakeVerdict) -> None:
    pack = seal(make_verdict, [Evidence("tlc.stdout", b"Deadlock")])
    store.put(pack.key, pack.data[:20])
    with pytest.raises(StoreError, match="is truncated"):
        read_trace(store, pack.verdicts[0].traces[0])
    with pytest.raises(StoreError, match="is corrupt"):
        read_pack(store, pack.key)


def test_a_missing_pack_is_told_from_a_damaged_one(
    store: LocalStore, make_verdict: MakeVerdict
) -> None:
    pack = seal(make_verdict, [Evidence("tlc.stdout", b"Deadlock")])
    with pytest.raises(MissingObjectError, match=pack.key):
        read_trace(store, pack.verdicts[0].traces[0])


def test_the_pack_keeps_what_the_verdict_says(store: LocalStore, make_verdict: MakeVerdict) -> None:
    writer = PackWriter()
    verdict = make_verdict("a", Outcome.DEADLOCK, message="TLC 2114")
    writer.add(Graded(verdict, (Evidence("log", b""),)))
    pack = writer.seal()
    store.put(pack.key, pack.data)
    assert pack.verdicts[0].model_copy(update={"traces": ()}) == verdict
