"""Where modules begin and end in a text, and which modules they import.

SANY decides whether a module is well formed; this scanner only answers what must be known
before SANY can run: which span of a text is a module, what it is called, and which names
follow EXTENDS and INSTANCE. It follows SANY's lexer where that matters: text before the first
header is ignored whatever it holds, a header needs four dashes on each side, block comments
nest, and a module inside a module ends before the outer one does.

Left out: everything else of the grammar. A text that SANY will reject may be split
differently from how a person would split it, which is harmless, because SANY rejects it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_NAME = r"[0-9_]*[A-Za-z][0-9A-Za-z_]*"
_HEADER = r"(?<!-)-{4,}[ \t]*MODULE[ \t\r\n]+(?P<name>" + _NAME + r")[ \t\r\n]*-{4}"
HEADER = re.compile(_HEADER)
_LINE_HEADER = re.compile(r"^[ \t]*+" + _HEADER, re.MULTILINE)
"""A module header; names may start with a digit but hold at least one letter.

Candidates are hostile: every pattern here takes linear time on any text.
"""

_TOKEN = re.compile(
    r"(?P<header>" + _HEADER + r")"
    r"|(?P<end>={4,})"
    r"|(?P<block>\(\*)"
    r"|(?P<line>\\\*[^\n]*)"
    r'|(?P<string>"(?:[^"\\\n]++|\\.)*+"?)'
    r"|(?P<fence>^[ \t]*```)"
    r"|(?P<word>[A-Za-z0-9_]++)"
    r"|(?P<punctuation>[,!]|==)",
    re.MULTILINE,
)
_EXTENDS_LIST = "EXTENDS, after a name"
"""Scanner state in which only a comma continues the list of extended modules."""

_SKIPPED = re.compile(r'\\\*[^\n]*|"(?:[^"\\\n]++|\\.)*+"?|\(\*')
_BLOCK_EDGE = re.compile(r"\(\*|\*\)")
_PLUSCAL = re.compile(r"--(?:fair[ \t]+)?algorithm\b")
_TRANSLATION = re.compile(r"^[ \t]*\\\*+[ \t]*BEGIN TRANSLATION\b", re.MULTILINE)


@dataclass(slots=True)
class ModuleSpan:
    """One module found in a text; offsets are in characters."""

    name: str
    start: int
    end: int | None = None
    """Offset after the closing `====`; `None` when the text ends first."""
    imports: list[str] = field(default_factory=list)
    """Names after EXTENDS and INSTANCE in the module's own body, in order, each once."""
    nested: list[ModuleSpan] = field(default_factory=list)

    def imported_names(self) -> list[str]:
        """Names that this module and its nested ones import from outside, in order, each once."""
        modules = [self]
        for module in modules:
            modules.extend(module.nested)
        own = {module.name for module in modules[1:]}
        names = dict.fromkeys(name for module in modules for name in module.imports)
        return [name for name in names if name not in own]


def scan_module(text: str, start: int, *, fenced: bool = False) -> ModuleSpan:
    """The module whose header begins at or after `start`, with its nested modules.

    Args:
        text: the whole text.
        start: offset of the header, in characters.
        fenced: whether a line that starts a Markdown fence ends the text.

    Raises:
        ValueError: there is no header at or after `start`.
    """
    first = HEADER.search(text, start)
    if first is None:
        raise ValueError("no module header")
    root = ModuleSpan(first["name"], first.start())
    open_modules = [root]
    importing = ""
    position = first.end()
    while match := _TOKEN.search(text, position):
        position = match.end()
        kind, token = match.lastgroup, match.group()
        current = open_modules[-1]
        if kind == "block":
            position = end_of_block_comment(text, position) or len(text)
        elif kind == "fence" and fenced:
            break
        elif kind == "header":
            inner = ModuleSpan(match["name"], match.start())
            current.nested.append(inner)
            open_modules.append(inner)
            importing = ""
        elif kind == "end":
            current.end = position
            open_modules.pop()
            importing = ""
            if not open_modules:
                break
        elif kind == "word":
            importing = _read_word(token, importing, current)
        elif kind == "punctuation":
            importing = "EXTENDS" if importing == _EXTENDS_LIST and token == "," else ""
    return root


def first_header(text: str, start: int) -> re.Match[str] | None:
    """The header of the first module at or after `start`.

    One that begins a line is preferred: prose and comments quote headers in the middle of one.
    """
    at_line_start = _LINE_HEADER.search(text, start)
    return HEADER.search(text, start if at_line_start is None else at_line_start.start())


def find_modules(text: str) -> list[ModuleSpan]:
    """All top-level modules of a text, in order; prose between them is skipped."""
    found: list[ModuleSpan] = []
    position = 0
    while HEADER.search(text, position):
        module = scan_module(text, position)
        found.append(module)
        if module.end is None:
            break
        position = module.end
    return found


def imports_of(text: str) -> list[str]:
    """Names that the first module of a text imports, in order, each once; none without one."""
    if HEADER.search(text) is None:
        return []
    return scan_module(text, 0).imported_names()


def module_name_of(text: str) -> str | None:
    """The name in the first module header of a text, or `None`."""
    header = HEADER.search(text)
    return header["name"] if header else None


def has_untranslated_pluscal(module: str) -> bool:
    """Whether a module holds a PlusCal algorithm and no translation of it."""
    return bool(_PLUSCAL.search(module)) and not _TRANSLATION.search(module)


def without_comments(text: str) -> str:
    """The text with comments and strings blanked; lines and columns stay what they are."""
    parts: list[str] = []
    position = 0
    while match := _SKIPPED.search(text, position):
        end = match.end()
        if match.group() == "(*":
            end = end_of_block_comment(text, end) or len(text)
        parts += [text[position : match.start()], _blank(text[match.start() : end])]
        position = end
    return "".join([*parts, text[position:]])


def end_of_block_comment(text: str, position: int) -> int | None:
    """Offset after the comment whose opening `(*` ends at `position`; `None` if it never ends."""
    depth = 1
    while depth:
        edge = _BLOCK_EDGE.search(text, position)
        if edge is None:
            return None
        depth += 1 if edge.group() == "(*" else -1
        position = edge.end()
    return position


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _read_word(word: str, importing: str, module: ModuleSpan) -> str:
    """Record an imported name; returns the keyword that the next word belongs to."""
    if word in {"EXTENDS", "INSTANCE"}:
        return word
    if importing in {"EXTENDS", "INSTANCE"}:
        if word not in module.imports:
            module.imports.append(word)
        return _EXTENDS_LIST if importing == "EXTENDS" else ""
    return ""
