"""The command lines with which SANY and TLC run.

Everything that could change a verdict is pinned: the heap (its default depends on the node's
memory), the stack, the encoding, the language of numbers, TLC's seed, its fingerprint polynomial
and its workers. `java.io.tmpdir` is the run's own folder: SANY 2.15 unpacks the standard modules
into it and deletes them at exit, and two runs that share it see each other's deletions as parse
failures. The garbage collector, the JIT settings and the class archive change speed only.
"""

from __future__ import annotations

import re
from pathlib import Path

from workers.class_archive import find_archive
from workers.records import GradingSettings
from workers.toolchain import Tools


def sany_command(
    tools: Tools, settings: GradingSettings, module: str, temporary: Path
) -> list[str]:
    """Run SANY alone on `<module>.tla` in the current folder.

    SANY is short-lived, so the first JIT tier alone is the faster choice.
    """
    return [*_sany(tools, settings, temporary), "tla2sany.SANY", f"{module}.tla"]


def export_command(
    tools: Tools, settings: GradingSettings, module: str, temporary: Path
) -> list[str]:
    """Print SANY's semantic tree of `<module>.tla` as XML."""
    return [*_sany(tools, settings, temporary), "tla2sany.xml.XMLExporter", f"{module}.tla"]


def tlc_command(
    tools: Tools, settings: GradingSettings, module: str, temporary: Path, *, deadlock_off: bool
) -> list[str]:
    """Run TLC on `<module>.tla` with `<module>.cfg`; TLC's `-deadlock` turns the check off."""
    return [
        *_java(tools, settings, temporary),
        "-cp",
        tools.class_path,
        "tlc2.TLC",
        "-tool",
        *_pinned_options(settings),
        "-metadir",
        str(temporary / "states"),
        *(["-noGenerateSpecTE"] if tools.knows_generate_spec_te else []),
        *(["-deadlock"] if deadlock_off else []),
        "-config",
        f"{module}.cfg",
        f"{module}.tla",
    ]


def java_exhaustion(stderr: Path) -> str | None:
    """Why Java died without the tool's own word: `stack`, `memory`, or `None` for neither."""
    with stderr.open("rb") as file:
        head = file.read(65536).decode("utf-8", errors="replace")
    if re.search(r'^Exception in thread ".*" java\.lang\.StackOverflowError', head, re.MULTILINE):
        return "stack"
    if re.search(r"^(?:.* )?java\.lang\.OutOfMemoryError\b", head, re.MULTILINE):
        return "memory"
    return None


def pinned_flags(settings: GradingSettings) -> tuple[str, ...]:
    """The flags that could change a verdict, as the fingerprint records them."""
    return (*_pinned_memory(settings), *_pinned_options(settings))


def _pinned_memory(settings: GradingSettings) -> tuple[str, ...]:
    return f"-Xmx{settings.quota.heap_bytes}", f"-Xss{settings.stack_bytes}"


def _pinned_options(settings: GradingSettings) -> tuple[str, ...]:
    return "-workers", "1", "-seed", str(settings.seed), "-fp", str(settings.fp)


def _sany(tools: Tools, settings: GradingSettings, temporary: Path) -> list[str]:
    return [
        *_java(tools, settings, temporary),
        "-XX:TieredStopAtLevel=1",
        "-cp",
        tools.class_path,
    ]


def _java(tools: Tools, settings: GradingSettings, temporary: Path) -> list[str]:
    return [
        str(tools.java),
        *_pinned_memory(settings),
        "-XX:+UseSerialGC",
        # Otherwise Java counts the node's cores, or a control group's, and starts more threads.
        f"-XX:ActiveProcessorCount={settings.quota.cores}",
        "-XX:-UsePerfData",
        # The JVM's own warnings would otherwise stand in the tool's output.
        "-Xlog:disable",
        "-Xlog:all=warning:stderr",
        *([f"-XX:SharedArchiveFile={archive}"] if (archive := find_archive(tools)) else []),
        f"-XX:ErrorFile={temporary / 'hs_err.log'}",
        f"-Djava.io.tmpdir={temporary}",
        "-Dfile.encoding=UTF-8",
        "-Dstdout.encoding=UTF-8",
        "-Dstderr.encoding=UTF-8",
        "-Duser.language=en",
        "-Duser.country=US",
        "-Duser.timezone=UTC",
    ]
