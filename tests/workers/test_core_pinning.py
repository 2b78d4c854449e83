import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.core_pinning import Cores, claim_cores, physical_cores, read_cpu_list

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
CLAIM = """
import json, os, sys
from pathlib import Path
from workers.core_pinning import claim_cores
count, folder, sysfs, cpus = sys.argv[1:]
os.sched_getaffinity = lambda pid: set(json.loads(cpus))
cores = claim_cores(int(count), Path(folder), Path(sysfs))
print(json.dumps([cores.cpus, cores.shared]), flush=True)
command = sys.stdin.readline()
if command:
    import subprocess
    child = subprocess.Popen(["/bin/sleep", "600"])
    print(child.pid, flush=True)
"""

MakeSysfs = Callable[..., Path]
Claim = Callable[..., "Claimer"]
cpu_sets = st.sets(st.integers(0, 300), max_size=40)


class Claimer:
    """A process that has claimed cores, on a machine with the CPUs that it is told."""

    def __init__(self, count: int, folder: Path, sysfs: Path, cpus: set[int]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CLAIM, str(count), folder, sysfs, json.dumps(list(cpus))],
            env={"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        cpus_of_run, self.shared = json.loads(self._line())
        self.cpus = tuple(cpus_of_run)

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def start_child(self) -> int:
        """Have it start a program, and then end."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return int(self._line())

    def end(self) -> None:
        self.process.communicate()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def make_sysfs(tmp_path: Path) -> MakeSysfs:
    def make(*cores: tuple[int, ...]) -> Path:
        sysfs = tmp_path / "sysfs"
        for siblings in cores:
            for cpu in siblings:
                topology = sysfs / f"cpu{cpu}" / "topology"
                topology.mkdir(parents=True)
                text = ",".join(map(str, siblings))
                (topology / "thread_siblings_list").write_text(f"{text}\n")
        return sysfs

    return make


@pytest.fixture
def claim(tmp_path: Path) -> Iterator[Claim]:
    claimers = []

    def start(count: int, sysfs: Path, cpus: set[int], folder: Path | None = None) -> Claimer:
        claimers.append(Claimer(count, folder or tmp_path / "locks", sysfs, cpus))
        return claimers[-1]

    yield start
    for claimer in claimers:
        claimer.kill()


def as_kernel_list(cpus: set[int]) -> str:
    """Such as `0-3,8`, the way that the kernel prints a set (bitmap_print_to_pagebuf)."""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and cpu == parts[-1][-1] + 1:
            parts[-1].append(cpu)
        else:
            parts.append([cpu])
    return ",".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else f"{part[0]}" for part in parts)


@given(cpus=cpu_sets, end=st.sampled_from(["", "\n"]))
def test_a_list_of_cpus_is_read_as_the_kernel_prints_it(cpus: set[int], end: str) -> None:
    assert read_cpu_list(as_kernel_list(cpus) + end) == cpus


@given(text=st.text("0123456789-,x \n", max_size=8))
def test_another_text_is_refused_or_a_set_of_numbers(text: str) -> None:
    try:
        cpus = read_cpu_list(text)
    except ValueError:
        return
    assert all(cpu >= 0 for cpu in cpus)


@pytest.mark.parametrize("text", ["x", "1-x", "-3", "0-3:1/2"])
def test_what_is_no_list_of_cpus_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        read_cpu_list(text)


def test_siblings_make_one_core(make_sysfs: MakeSysfs) -> None:
    sysfs = make_sysfs((0, 4), (1, 5), (2, 6), (3, 7))
    assert physical_cores(set(range(8)), sysfs) == [(0, 4), (1, 5), (2, 6), (3, 7)]


def test_a_core_is_what_of_it_may_be_used(make_sysfs: MakeSysfs) -> None:
    sysfs = make_sysfs((0, 4), (1, 5), (2, 6), (3, 7))
    assert physical_cores({1, 4, 5, 7}, sysfs) == [(1, 5), (4,), (7,)]


def test_where_the_topology_is_hidden_each_cpu_is_a_core(tmp_path: Path) -> None:
    assert physical_cores({2, 0, 1}, tmp_path) == [(0,), (1,), (2,)]


def test_a_topology_that_cannot_be_read_is_none(make_sysfs: MakeSysfs) -> None:
    sysfs = make_sysfs((0, 1))
    (sysfs / "cpu0" / "topology" / "thread_siblings_list").write_text("garbage")
    assert physical_cores({0, 1}, sysfs) == [(0,), (1,)]


@given(threads=st.integers(1, 4), cores=st.integers(1, 6), data=st.data())
def test_cores_are_the_allowed_cpus_and_siblings_stay_together(
    tmp_path_factory: pytest.TempPathFactory, threads: int, cores: int, data: st.DataObject
) -> None:
    sysfs = tmp_path_factory.mktemp("sysfs")
    for cpu in range(threads * cores):
        topology = sysfs / f"cpu{cpu}" / "topology"
        topology.mkdir(parents=True)
        siblings = set(range(cpu % cores, threads * cores, cores))
        (topology / "thread_siblings_list").write_text(as_kernel_list(siblings))
    allowed = data.draw(st.sets(st.integers(0, threads * cores - 1), min_size=1))
    found = physical_cores(allowed, sysfs)
    assert sorted(cpu for core in found for cpu in core) == sorted(allowed)
    assert len(found) == len({cpu % cores for cpu in allowed})
    assert all(len({cpu % cores for cpu in core}) == 1 for core in found)


def test_a_claim_is_of_whole_cores_within_the_affinity(make_sysfs: MakeSysfs, claim: Claim) -> None:
    sysfs = make_sysfs((0, 4), (1, 5), (2, 6), (3, 7))
    allowed = {1, 3, 5, 6, 7}
    assert [claim(1, sysfs, allowed).cpus for _ in range(3)] == [(1, 5), (3, 7), (6,)]


def test_two_claims_get_cores_of_their_own_and_a_third_shares(
    make_sysfs: MakeSysfs, claim: Claim
) -> None:
    sysfs, allowed = make_sysfs((0, 2), (1, 3)), {0, 1, 2, 3}
    claims = [claim(1, sysfs, allowed) for _ in range(5)]
    assert [(each.cpus, each.shared) for each in claims] == [
        ((0, 2), False),
        ((1, 3), False),
        ((0, 2), True),
        ((1, 3), True),
        ((0, 2), True),
    ]


def test_claims_of_several_cores_do_not_overlap_while_there_are_enough(
    make_sysfs: MakeSysfs, claim: Claim
) -> None:
    sysfs, allowed = make_sysfs((0, 4), (1, 5), (2, 6), (3, 7)), set(range(8))
    first, second, third = (claim(count, sysfs, allowed) for count in (2, 1, 2))
    assert (first.cpus, first.shared) == ((0, 1, 4, 5), False)
    assert (second.cpus, second.shared) == ((2, 6), False)
    assert (third.cpus, third.shared) == ((0, 3, 4, 7), True)


@pytest.mark.parametrize("end", [Claimer.end, Claimer.kill], ids=["ends", "is killed"])
def test_a_claim_ends_with_its_process_however_it_ends(
    make_sysfs: MakeSysfs, claim: Claim, end: Callable[[Claimer], None]
) -> None:
    sysfs, allowed = make_sysfs((0,), (1,), (2,)), {0, 1, 2}
    first = claim(2, sysfs, allowed)
    end(first)
    again = claim(2, sysfs, allowed)
    assert (again.cpus, again.shared) == (first.cpus, False)


def test_a_program_that_a_claimer_started_does_not_keep_its_claim(
    make_sysfs: MakeSysfs, claim: Claim
) -> None:
    sysfs, allowed = make_sysfs((0,), (1,)), {0, 1}
    first = claim(1, sysfs, allowed)
    child = first.start_child()
    try:
        first.process.wait()
        assert Path(f"/proc/{child}").exists()
        again = claim(1, sysfs, allowed)
        assert (again.cpus, again.shared) == (first.cpus, False)
    finally:
        os.kill(child, 9)


def test_a_core_whose_first_owner_ended_is_still_shared_with_its_second(
    make_sysfs: MakeSysfs, claim: Claim
) -> None:
    sysfs, allowed = make_sysfs((0,), (1,)), {0, 1}
    first, _, sharer = (claim(1, sysfs, allowed) for _ in range(3))
    assert sharer.cpus == first.cpus
    first.end()
    again = claim(1, sysfs, allowed)
    assert (again.cpus, again.shared) == (sharer.cpus, True)


def test_more_cores_than_there_are_means_all(make_sysfs: MakeSysfs, claim: Claim) -> None:
    sysfs, allowed = make_sysfs((0, 2), (1, 3)), {0, 1, 2, 3}
    for count in (2, 3):
        claimer = claim(count, sysfs, allowed)
        assert (claimer.cpus, claimer.shared) == ((0, 1, 2, 3), False)
        claimer.end()


def test_runs_that_all_want_every_core_know_that_they_share(
    make_sysfs: MakeSysfs, claim: Claim
) -> None:
    sysfs = make_sysfs((0,))
    first, second = claim(1, sysfs, {0}), claim(1, sysfs, {0})
    assert first.cpus == second.cpus == (0,)
    assert (first.shared, second.shared) == (False, True)


def test_claims_that_start_together_are_all_different(
    make_sysfs: MakeSysfs, tmp_path: Path
) -> None:
    sysfs = make_sysfs(*((cpu, cpu + 6) for cpu in range(6)))
    arguments = ["1", str(tmp_path / "locks"), str(sysfs), json.dumps(list(range(12)))]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIM, *arguments],
            env={"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(6)
    ]
    answers = [json.loads(process.stdout.readline()) for process in processes if process.stdout]
    for process in processes:
        process.communicate()
    assert sorted(cpus for cpus, _ in answers) == [[cpu, cpu + 6] for cpu in range(6)]
    assert not any(shared for _, shared in answers)


def test_the_folder_of_locks_is_this_users_alone(
    make_sysfs: MakeSysfs, claim: Claim, tmp_path: Path
) -> None:
    claim(1, make_sysfs((0,), (1,)), {0, 1})
    assert (tmp_path / "locks").stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder of another user")
def test_in_another_users_folder_nothing_is_claimed_or_made(
    make_sysfs: MakeSysfs, claim: Claim, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o777)
    os.chown(theirs, NOBODY, NOBODY)
    claimer = claim(1, make_sysfs((0,), (1,)), {0, 1}, theirs)
    assert (claimer.cpus, claimer.shared) == ((0, 1), True)
    assert list(theirs.iterdir()) == []


def test_a_link_in_the_place_of_the_folder_is_not_followed(
    make_sysfs: MakeSysfs, claim: Claim, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    claimer = claim(1, make_sysfs((0,), (1,)), {0, 1}, tmp_path / "link")
    assert (claimer.cpus, claimer.shared) == ((0, 1), True)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_link_in_the_place_of_a_lock_is_not_followed(
    make_sysfs: MakeSysfs, claim: Claim, tmp_path: Path
) -> None:
    folder = tmp_path / "locks"
    folder.mkdir(mode=0o700)
    (folder / "core-0-0").symlink_to(tmp_path / "elsewhere")
    claim(1, make_sysfs((0,), (1,)), {0, 1})
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("kind", ["file", "absent parent"])
def test_where_there_can_be_no_locks_all_cores_are_shared(
    make_sysfs: MakeSysfs, claim: Claim, tmp_path: Path, kind: str
) -> None:
    folder = tmp_path / "file" if kind == "file" else tmp_path / "absent" / "locks"
    if kind == "file":
        folder.write_text("")
    claimer = claim(1, make_sysfs((0, 2), (1, 3)), {0, 1, 2, 3}, folder)
    assert (claimer.cpus, claimer.shared) == ((0, 1, 2, 3), True)


def test_on_this_machine_a_claim_is_of_cpus_that_may_be_used(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        cores = claim_cores(1, tmp_path / "locks")
        os.write(writer, json.dumps([cores.cpus, cores.shared]).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    cpus, shared = json.loads(os.read(reader, 10_000))
    os.close(reader)
    allowed = os.sched_getaffinity(0)
    assert Cores(tuple(cpus), shared) == Cores(physical_cores(allowed)[0], shared=False)
