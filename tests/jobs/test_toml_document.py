from pathlib import Path

import pytest

from jobs.input_errors import FaultLog
from jobs.toml_document import TomlDocument, read_toml

TEXT = """\
# a sweep
problems = "p.jsonl"
"store" = 'x'
quota.proof.cores = 1

[quota.specification]  # limits
wall_seconds = 5
  heap_bytes=1

[ report ]
k = [
  1,
]
inline = { a = 1 }
"""


@pytest.fixture
def document(tmp_path: Path) -> TomlDocument:
    (tmp_path / "sweep.toml").write_text(TEXT)
    document = read_toml(tmp_path / "sweep.toml", FaultLog())
    assert document is not None
    return document


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("problems", 2),
        ("store", 3),
        ("quota.proof.cores", 4),
        ("quota.specification", 6),
        ("quota.specification.wall_seconds", 7),
        ("quota.specification.heap_bytes", 8),
        ("report.k.0", 11),
        ("report.inline.a", 14),
        ("report.missing", 10),
        ("missing", None),
        (None, None),
    ],
)
def test_a_fault_has_the_line_of_its_key_or_of_what_holds_it(
    document: TomlDocument, field: str | None, line: int | None
) -> None:
    log = FaultLog()
    document.add(log, field, "wrong")
    assert [(fault.line, fault.field) for fault in log.faults] == [(line, field)]


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"a = 1\nb = \n", 2, "not TOML: Invalid value at column 5"),
        (b"a = 1\na = 2\n", 2, "not TOML: Cannot overwrite a value at column 6"),
        (b"a = [", None, "not TOML: Invalid value (at end of document)"),
        (b"a = '\xff'", None, "not UTF-8 at byte 6; save the file as UTF-8"),
    ],
)
def test_a_file_that_is_not_toml_is_one_fault_with_the_line(
    tmp_path: Path, content: bytes, line: int | None, message: str
) -> None:
    (tmp_path / "sweep.toml").write_bytes(content)
    log = FaultLog()
    assert read_toml(tmp_path / "sweep.toml", log) is None
    assert [(fault.line, fault.message) for fault in log.faults] == [(line, message)]


def test_a_byte_order_mark_is_tolerated(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_bytes(b"\xef\xbb\xbfa = 1\n")
    document = read_toml(tmp_path / "sweep.toml", FaultLog())
    assert document is not None
    assert document.value == {"a": 1}


def test_a_missing_file_is_a_fault(tmp_path: Path) -> None:
    log = FaultLog()
    assert read_toml(tmp_path / "none.toml", log) is None
    assert log.faults[0].message == "cannot be read: No such file or directory"
