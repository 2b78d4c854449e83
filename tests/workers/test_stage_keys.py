from typing import Any

import pytest

from workers import stage_keys
from workers.records import (
    Attempt,
    ExtractRule,
    GradingSettings,
    IoOperators,
    Problem,
    Quota,
    QuotaChange,
    Toolchain,
    Usage,
)
from workers.stage_keys import check_key, parse_key

PROBLEM = Problem(
    id="clock",
    module="Clock",
    reference="---- MODULE Clock ----\n====\n",
    config="SPECIFICATION Spec\n",
    context={"Base": "---- MODULE Base ----\n====\n", "Other": "---- MODULE Other ----\n====\n"},
    labels={"tier": 1},
)
ATTEMPT = Attempt(id="clock/m/default/0", problem="clock", model="m", text="x")
SETTINGS = GradingSettings()
TOOLS = Toolchain(tla2tools_sha256="a" * 64, tla2tools_version="2.15", java_version="25")


def keys(
    problem: Problem = PROBLEM,
    attempt: Attempt = ATTEMPT,
    settings: GradingSettings = SETTINGS,
    tools: Toolchain = TOOLS,
) -> tuple[str, str]:
    arguments = (problem, attempt, settings, tools)
    return parse_key(*arguments), check_key(*arguments)


def changed(other: tuple[str, str]) -> tuple[bool, bool]:
    return keys()[0] != other[0], keys()[1] != other[1]


@pytest.mark.parametrize(
    ("field", "value", "parse", "check"),
    [
        ("module", "Watch", True, True),
        ("reference", None, True, True),
        ("context", {}, True, True),
        ("context", {**PROBLEM.context, "Base": "---- MODULE Base ----\n\n====\n"}, True, True),
        ("context", dict(reversed(PROBLEM.context.items())), False, False),
        ("config", "SPECIFICATION Spec", False, True),
        ("config", None, False, True),
        ("id", "watch", False, False),
        ("labels", {"tier": 2, "fixture": True}, False, False),
        ("mapping", "hour <- h", False, False),
    ],
)
def test_what_a_stage_reads_of_the_problem_changes_its_key(
    field: str, value: Any, parse: bool, check: bool
) -> None:
    other = PROBLEM.model_copy(update={field: value})
    assert changed(keys(problem=other)) == (parse, check)


@pytest.mark.parametrize(
    ("field", "value", "changes"),
    [
        ("text", "y", True),
        ("text", "x\n", True),
        ("valid_utf8", False, True),
        ("id", "another", False),
        ("problem", "another", False),
        ("model", "another", False),
        ("regime", "config-aware", False),
        ("sample", 3, False),
        ("usage", Usage(cost_usd=1.0), False),
    ],
)
def test_who_made_an_attempt_changes_no_key(field: str, value: Any, changes: bool) -> None:
    other = ATTEMPT.model_copy(update={field: value})
    assert changed(keys(attempt=other)) == (changes, changes)


@pytest.mark.parametrize(
    ("field", "value", "parse", "check"),
    [
        ("extract", ExtractRule.PUBLISHED, True, True),
        ("stack_bytes", 1024**2, True, True),
        ("seed", 2, False, True),
        ("fp", 3, False, True),
        ("io_operators", IoOperators.ALLOW, False, True),
    ],
)
def test_settings_change_the_keys_of_the_stages_that_they_can_decide(
    field: str, value: Any, parse: bool, check: bool
) -> None:
    other = SETTINGS.model_copy(update={field: value})
    assert changed(keys(settings=other)) == (parse, check)


def test_every_setting_is_covered_here() -> None:
    assert set(GradingSettings.model_fields) == {
        *("quota", "extract", "stack_bytes", "seed", "fp", "io_operators"),
    }


@pytest.mark.parametrize("field", Quota.model_fields)
def test_every_quota_is_part_of_the_stages_that_it_limits(field: str) -> None:
    quota = SETTINGS.quota.model_copy(update={field: getattr(SETTINGS.quota, field) + 1})
    other = SETTINGS.model_copy(update={"quota": quota})
    assert changed(keys(settings=other)) == (field != "wall_seconds", True)


@pytest.mark.parametrize(
    ("field", "value", "changes"),
    [
        ("tla2tools_sha256", "b" * 64, True),
        ("community_modules_sha256", "b" * 64, True),
        ("java_version", "26", True),
        ("tla2tools_version", "2026", False),
        ("flags", ("-Xmx1",), False),
    ],
)
def test_tools_count_by_their_contents(field: str, value: Any, changes: bool) -> None:
    other = TOOLS.model_copy(update={field: value})
    assert changed(keys(tools=other)) == (changes, changes)


def test_new_rules_are_new_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    before = keys()
    monkeypatch.setattr(stage_keys, "RULES_VERSION", stage_keys.RULES_VERSION + 1)
    after = keys()
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_stages_have_different_keys() -> None:
    assert len(set(keys())) == 2


def test_the_quota_of_a_problem_counts_where_it_changes_the_settings() -> None:
    """The keys are of the effective settings; a change that changes nothing is none."""
    change = QuotaChange(wall_seconds=SETTINGS.quota.wall_seconds)
    same = SETTINGS.model_copy(update={"quota": change.applied_to(SETTINGS.quota)})
    other = PROBLEM.model_copy(update={"quota": change})
    assert changed(keys(problem=other, settings=same)) == (False, False)


def test_any_text_has_a_key() -> None:
    texts = ["", "\x00", "\u2028", "\N{GRINNING FACE}", "a" * 1_000_000]
    found = {keys(attempt=ATTEMPT.model_copy(update={"text": text})) for text in texts}
    assert len(found) == len(texts)
