"""Decide which files SANY and TLC get to see, and write them into a fresh folder.

Staging decides verdicts: a candidate that imports a module passes only when that module lies
beside it, and a candidate that could bring its own version of a context or standard module could
weaken what it is checked against. So the imports of the candidate are resolved here, transitively,
in a fixed order: the candidate's own nested modules, the tools' standard modules, the problem's
context, and last other modules of the same answer. Context modules never resolve to modules of
the answer.

An import that stays unresolved is left to SANY, which looks at the candidate's own text first; only
one that stands in a context module is the problem's fault, whatever the candidate holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from workers.extraction import ExtractedModule
from workers.module_text import imports_of
from workers.records import Problem

_OUTSIDE_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that an XML document cannot hold, not even escaped (XML 1.0, section 2.2)."""


@dataclass(frozen=True, slots=True)
class StagedModules:
    """The modules to write, by name, and who wrote each."""

    root: str
    """The candidate's module, where SANY starts."""
    candidate: Mapping[str, str]
    """The candidate's module and those modules of its answer that it imports."""
    context: Mapping[str, str]
    renamed: bool

    def write(self, folder: Path) -> None:
        """Write every module as `<name>.tla` into an empty folder."""
        for name, text in {**self.candidate, **self.context}.items():
            path = folder / f"{name}.tla"
            # newline="" keeps the candidate's own line ends.
            with path.open("w", encoding="utf-8", errors="surrogatepass", newline="") as file:
                file.write(text)

    def for_xml(self) -> StagedModules:
        """The same modules with `?` for each character that XML cannot hold.

        SANY accepts such characters in strings and comments only, so the syntax tree keeps its
        names and locations.
        """
        return replace(
            self,
            candidate={name: _OUTSIDE_XML.sub("?", text) for name, text in self.candidate.items()},
            context={name: _OUTSIDE_XML.sub("?", text) for name, text in self.context.items()},
        )


class ModuleNameError(Exception):
    """The candidate's module cannot have this name; the candidate's failure."""


class UnsupportedByToolsError(Exception):
    """The tools or the problem lack a module that grading needs; nobody's failure but ours."""


def select_modules(
    problem: Problem, extracted: ExtractedModule, standard_modules: frozenset[str]
) -> StagedModules:
    """Choose the modules that the candidate is checked with.

    Raises:
        ModuleNameError: the candidate's name clashes with a context or standard module, or
            others import the problem's module by a name that the candidate does not have.
        UnsupportedByToolsError: an import cannot be resolved for a reason that is not the
            candidate's.
    """
    if extracted.name is None:
        raise ValueError("a text without a module cannot be staged")
    name = extracted.name
    _check_name(problem, name, standard_modules)
    candidate = {name: extracted.text}
    context: dict[str, str] = {}
    pending = [(name, imported) for imported in imports_of(extracted.text)]
    while pending:
        importer, imported = pending.pop()
        if imported in candidate or imported in context or imported in standard_modules:
            continue
        if imported in problem.context:
            text = context[imported] = problem.context[imported]
        elif importer in candidate and imported in extracted.companions:
            text = candidate[imported] = extracted.companions[imported]
        else:
            if importer in context:
                raise UnsupportedByToolsError(
                    f"context module {importer} imports {imported}, which neither the problem nor "
                    "the tools provide"
                )
            continue  # SANY says that it is missing
        pending.extend((imported, further) for further in imports_of(text))
    return StagedModules(name, candidate, context, renamed=name != problem.module)


def unresolved_imports(problem: Problem, standard_modules: frozenset[str]) -> list[str]:
    """Modules that the problem's reference or context imports and that nothing provides."""
    texts = [*problem.context.values(), *([problem.reference] if problem.reference else [])]
    provided = standard_modules | problem.context.keys() | {problem.module}
    missing = {name for text in texts for name in imports_of(text)} - provided
    return sorted(missing)


def _check_name(problem: Problem, name: str, standard_modules: frozenset[str]) -> None:
    if name in standard_modules:
        raise ModuleNameError(f"module {name} has the name of a standard module")
    if name in problem.context:
        if name == problem.module:
            raise UnsupportedByToolsError(
                f"the problem's context holds module {name}, which it asks for"
            )
        raise ModuleNameError(f"module {name} has the name of a module that the problem provides")
    if name == problem.module:
        return
    others = [*problem.context.values(), *([problem.reference] if problem.reference else [])]
    if any(problem.module in imports_of(text) for text in others):
        raise ModuleNameError(
            f"module {name} should be called {problem.module}: other modules import it by that name"
        )
