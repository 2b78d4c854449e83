"""Everything about one graded attempt that can be shown: its verdict, its evidence, its inputs.

`tlagrid grade` has all of it; `tlagrid trace` has what the store keeps, which is no
context, and the configuration only as TLC read it. Views take an exhibit and show what is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from jobs.advice import advise
from jobs.advice_material import Material
from jobs.definitions import read_names
from jobs.log_excerpt import Location, LogExcerpt, excerpt_log
from jobs.source_excerpt import Source
from workers.config_file import ConfigError, ConfigFile, read_config
from workers.counterexample import Counterexample
from workers.records import SCHEMA_VERSION, Outcome, Verdict

ANSWER = "answer.txt"
MODULE = "module.tla"
CONFIG = "config.cfg"
COUNTEREXAMPLE = "counterexample.json"
ITF = "counterexample.itf.json"


@dataclass(frozen=True)
class Exhibit:
    """One graded attempt."""

    verdict: Verdict
    evidence: Mapping[str, bytes]
    """By name, as `workers.evidence` names it."""
    answer_label: str
    """How a person knows the answer: its file's name."""
    config: str | None = None
    context: Mapping[str, str] = field(default_factory=dict)
    """Modules that the problem provides, by name."""

    @cached_property
    def counterexample(self) -> Counterexample | None:
        """The behaviour that TLC found."""
        content = self.evidence.get(COUNTEREXAMPLE)
        try:
            return None if content is None else Counterexample.model_validate_json(content)
        except ValidationError:
            return None  # written by a version that knows more; its ITF file is still there

    @cached_property
    def log_excerpt(self) -> LogExcerpt | None:
        """The deciding part of a log."""
        decided_by = self.verdict.decided_by
        return None if decided_by is None else excerpt_log(decided_by, self.evidence)

    @cached_property
    def sources(self) -> dict[str, Source]:
        """The texts that locations can be shown in, by module."""
        sources = {name: Source.of(f"{name}.tla", text) for name, text in self.context.items()}
        extraction, answer = self.verdict.extraction, self._text(ANSWER)
        if extraction is not None and extraction.module is not None and answer is not None:
            sources[extraction.module] = Source.of(self.answer_label, answer, extraction.start)
        return sources

    @cached_property
    def error_location(self) -> Location | None:
        """The place in a module that the deciding message names, if its text is at hand."""
        excerpt = self.log_excerpt
        if excerpt is None or self.verdict.outcome in {Outcome.CORRECT, Outcome.PARSED}:
            return None
        known = (each for each in excerpt.locations if each.module in self.sources)
        return next(known, None)

    @cached_property
    def property_location(self) -> Location | None:
        """Where the violated property is defined, when that is in a text at hand."""
        name = self.verdict.property
        for module, text in self._module_texts() if name else ():
            definition = read_names(text).definitions.get(str(name))
            if definition is not None:
                return Location(module, definition.line, 1, definition.end_line, None)
        return None

    @cached_property
    def advice(self) -> tuple[str, ...]:
        """What to try next."""
        material = Material(
            answer=self._text(ANSWER),
            module=self._text(MODULE),
            context=tuple(self.context.values()),
            config=self._config(),
            counterexample=self.counterexample,
        )
        return advise(self.verdict, material)

    def as_json(self) -> dict[str, Any]:
        """For `--json`: the verdict's record, the counterexample and the advice."""
        behaviour = self.counterexample
        return {
            "schema_version": SCHEMA_VERSION,
            "verdict": self.verdict.model_dump(mode="json"),
            "counterexample": None if behaviour is None else behaviour.model_dump(mode="json"),
            "advice": list(self.advice),
        }

    def _text(self, name: str) -> str | None:
        content = self.evidence.get(name)
        return None if content is None else content.decode("utf-8", errors="replace")

    def _module_texts(self) -> list[tuple[str, str]]:
        extraction, own = self.verdict.extraction, self._text(MODULE)
        texts = list(self.context.items())
        if extraction is not None and extraction.module is not None and own is not None:
            texts.insert(0, (extraction.module, own))
        return texts

    def _config(self) -> ConfigFile | None:
        text = self._text(CONFIG) if self.config is None else self.config
        try:
            return None if text is None else read_config(text)
        except ConfigError:
            return None  # the verdict says so
