import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.process_identity import (
    ProcessIdentity,
    identity_in,
    start_ticks,
    this_process,
)

digits = st.text("0123456789abcdef", min_size=8, max_size=8)
identities = st.builds(
    ProcessIdentity,
    machine=digits,
    boot=digits,
    namespace=st.integers(0, 1 << 32),
    pid=st.integers(1, 1 << 22),
    started=st.integers(0, 1 << 63),
)


@pytest.fixture
def child() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(["/bin/sleep", "600"]) as process:
        yield process
        process.kill()


def identity_of(pid: int) -> ProcessIdentity:
    started = start_ticks(pid)
    assert started is not None
    return replace(this_process(), pid=pid, started=started)


def other(name: str) -> str:
    return "ffffffff" if name == "00000000" else "00000000"


def wait_for_zombie(pid: int) -> None:
    deadline = time.monotonic() + 60
    while " Z " not in Path(f"/proc/{pid}/stat").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_this_process_is_the_one_that_asks_and_lives() -> None:
    assert this_process() == this_process()
    assert this_process().pid == os.getpid()
    assert this_process().started == start_ticks(os.getpid())
    assert not this_process().is_ended


def test_a_child_is_not_taken_for_its_parent() -> None:
    own = this_process()
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(writer, str(this_process()).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    found = identity_in(os.read(reader, 1000).decode())
    os.close(reader)
    assert found is not None
    assert found == replace(own, pid=pid, started=found.started)
    assert found.is_ended


def test_a_process_lives_until_it_ends_though_nobody_has_reaped_it(
    child: "subprocess.Popen[bytes]",
) -> None:
    identity = identity_of(child.pid)
    assert not identity.is_ended
    child.kill()
    wait_for_zombie(child.pid)
    assert identity.is_ended
    child.wait()
    assert identity.is_ended


def test_a_pid_that_was_given_away_again_is_another_process(
    child: "subprocess.Popen[bytes]",
) -> None:
    now = identity_of(child.pid)
    earlier = replace(now, started=now.started - 1)
    assert earlier.is_ended
    assert not now.is_ended


def test_nothing_is_said_of_a_process_in_a_pid_namespace_that_we_do_not_see() -> None:
    own = this_process()
    elsewhere = replace(own, namespace=own.namespace + 1)
    assert not elsewhere.is_ended
    assert not replace(elsewhere, started=own.started - 1).is_ended


def test_no_process_outlives_a_boot_of_its_machine() -> None:
    own = this_process()
    assert replace(own, boot=other(own.boot)).is_ended


def test_nothing_is_said_of_a_process_of_another_machine() -> None:
    own = this_process()
    assert not replace(own, machine=other(own.machine), boot=other(own.boot)).is_ended
    assert not replace(own, machine=other(own.machine), started=own.started - 1).is_ended


@given(identity=identities, before=st.sampled_from(["", "tlagrid-", "tlagrid-run-", "x=a-1-"]))
def test_a_name_tells_whose_it_is(identity: ProcessIdentity, before: str) -> None:
    assert identity_in(f"{before}{identity}") == identity
    assert identity_in(f"{before}{identity}-17") == identity
    assert identity_in(f"{before}{identity}-abc_9x2") == identity


@pytest.mark.parametrize("name", ["", "tlagrid-", "tlagrid-callers", "ef29e3ab-1-2", "a-1-2-3"])
def test_other_names_tell_nothing(name: str) -> None:
    assert identity_in(name) is None


def test_a_start_time_is_read_whatever_the_program_is_called(tmp_path: Path) -> None:
    link = tmp_path / "a) Z 1 (b"
    link.symlink_to("/bin/sleep")
    with subprocess.Popen([str(link), "600"]) as odd:
        try:
            own, other = start_ticks(os.getpid()), start_ticks(odd.pid)
            assert own is not None
            assert other is not None
            assert own <= other
            uptime = float(Path("/proc/uptime").read_text().split()[0])
            assert other <= (uptime + 1) * os.sysconf("SC_CLK_TCK")
        finally:
            odd.kill()
    assert start_ticks(odd.pid) is None
