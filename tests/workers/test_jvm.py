from dataclasses import replace
from pathlib import Path

import pytest

from workers.jvm import export_command, pinned_flags, sany_command, tlc_command
from workers.records import GradingSettings, Quota, Toolchain
from workers.toolchain import Tools

SETTINGS = GradingSettings(
    quota=Quota(heap_bytes=123 * 1024**2), stack_bytes=4 * 1024**2, seed=7, fp=3
)
TOOLS = Tools(
    java=Path("/java"),
    tla2tools=Path("/tools/tla2tools.jar"),
    community_modules=None,
    fingerprint=Toolchain(tla2tools_sha256="a" * 64, tla2tools_version="-", java_version="-"),
    config_keywords=frozenset(),
    standard_modules=frozenset(),
    knows_generate_spec_te=False,
)
TEMPORARY = Path("/scratch/tmp")


@pytest.fixture(autouse=True)
def no_class_archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TLAGRID_CACHE", str(tmp_path))


def commands() -> list[list[str]]:
    return [
        sany_command(TOOLS, SETTINGS, "Clock", TEMPORARY),
        export_command(TOOLS, SETTINGS, "Clock", TEMPORARY),
        tlc_command(TOOLS, SETTINGS, "Clock", TEMPORARY, deadlock_off=False),
    ]


def test_every_tool_runs_with_a_pinned_heap_and_stack_and_its_own_temporary_folder() -> None:
    for command in commands():
        assert command[0] == "/java"
        assert f"-Xmx{123 * 1024**2}" in command
        assert f"-Xss{4 * 1024**2}" in command
        assert "-Djava.io.tmpdir=/scratch/tmp" in command
        assert "-XX:ErrorFile=/scratch/tmp/hs_err.log" in command
        assert "-Dfile.encoding=UTF-8" in command
        assert "-Duser.language=en" in command
        assert command[command.index("-cp") + 1] == "/tools/tla2tools.jar"
        assert command[-1] == "Clock.tla"


def test_tlc_runs_with_everything_that_could_change_a_verdict_pinned() -> None:
    command = tlc_command(TOOLS, SETTINGS, "Clock", TEMPORARY, deadlock_off=False)
    arguments = command[command.index("tlc2.TLC") + 1 :]
    assert arguments == [
        *("-tool", "-workers", "1", "-seed", "7", "-fp", "3"),
        *("-metadir", "/scratch/tmp/states", "-config", "Clock.cfg", "Clock.tla"),
    ]


def test_deadlock_checking_is_turned_off_only_when_asked() -> None:
    on = tlc_command(TOOLS, SETTINGS, "Clock", TEMPORARY, deadlock_off=False)
    off = tlc_command(TOOLS, SETTINGS, "Clock", TEMPORARY, deadlock_off=True)
    assert "-deadlock" not in on
    assert [argument for argument in off if argument not in on] == ["-deadlock"]


def test_a_tlc_that_writes_trace_specifications_is_told_not_to() -> None:
    newer = replace(TOOLS, knows_generate_spec_te=True)
    old = tlc_command(TOOLS, SETTINGS, "Clock", TEMPORARY, deadlock_off=False)
    new = tlc_command(newer, SETTINGS, "Clock", TEMPORARY, deadlock_off=False)
    assert "-noGenerateSpecTE" not in old
    assert "-noGenerateSpecTE" in new


def test_community_modules_follow_the_tools_on_the_class_path() -> None:
    tools = replace(TOOLS, community_modules=Path("/tools/CommunityModules.jar"))
    command = sany_command(tools, SETTINGS, "Clock", TEMPORARY)
    path = command[command.index("-cp") + 1]
    assert path == "/tools/tla2tools.jar:/tools/CommunityModules.jar"


def test_the_recorded_flags_are_those_on_the_command_line() -> None:
    command = tlc_command(TOOLS, SETTINGS, "Clock", TEMPORARY, deadlock_off=False)
    assert set(pinned_flags(SETTINGS)) <= set(command)
    assert f"-Xmx{123 * 1024**2}" in pinned_flags(SETTINGS)
    assert pinned_flags(SETTINGS)[4:6] == ("-seed", "7")
