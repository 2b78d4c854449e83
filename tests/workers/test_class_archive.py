"""The class-data archive: made once, used by Java, never in the way."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest

from workers.class_archive import CACHE_SETTING, find_archive, prepare
from workers.toolchain import find_tools


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    assert prepare(find_tools(), {CACHE_SETTING: str(folder)}) is not None
    return folder


def test_java_loads_tlc_from_the_archive(cache: Path, tmp_path: Path) -> None:
    tools = find_tools()
    archive = find_archive(tools, {CACHE_SETTING: str(cache)})
    command = [
        str(tools.java),
        f"-XX:SharedArchiveFile={archive}",
        "-XX:+UseSerialGC",
        "-Xlog:class+load",
        "-cp",
        tools.class_path,
        "tlc2.TLC",
    ]
    output = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    (line,) = (x for x in output.stdout.splitlines() if " tlc2.TLC source:" in x)
    assert line.endswith("source: shared objects file")


def test_a_second_preparation_makes_nothing(cache: Path) -> None:
    environment = {CACHE_SETTING: str(cache)}
    archive = find_archive(find_tools(), environment)
    assert archive is not None
    before = archive.stat().st_mtime_ns
    assert prepare(find_tools(), environment) == archive
    assert archive.stat().st_mtime_ns == before
    assert not list(cache.glob(".classes-*"))


def test_without_a_preparation_there_is_no_archive(tmp_path: Path) -> None:
    assert find_archive(find_tools(), {CACHE_SETTING: str(tmp_path)}) is None


def test_a_cache_folder_that_cannot_be_made_only_costs_time(tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    assert prepare(find_tools(), {CACHE_SETTING: str(occupied / "cache")}) is None


def test_while_another_process_makes_it_this_one_goes_without(tmp_path: Path) -> None:
    results: list[Path | None] = []

    def make() -> None:
        results.append(prepare(find_tools(), {CACHE_SETTING: str(tmp_path)}))

    threads = [threading.Thread(target=make) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made = [result for result in results if result is not None]
    assert made
    assert len(list(tmp_path.glob("*.jsa"))) == 1
