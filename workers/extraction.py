"""Find the module in what a model returned.

A model's answer is prose, Markdown fences, a reasoning part, sometimes several modules, sometimes
half a module because the output was cut. The rule here is the one a person would apply: skip the
reasoning, take the first module that the answer presents, from its header to its closing line,
and keep the other modules of the answer aside in case the first one imports them. Nothing inside
the module is changed.

The released grader's rule (`published`) is kept for comparison: the first span from a header to
the next run of four equals signs, or else the whole text. It knows neither comments nor nested
modules nor reasoning parts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from workers.module_text import HEADER, find_modules, first_header, scan_module
from workers.records import Extraction, ExtractRule

_PUBLISHED_START = re.compile(r"(?<!-)-{4,}\s*MODULE\s")
_PUBLISHED_END = re.compile(r"={4,}")
_REASONING_OPEN = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_REASONING_CLOSE = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*```", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ExtractedModule:
    """The candidate's module, and the other modules that its answer holds."""

    name: str | None
    """`None` when the answer has no module header."""
    text: str
    companions: dict[str, str]
    """Modules that follow the first one, by name; the first of a name wins."""
    record: Extraction


def extract_module(raw: str, rule: ExtractRule) -> ExtractedModule:
    """Take the candidate's module out of a model's raw answer."""
    if rule is ExtractRule.PUBLISHED:
        return _extract_published(raw)
    start = _end_of_reasoning(raw)
    header = first_header(raw, start)
    if header is None:
        return _without_module(raw, rule)
    fence_end = _end_of_fence(raw, header.start())
    module = scan_module(raw, header.start(), fenced=fence_end is not None)
    end = module.end
    if end is None:
        end = fence_end if fence_end is not None else len(raw)
    companions: dict[str, str] = {}
    for other in find_modules(raw[end:]):
        if other.end is not None:
            companions.setdefault(other.name, raw[end + other.start : end + other.end] + "\n")
    return ExtractedModule(
        name=module.name,
        text=_with_final_newline(raw[module.start : end]),
        companions=companions,
        record=Extraction(
            rule=rule,
            module=module.name,
            start=module.start,
            end=end,
            length=len(raw),
            fenced=fence_end is not None,
        ),
    )


def _extract_published(raw: str) -> ExtractedModule:
    rule = ExtractRule.PUBLISHED
    opening = _PUBLISHED_START.search(raw)
    closing = _PUBLISHED_END.search(raw, opening.end()) if opening else None
    start, end = (opening.start(), closing.end()) if opening and closing else (0, len(raw))
    header = HEADER.search(raw, start)
    if header is None:
        return _without_module(raw, rule)
    name = header["name"]
    return ExtractedModule(
        name=name,
        text=_with_final_newline(raw[start:end]),
        companions={},
        record=Extraction(rule=rule, module=name, start=start, end=end, length=len(raw)),
    )


def _without_module(raw: str, rule: ExtractRule) -> ExtractedModule:
    record = Extraction(rule=rule, length=len(raw))
    return ExtractedModule(name=None, text="", companions={}, record=record)


def _end_of_reasoning(raw: str) -> int:
    """Offset where the answer begins: after the reasoning that comes before any answer.

    A reasoning part that is never closed means that the output was cut before the answer. Some
    chat templates put the opening tag into the prompt, so a closing tag alone counts too. Tags
    inside the module, as in a string or comment, come after its header and are left alone.
    """
    position = 0
    header = HEADER.search(raw)
    while True:
        opening = _REASONING_OPEN.search(raw, position)
        if header is not None and header.start() < position:
            header = HEADER.search(raw, position)
        if opening is None or (header is not None and header.start() < opening.start()):
            break
        closing = _REASONING_CLOSE.search(raw, opening.end())
        if closing is None:
            return len(raw)
        position = closing.end()
    if position == 0:
        closing = _REASONING_CLOSE.search(raw)
        if closing is not None and HEADER.search(raw, closing.end()):
            return closing.end()
    return position


def _end_of_fence(raw: str, header: int) -> int | None:
    """Offset where the fenced block around a header ends; `None` when no fence is open there."""
    fences_before = sum(1 for _ in _FENCE.finditer(raw, 0, header))
    if fences_before % 2 == 0:
        return None
    closing = _FENCE.search(raw, header)
    return closing.start() if closing else len(raw)


def _with_final_newline(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"
