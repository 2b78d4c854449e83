"""A quiet run beside bombs: they must not change its result nor its figures."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from workers.limits import Limit

if TYPE_CHECKING:
    from tests.workers.enforcement.conftest import Bench

MIB = 1 << 20
NEIGHBOUR = """
import resource
held = b"x" * (50 << 20)
burn(1)
own = resource.getrusage(resource.RUSAGE_SELF)
print(own.ru_utime + own.ru_stime, own.ru_maxrss * 1024)
for number in range(1000): print(number)
"""
OUTPUT = [str(number) for number in range(1000)]
FORKS = """
for _ in range(9):
    try: fork()
    except OSError: time.sleep(0.01)
time.sleep(100)
"""
MEMORY = """
for _ in range(10):
    if fork() == 0:
        held = b"x" * (20 << 20)
        time.sleep(100)
time.sleep(100)
"""
FILES = """
for number in range(1_000_000): os.close(os.open(str(number), os.O_CREAT))
"""
THREADS = """
import hashlib, threading
def spin(): hashlib.pbkdf2_hmac("sha256", b"x", b"y", 1 << 30)
for _ in range(8): threading.Thread(target=spin).start()
"""
CHILDREN = """
while True:
    if fork() == 0:
        burn(0.01)
        os._exit(0)
    os.wait()
"""
OUTPUT_FLOOD = """
while True: os.write(1, bytes(1 << 16))
"""
ONE_FILE = """
with open("file", "wb", buffering=0) as file:
    while True: file.write(bytes(1 << 20))
"""
SHARED = """
with open("/dev/shm/" + os.environ["TOKEN"], "wb", buffering=0) as file:
    for _ in range(120): file.write(bytes(1 << 20))
    time.sleep(100)
"""


@pytest.mark.parametrize(
    ("bomb", "limit", "limits"),
    [
        pytest.param(FORKS, Limit.PROCESSES, {"processes": 20}, id="processes"),
        pytest.param(MEMORY, Limit.MEMORY, {"memory_bytes": 100 * MIB}, id="memory"),
        pytest.param(FILES, Limit.SCRATCH, {"scratch_files": 2_000}, id="files"),
        pytest.param(THREADS, Limit.CPU, {"cpu_seconds": 1}, id="threads"),
        pytest.param(CHILDREN, Limit.CPU, {"cpu_seconds": 1}, id="short-lived children"),
        pytest.param(OUTPUT_FLOOD, Limit.OUTPUT, {"output_bytes": 50 * MIB}, id="output"),
        pytest.param(ONE_FILE, Limit.SCRATCH, {"scratch_bytes": 50 * MIB}, id="one file"),
        pytest.param(SHARED, Limit.MEMORY, {"memory_bytes": 100 * MIB}, id="shared memory"),
    ],
)
def test_a_neighbour_is_not_harmed(
    make_bench: Callable[[], Bench], bomb: str, limit: Limit, limits: dict[str, Any]
) -> None:
    quiet = make_bench()
    with ThreadPoolExecutor(1) as pool:
        neighbour = pool.submit(
            quiet.python,
            NEIGHBOUR,
            memory_bytes=100 * MIB,
            processes=5,
            cpu_seconds=3,
            scratch_files=10,
        )
        make_bench().stops(bomb, limit, **limits)
        while not neighbour.done():
            make_bench().stops(bomb, limit, **limits)
        result = neighbour.result()

    assert (result.exit_code, result.signal, result.limit) == (0, None, None)
    own, *output = result.stdout.read_text().splitlines()
    assert output == OUTPUT
    cpu_seconds, high_water = float(own.split()[0]), int(own.split()[1])
    assert abs(result.cpu_seconds - cpu_seconds) <= 0.1 * cpu_seconds
    assert abs(result.peak_memory_bytes - high_water) <= 0.15 * high_water
