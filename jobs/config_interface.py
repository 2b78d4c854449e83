"""The names that a model-checking configuration needs from a module.

A model that is not told these names has to guess them, and a wrong guess ends as a binding
failure. The configuration alone says them: this is what prompts of the config-aware regime give.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from jobs.definitions import ModuleNames
from jobs.standard_operators import STANDARD_MODULES, module_of
from workers.config_file import ConfigFile, ConstantAssignment

ROLES: tuple[tuple[str, str], ...] = (
    ("SPECIFICATION", "behaviour specification"),
    ("INIT", "initial predicate"),
    ("NEXT", "next-state action"),
    ("INVARIANT", "invariants"),
    ("PROPERTY", "temporal properties"),
    ("CONSTRAINT", "state constraints"),
    ("ACTION_CONSTRAINT", "action constraints"),
    ("VIEW", "view"),
    ("SYMMETRY", "symmetry set"),
    ("ALIAS", "alias"),
    ("POSTCONDITION", "postconditions"),
)
"""Keywords whose names a module has to define, and what such a name is."""


@dataclass(frozen=True, slots=True)
class ConfigInterface:
    """What a module must define or declare for a configuration."""

    defined: tuple[tuple[str, tuple[str, ...]], ...]
    """Keyword, and the names to define under it, in the order of `ROLES`."""
    constants: tuple[ConstantAssignment, ...]
    """Constants that get a value, to be declared."""
    replacements: tuple[ConstantAssignment, ...]
    """Names that are replaced by definitions, which the module has to contain."""
    deadlock_checked: bool

    def names(self) -> tuple[str, ...]:
        """Every name that must be found in the module, each once, in a fixed order."""
        names = [name for _, group in self.defined for name in group]
        names += [each.name for each in self.constants if each.module is None]
        for each in self.replacements:
            names += [each.value] if each.module else [each.name, each.value]
        return tuple(dict.fromkeys(names))

    def missing_from(self, modules: Iterable[ModuleNames]) -> tuple[str, ...]:
        """Names that none of these modules and no standard module has."""
        known = list(modules)
        return tuple(
            name
            for name in self.names()
            if module_of(name) is None and not any(name in module for module in known)
        )

    def as_prompt(self, module: str | None) -> str:
        """Text for a prompt: what the module must define."""
        what = f"Module `{module}`" if module else "The module"
        lines = [f"{what} must define these names, exactly as written here:"]
        lines += [
            f"- {dict(ROLES)[keyword]} ({keyword}): {_quoted(names)}"
            for keyword, names in self.defined
        ]
        lines += [_constant_line(each) for each in self.constants]
        lines += [_replacement_line(each) for each in self.replacements]
        if len(lines) == 1:
            return f"The configuration needs no names from {what[0].lower()}{what[1:]}."
        return "\n".join(lines)


def interface_of(config: ConfigFile) -> ConfigInterface:
    """The names that a configuration needs."""
    groups = ((keyword, tuple(dict.fromkeys(config.names(keyword)))) for keyword, _ in ROLES)
    return ConfigInterface(
        defined=tuple((keyword, names) for keyword, names in groups if names),
        constants=tuple(each for each in config.constants if not each.replaced),
        replacements=tuple(each for each in config.constants if each.replaced),
        deadlock_checked=config.names("CHECK_DEADLOCK") != ("FALSE",),
    )


def _constant_line(constant: ConstantAssignment) -> str:
    where = f" of module `{constant.module}`" if constant.module else ""
    return f"- constant (CONSTANT): `{constant.name}`{where}, set to `{_tidy(constant.value)}`"


def _replacement_line(constant: ConstantAssignment) -> str:
    where = f" of module `{constant.module}`" if constant.module else ""
    home = module_of(constant.name)
    if home in STANDARD_MODULES:
        return f"- definition: `{constant.value}`, which replaces `{constant.name}` of {home}"
    also = "" if where else f"; declare or define `{constant.name}` too"
    return f"- definition: `{constant.value}`, which replaces `{constant.name}`{where}{also}"


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _tidy(value: str) -> str:
    """A value, which is tokens with spaces between, as a person would write it."""
    return re.sub(r"\{ | \}| (?=,)", lambda match: match.group().strip(), value)
