import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from jobs.input_errors import FaultLog
from jobs.text_fields import FileText, InlineText, locate_text, read_utf8


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "manifest"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.tla").write_bytes(b"text\r\n")
    (tmp_path / "secret.txt").write_text("secret")
    return folder


def locate(value: Any, root: Path) -> tuple[Any, list[tuple[str | None, str]]]:
    log = FaultLog()
    source = locate_text(value, root=root, field="text", place=log.at(root / "m.jsonl", 1))
    return source, [(fault.field, fault.message) for fault in log.faults]


def test_a_string_is_the_text_itself(root: Path) -> None:
    source, faults = locate("text", root)
    assert source == InlineText("text")
    assert source.sha256() == hashlib.sha256(b"text").hexdigest()
    assert faults == []


def test_a_path_is_read_byte_for_byte(root: Path) -> None:
    source, faults = locate({"path": "a.tla"}, root)
    assert source == FileText(root / "a.tla")
    assert source.content() == b"text\r\n"
    assert faults == []


def test_a_right_digest_is_accepted(root: Path) -> None:
    digest = hashlib.sha256(b"text\r\n").hexdigest()
    source, faults = locate({"path": "a.tla", "sha256": digest}, root)
    assert source is not None
    assert faults == []


def test_a_symbolic_link_within_the_root_is_followed(root: Path) -> None:
    (root / "link").symlink_to("a.tla")
    source, faults = locate({"path": "link"}, root)
    assert source.content() == b"text\r\n"
    assert faults == []


@pytest.mark.parametrize(
    ("value", "field", "message"),
    [
        (5, "text", 'must be a string, {"path": ...} or {"uri": ...}'),
        (None, "text", 'must be a string, {"path": ...} or {"uri": ...}'),
        ({}, "text", 'needs exactly one of "path" and "uri"'),
        ({"path": "a.tla", "uri": "s3://b/k"}, "text", 'needs exactly one of "path" and "uri"'),
        ({"path": "a.tla", "mode": 1}, "text.mode", "unknown field"),
        ({"path": ""}, "text.path", "must be a path: a string that is not empty"),
        ({"path": 3}, "text.path", "must be a path: a string that is not empty"),
        ({"path": "b.tla"}, "text.path", "no such file: 'b.tla' below {root}"),
        ({"path": "sub"}, "text.path", "'sub' is not a regular file"),
        (
            {"path": "../secret.txt"},
            "text.path",
            "'../secret.txt' leaves its root; give a path below {root} without '..' parts",
        ),
        (
            {"path": "/etc/passwd"},
            "text.path",
            "'/etc/passwd' leaves its root; give a path below {root} without '..' parts",
        ),
        ({"path": "out"}, "text.path", "'out' leaves its root {root} through a symbolic link"),
        (
            {"uri": "s3://bucket/key"},
            "text.uri",
            's3:// is not supported: this version reads local files only; use {"path": ...}',
        ),
        ({"uri": 5}, "text.uri", "must be a string"),
        (
            {"path": "a.tla", "sha256": "ABC"},
            "text.sha256",
            "must be 64 lower-case hexadecimal digits",
        ),
        (
            {"path": "a.tla", "sha256": "0" * 64},
            "text.sha256",
            "the file's digest is {digest}, not " + "0" * 64,
        ),
    ],
)
def test_each_mistake_in_a_text_field_names_its_field(
    root: Path, value: Any, field: str, message: str
) -> None:
    (root / "out").symlink_to("../secret.txt")
    digest = hashlib.sha256(b"text\r\n").hexdigest()
    _, faults = locate(value, root)
    expected = message.replace("{root}", str(root)).replace("{digest}", digest)
    assert faults == [(field, expected)]


@pytest.mark.parametrize("path", ["a\x00b", "\ud800", "x" * 5000])
def test_a_path_that_no_file_system_takes_is_a_fault(root: Path, path: Path) -> None:
    source, faults = locate({"path": path}, root)
    assert source is None
    assert [field for field, _ in faults] == ["text.path"]


def test_a_loop_of_links_is_a_fault(root: Path) -> None:
    (root / "loop").symlink_to("loop")
    source, faults = locate({"path": "loop"}, root)
    assert source is None
    assert [field for field, _ in faults] == ["text.path"]


def test_a_pipe_is_refused_without_waiting_for_a_writer(root: Path) -> None:
    os.mkfifo(root / "pipe")
    _, faults = locate({"path": "pipe"}, root)
    assert faults == [("text.path", "'pipe' is not a regular file")]


def test_half_a_surrogate_pair_keeps_its_bytes() -> None:
    assert InlineText("a\ud800").content() == b"a\xed\xa0\x80"


def test_a_byte_order_mark_is_dropped_and_line_ends_are_kept(root: Path) -> None:
    (root / "c.cfg").write_bytes(b"\xef\xbb\xbfINIT Init\r\n")
    place = FaultLog().at(root / "m.jsonl", 1)
    assert read_utf8(FileText(root / "c.cfg"), field="config", place=place) == "INIT Init\r\n"


def test_a_text_that_must_be_utf8_and_is_not_is_a_fault(root: Path) -> None:
    (root / "c.cfg").write_bytes(b"INIT \xff")
    log = FaultLog()
    assert read_utf8(FileText(root / "c.cfg"), field="config", place=log.at(root, 1)) is None
    assert [(f.field, f.message) for f in log.faults] == [
        ("config", "not UTF-8 at byte 6; save the text as UTF-8")
    ]
