import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.enforcement import Enforcement, Tier
from workers.limits import Limits
from workers.node_pressure import NodePressure
from workers.run_protocol import CallerGoneError, RunReport, RunRequest

LIMITS = Limits(
    wall_seconds=0.5,
    cpu_seconds=60,
    memory_bytes=1 << 40,
    processes=100,
    scratch_bytes=1 << 20,
    output_bytes=1 << 20,
)
REQUEST = RunRequest(
    program="/bin/true",
    argv=("true",),
    environment={},
    scratch="/scratch",
    stdout="/spool/stdout",
    stderr="/spool/stderr",
    limits=LIMITS,
    enforcement=Enforcement(Tier.SAMPLING),
    core_locks="/locks",
)

# What Python makes of bytes that are not UTF-8: strings with surrogate escapes.
texts = st.binary(max_size=40).map(os.fsdecode) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=40
)
counts = st.integers(1, 1 << 62)
seconds = st.floats(1e-3, 1e6)
limits = st.builds(
    Limits,
    wall_seconds=seconds,
    cpu_seconds=seconds,
    memory_bytes=counts,
    processes=counts,
    scratch_bytes=counts,
    output_bytes=counts,
    scratch_files=counts,
    open_files=counts,
    cores=counts,
)
enforcements = st.builds(
    Enforcement,
    tier=st.sampled_from(Tier),
    parents=st.dictionaries(texts, texts, max_size=4),
    cpuset=st.booleans(),
    private_shm=st.booleans(),
    hidden=st.lists(texts, max_size=3).map(tuple),
)
requests = st.builds(
    RunRequest,
    program=texts,
    argv=st.lists(texts, max_size=8).map(tuple),
    environment=st.dictionaries(texts, texts, max_size=8),
    scratch=texts,
    stdout=texts,
    stderr=texts,
    limits=limits,
    enforcement=enforcements,
    core_locks=texts,
)
shares = st.none() | st.floats(0, 1)
reports = st.builds(
    RunReport,
    error=st.none() | texts,
    exit_code=st.none() | st.integers(0, 255),
    signal=st.none() | st.integers(1, 64),
    limit=st.none() | st.sampled_from(["wall", "memory"]),
    cpu_seconds=seconds,
    wall_seconds=seconds,
    peak_memory_bytes=counts,
    output_bytes=counts,
    scratch_bytes=counts,
    scratch_files=counts,
    cores=st.lists(st.integers(0, 1000)).map(tuple),
    cores_shared=st.booleans(),
    pressure=st.builds(
        NodePressure, cpu=shares, memory=shares, io=shares, steal=shares, throttled=shares
    ),
)


@contextmanager
def sent(message: bytes) -> Iterator[socket.socket]:
    """A connection over which the message comes, and then its end."""
    ours, theirs = socket.socketpair()

    def send() -> None:
        with theirs:
            theirs.sendall(message)

    sender = threading.Thread(target=send)  # a socket does not hold a large message
    sender.start()
    with ours:
        yield ours
        sender.join()


def transferred(request: RunRequest) -> RunRequest:
    with sent(request.encode()) as connection:
        return RunRequest.receive(connection)


@settings(max_examples=200)
@given(request=requests)
def test_a_request_arrives_as_it_was_sent(request: RunRequest) -> None:
    assert transferred(request) == request


def test_arguments_and_variables_of_200_kilobytes_arrive() -> None:
    large = os.fsdecode(os.urandom(200_000))
    request = replace(REQUEST, argv=("a", large, "b"), environment={"LARGE": large[::-1]})
    assert transferred(request) == request


def test_two_thousand_arguments_arrive() -> None:
    request = replace(REQUEST, argv=tuple(str(number) for number in range(2000)))
    assert transferred(request) == request


def test_a_message_that_comes_in_pieces_is_put_together() -> None:
    ours, theirs = socket.socketpair()
    message = REQUEST.encode()

    def dribble() -> None:
        for start in range(0, len(message), 7):
            theirs.sendall(message[start : start + 7])

    sender = threading.Thread(target=dribble)
    sender.start()
    with ours, theirs:
        assert RunRequest.receive(ours) == REQUEST
        sender.join()


def test_what_follows_a_request_is_left_in_the_connection() -> None:
    with sent(REQUEST.encode() + b"more") as connection:
        assert RunRequest.receive(connection) == REQUEST
        assert connection.recv(100) == b"more"


@settings(max_examples=50)
@given(data=st.data())
def test_a_caller_that_ends_within_its_request_is_gone(data: st.DataObject) -> None:
    message = REQUEST.encode()
    length = data.draw(st.integers(0, len(message) - 1))
    with sent(message[:length]) as connection, pytest.raises(CallerGoneError):
        RunRequest.receive(connection)


@settings(max_examples=200)
@given(report=reports)
def test_a_report_arrives_as_it_was_sent(report: RunReport) -> None:
    assert RunReport.decode(report.encode()) == report


@settings(max_examples=50)
@given(data=st.data())
def test_a_report_that_was_cut_off_is_none(data: st.DataObject) -> None:
    text = RunReport(exit_code=0, cores=(0, 1)).encode()
    length = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(ValueError, match=r".*"):
        RunReport.decode(text[:length])
