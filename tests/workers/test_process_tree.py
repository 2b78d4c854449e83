import os
import subprocess
import time
from pathlib import Path

from workers.process_tree import Tree


def test_a_scan_finds_descendants_whatever_their_names_and_nothing_else(tmp_path: Path) -> None:
    link = tmp_path / "a) S 1 (b"
    link.symlink_to("/bin/sleep")
    other = subprocess.Popen(["/bin/sleep", "600"])
    shell = subprocess.Popen(["/bin/sh", "-c", '"$0" 600; true', str(link)])
    tree = Tree(shell.pid)
    try:
        deadline = time.monotonic() + 60
        while not (found := tree.scan()):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert [process.parent for process in found] == [shell.pid]
        assert found[0].rss_bytes > 0
        mine = {process.pid for process in Tree(os.getpid()).scan()}
        assert {other.pid, shell.pid, found[0].pid} <= mine
        assert os.getppid() not in mine
        os.kill(found[0].pid, 9)
    finally:
        other.kill()
        other.wait()
        shell.wait()
    assert tree.scan() == []


def test_a_process_seen_as_foreign_does_not_hide_a_later_descendant() -> None:
    tree = Tree(os.getpid())
    before = {process.pid for process in tree.scan()}
    with subprocess.Popen(["/bin/sleep", "600"]) as later:
        try:
            assert {process.pid for process in tree.scan()} - before == {later.pid}
        finally:
            later.kill()
