"""What advice may look at beside the verdict; all of it may be missing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from jobs.definitions import ModuleNames, read_names
from workers.config_file import ConfigFile
from workers.counterexample import Counterexample


@dataclass(frozen=True)
class Material:
    """The candidate, what it was checked with, and what TLC found."""

    answer: str | None = None
    """The raw text."""
    module: str | None = None
    """The module that was taken out of it."""
    context: tuple[str, ...] = ()
    """Texts of the modules that the problem provides."""
    config: ConfigFile | None = None
    """The configuration; `None` when there is none, or when it is not at hand."""
    counterexample: Counterexample | None = None

    @cached_property
    def names(self) -> ModuleNames | None:
        """What the module defines and declares."""
        return None if self.module is None else read_names(self.module)

    def names_of_context(self) -> list[ModuleNames]:
        """What the problem's modules define and declare."""
        return [read_names(text) for text in self.context]
