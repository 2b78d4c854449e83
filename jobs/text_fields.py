"""Texts that a manifest gives inline or as a reference to a file beside it.

A text field is a string, `{"path": "relative/to/the/manifest"}` or `{"uri": ...}`, the last two
optionally with `"sha256"`. A path must stay below the manifest's folder, symbolic links included:
a manifest from elsewhere must not be able to pull a private file into a sweep. This version
reads local files only, so every `uri` is refused with that reason.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jobs.input_errors import Place

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class InlineText:
    """A text that stands in the manifest itself."""

    text: str

    def content(self) -> bytes:
        """The text's bytes; half a surrogate pair, which JSON can express, is kept as it is."""
        return self.text.encode(errors="surrogatepass")

    def sha256(self) -> str:
        """Digest of the bytes."""
        return hashlib.sha256(self.content()).hexdigest()


@dataclass(frozen=True, slots=True)
class FileText:
    """A text in a file of its own, found and known to lie below its root."""

    path: Path

    def content(self) -> bytes:
        """The file's bytes. Raises OSError."""
        return self.path.read_bytes()

    def sha256(self) -> str:
        """Digest of the bytes, with constant memory. Raises OSError."""
        with self.path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()


TextSource = InlineText | FileText


def locate_text(value: Any, *, root: Path, field: str, place: Place) -> TextSource | None:
    """Where the text of a field is; `None` when the field is faulty, noted at `place`.

    `root` is the folder that paths are relative to and may not leave. A given `sha256` is
    compared with the file.
    """
    if isinstance(value, str):
        return InlineText(value)
    if not isinstance(value, dict):
        place.add(field, 'must be a string, {"path": ...} or {"uri": ...}')
        return None
    for name in value.keys() - {"path", "uri", "sha256"}:
        place.add(f"{field}.{name}", "unknown field")
    if ("path" in value) == ("uri" in value):
        place.add(field, 'needs exactly one of "path" and "uri"')
        return None
    if "uri" in value:
        place.add(f"{field}.uri", _refused_uri(value["uri"]))
        return None
    path = locate_file(value["path"], root=root, field=f"{field}.path", place=place)
    if "sha256" in value and not _has_digest(path, value["sha256"], f"{field}.sha256", place):
        return None
    return None if path is None else FileText(path)


def locate_file(relative: Any, *, root: Path, field: str | None, place: Place) -> Path | None:
    """The regular file at a path below `root`; `None` when there is none, noted at `place`."""
    try:
        return _file_below(root, relative)
    except FileNotFoundError:
        place.add(field, f"no such file: {relative!r} below {root}")
    except OSError as error:
        place.add(field, f"{relative!r} cannot be read: {error.strerror or error}")
    except (ValueError, RuntimeError) as error:  # RuntimeError: a loop of symbolic links
        place.add(field, str(error))
    return None


def _file_below(root: Path, relative: Any) -> Path:
    if not isinstance(relative, str) or not relative:
        raise ValueError("must be a path: a string that is not empty")
    if Path(relative).is_absolute() or ".." in Path(relative).parts:
        raise ValueError(
            f"{relative!r} leaves its root; give a path below {root} without '..' parts"
        )
    found = (root / relative).resolve(strict=True)
    if not found.is_relative_to(root.resolve()):
        raise ValueError(f"{relative!r} leaves its root {root} through a symbolic link")
    if not found.is_file():
        raise ValueError(f"{relative!r} is not a regular file")
    return root / relative


def read_utf8(source: TextSource, *, field: str | None, place: Place) -> str | None:
    """A text that must be UTF-8, such as a module that tools will read.

    A byte order mark at the start of a file is dropped: TLC takes it for part of a cfg's first
    keyword. `None` when it cannot be read, noted at `place`.
    """
    try:
        return source.content().removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        place.add(field, f"not UTF-8 at byte {error.start + 1}; save the text as UTF-8")
    except OSError as error:
        place.add(field, f"cannot be read: {error.strerror or error}")
    return None


def _refused_uri(uri: Any) -> str:
    if not isinstance(uri, str):
        return "must be a string"
    try:
        scheme = urlsplit(uri).scheme
    except ValueError:
        scheme = ""
    named = f"{scheme}://" if scheme else f"{uri!r}"
    return f'{named} is not supported: this version reads local files only; use {{"path": ...}}'


def _has_digest(path: Path | None, expected: Any, field: str, place: Place) -> bool:
    if not isinstance(expected, str) or not _SHA256.fullmatch(expected):
        place.add(field, "must be 64 lower-case hexadecimal digits")
        return False
    if path is None:
        return False
    try:
        actual = FileText(path).sha256()
    except OSError as error:
        place.add(field, f"the file cannot be read: {error.strerror or error}")
        return False
    if actual != expected:
        place.add(field, f"the file's digest is {actual}, not {expected}")
        return False
    return True
