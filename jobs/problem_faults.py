"""Faults of problems that can be seen before anything is graded with the tools at hand.

A configuration that TLC cannot read, a keyword or an imported module that these tools do not
know: the attempts that run into one end as `infrastructure`. Telling before the run saves hours;
it never stops a sweep.

What only a run shows (a reference that fails under the quota, a verdict that changes) is found by
`tlagrid check-problems`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from workers.config_file import ConfigError, UnsupportedKeywordError, read_config
from workers.records import Problem
from workers.staging import unresolved_imports
from workers.toolchain import Tools


@dataclass(frozen=True, slots=True)
class ProblemFault:
    """Why attempts at a problem may stay ungraded here."""

    problem: str
    sub: str
    """The sub-kind of `infrastructure` with which they end."""
    message: str

    def __str__(self) -> str:
        """One line."""
        return f"problem {self.problem}: {self.message}"


def find_problem_faults(problems: Iterable[Problem], tools: Tools) -> list[ProblemFault]:
    """The faults of all problems, in their order."""
    return [fault for problem in problems for fault in _faults(problem, tools)]


def _faults(problem: Problem, tools: Tools) -> Iterator[ProblemFault]:
    if problem.config is not None:
        try:
            read_config(problem.config).translated_for(tools.config_keywords)
        except ConfigError as error:
            yield ProblemFault(
                problem.id, "unreadable_config", f"TLC cannot read the config: {error}"
            )
        except UnsupportedKeywordError as error:
            yield ProblemFault(problem.id, "toolchain_unsupported", f"config, {error}")
    if missing := unresolved_imports(problem, tools.standard_modules):
        modules = "module" if len(missing) == 1 else "modules"
        yield ProblemFault(
            problem.id,
            "toolchain_unsupported",
            f"imports {modules} {', '.join(missing)}, which neither its context nor the tools "
            "provide",
        )
