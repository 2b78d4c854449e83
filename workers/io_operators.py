"""Find uses of operators that reach outside the model checker, on SANY's syntax tree.

TLC evaluates some library operators with Java code that starts programs and reads or writes any
file: a candidate that uses one is not graded but refused, before TLC runs it, the same on every
node. Text search would miss renaming (`J == INSTANCE Json`, `J!JsonSerialize`), operators passed
as arguments and LET; SANY's XML exporter (`tla2sany.xml.XMLExporter`, in both supported releases)
gives the resolved references. The export is needed only when SANY loaded such a library at all.

Over-approximate by design: beside such a library, an operator of the same name that the candidate
defines in an instantiated module of its own counts too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

IO_OPERATORS: dict[str, frozenset[str]] = {
    "Json": frozenset({"JsonSerialize", "JsonDeserialize", "ndJsonSerialize", "ndJsonDeserialize"}),
    "IOUtils": frozenset(
        {
            "Serialize",
            "Deserialize",
            "IOSerialize",
            "IODeserialize",
            "IOExec",
            "IOEnvExec",
            "IOExecTemplate",
            "IOEnvExecTemplate",
            "IOEnv",
            "IOEnvGet",
            "IOEnvPermit",
        }
    ),
    "CSV": frozenset({"CSVWrite", "CSVRead", "CSVRecords", "CSVWriteRecord"}),
    "SVG": frozenset({"SVGSerialize"}),
    "_DotTrace": frozenset({"_DotTrace"}),
    "_JsonTrace": frozenset({"_JsonTrace"}),
    "_TLAPlusCounterExample": frozenset({"_TLAPlusCounterExample"}),
    "_TLCActionTrace": frozenset({"_TLCTrace"}),
    "_TLCTESpec": frozenset({"_TLCTrace"}),
    "_TLCTrace": frozenset({"_TLCTrace"}),
    "_TLCTracePlain": frozenset({"_TLCTrace"}),
}
"""Library modules and their operators that read or write files, environment or programs."""


@dataclass(frozen=True, slots=True)
class IoUse:
    """One use of such an operator."""

    operator: str
    """As it is called, with its instance prefix: `J!JsonSerialize`."""
    module: str
    line: int


def io_modules_among(loaded: Collection[str]) -> frozenset[str]:
    """Those of the modules that SANY loaded which have such operators."""
    return frozenset(loaded) & IO_OPERATORS.keys()


def find_io_uses(export: Path, libraries: Collection[str]) -> list[IoUse]:
    """Uses of the libraries' IO operators outside the libraries themselves.

    Args:
        export: standard output of SANY's XML exporter.
        libraries: names of the loaded modules that have IO operators.

    Raises:
        ET.ParseError: the export holds no complete XML document.
    """
    names = frozenset().union(*(IO_OPERATORS[library] for library in libraries))
    # SANY writes the document; it has no DTD, and the candidate no way to bring one.
    root = ET.fromstring(_document(export.read_bytes()))  # noqa: S314
    definitions = {
        _text(entry, "UID"): node
        for entry in root.iterfind("context/entry")
        for node in entry
        if node.tag != "UID"
    }
    forbidden = {
        uid: _text(node, "uniquename")
        for uid, node in definitions.items()
        if _text(node, "uniquename").rpartition("!")[2] in names
    }
    uses = {
        use
        for node in definitions.values()
        if _text(node, "location/filename") not in libraries
        for use in _uses_in(node, forbidden)
    }
    return sorted(uses, key=lambda use: (use.module, use.line, use.operator))


def _document(output: bytes) -> bytes:
    """The XML in the exporter's output, which SANY 2.1 precedes with its progress messages."""
    start = output.find(b"<?xml")
    return output[max(start, 0) :]


def _uses_in(node: ET.Element, forbidden: dict[str, str]) -> Iterator[IoUse]:
    """References that apply an operator or pass it on, below one definition."""
    module = _text(node, "location/filename")
    line = int(_text(node, "location/line/begin") or 0)
    for holder in node.iter():
        if holder.tag not in {"operator", "argument"}:
            continue
        for reference in holder.iterfind("UserDefinedOpKindRef"):
            operator = forbidden.get(_text(reference, "UID"))
            if operator is not None:
                yield IoUse(operator, module, line)


def _text(node: ET.Element, path: str) -> str:
    return node.findtext(path) or ""
