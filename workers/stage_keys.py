"""One key per stage: the digest of everything that the stage's decision depends on.

Two attempts with the same key would be decided alike, whoever made them; so the key serves cache
and idempotence. Inputs are what the stage reads, the settings that can change a decision and the
tools' contents. Regime, labels, garbage-collector and JIT flags, and tlagrid's own version stay
outside; `RULES_VERSION` is raised when our decisions change.
"""

from __future__ import annotations

import hashlib

import orjson

from workers.records import Attempt, GradingSettings, Problem, Toolchain

RULES_VERSION = 1


def parse_key(
    problem: Problem, attempt: Attempt, settings: GradingSettings, tools: Toolchain
) -> str:
    """Key of the parse gate: text, names, context, and what SANY runs under."""
    quota = settings.quota
    return _digest(
        {
            "stage": "parse",
            "rules": RULES_VERSION,
            "text": attempt.text,
            "valid_utf8": attempt.valid_utf8,
            "module": problem.module,
            "reference": problem.reference,
            "context": problem.context,
            "extract": settings.extract,
            "stack_bytes": settings.stack_bytes,
            "quota": quota.model_dump(exclude={"wall_seconds"}),
            "tools": _tools(tools),
        }
    )


def check_key(
    problem: Problem, attempt: Attempt, settings: GradingSettings, tools: Toolchain
) -> str:
    """Key of the check gate: everything of the parse gate, the configuration, and TLC's pins."""
    return _digest(
        {
            "stage": "check",
            "parse": parse_key(problem, attempt, settings, tools),
            "config": problem.config,
            "wall_seconds": settings.quota.wall_seconds,
            "seed": settings.seed,
            "fp": settings.fp,
            "workers": 1,
            "io_operators": settings.io_operators,
        }
    )


def _tools(tools: Toolchain) -> dict[str, str | None]:
    return {
        "tla2tools": tools.tla2tools_sha256,
        "community_modules": tools.community_modules_sha256,
        "java": tools.java_version,
    }


def _digest(parts: dict[str, object]) -> str:
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()
