from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from workers.records import (
    PROBLEM_FAULTS,
    SUBKINDS,
    Attempt,
    Extraction,
    ExtractRule,
    Family,
    Gates,
    GradingSettings,
    Outcome,
    PaperClass,
    Problem,
    Quota,
    QuotaChange,
    Record,
    Resources,
    StateCounts,
    Toolchain,
    Usage,
    Verdict,
)


def verdict(outcome: Outcome = Outcome.CORRECT, **fields: Any) -> Verdict:
    values: dict[str, Any] = {
        "attempt": "clock/m/default/0",
        "problem": "clock",
        "model": "m",
        "regime": "default",
        "sample": 0,
        "outcome": outcome,
        "family": outcome.family,
        "message": "-",
        "grader_version": "0.1",
    }
    return Verdict.model_validate(values | fields)


def test_every_outcome_belongs_to_one_family() -> None:
    families = {outcome: outcome.family for outcome in Outcome}
    assert [o for o, f in families.items() if f is Family.CORRECT] == ["correct", "parsed"]
    assert [o for o, f in families.items() if f is Family.LIMIT] == ["resource_limit"]
    assert [o for o, f in families.items() if f is Family.INFRASTRUCTURE] == ["infrastructure"]
    assert sum(1 for f in families.values() if f is Family.CANDIDATE) == 10


def test_the_sub_kinds_of_the_taxonomy_exist() -> None:
    assert SUBKINDS[Outcome.PARSE_FAILURE] == {
        *("grammar", "lexical", "missing_module", "module_name", "no_module"),
    }
    assert SUBKINDS[Outcome.SEMANTIC_ERROR] == {"unknown_operator", "arity", "duplicate", "other"}
    assert SUBKINDS[Outcome.CONFIG_BINDING] == {
        *("unassigned_constant", "undefined_name", "no_behaviour_spec"),
    }
    assert SUBKINDS[Outcome.RESOURCE_LIMIT] == {
        *("wall", "cpu", "memory", "output", "scratch", "processes", "set_size", "stack"),
    }
    assert SUBKINDS[Outcome.INFRASTRUCTURE] >= PROBLEM_FAULTS


def test_a_verdict_of_another_family_contradicts_itself() -> None:
    with pytest.raises(ValidationError, match="does not belong to outcome"):
        verdict(family=Family.LIMIT)


@pytest.mark.parametrize(
    ("outcome", "sub"),
    [(Outcome.CORRECT, "grammar"), (Outcome.DEADLOCK, "x"), (Outcome.RESOURCE_LIMIT, "grammar")],
)
def test_a_verdict_has_no_sub_kind_of_another_outcome(outcome: Outcome, sub: str) -> None:
    with pytest.raises(ValidationError, match="has no sub-kind"):
        verdict(outcome, sub=sub)


@pytest.mark.parametrize("outcome", Outcome)
def test_only_infrastructure_that_is_no_fault_of_the_problem_is_tried_again(
    outcome: Outcome,
) -> None:
    for sub in (None, *SUBKINDS.get(outcome, ())):
        expected = outcome is Outcome.INFRASTRUCTURE and sub not in PROBLEM_FAULTS
        assert verdict(outcome, sub=sub).retryable is expected


def test_a_verdict_survives_being_written_and_read() -> None:
    full = verdict(
        Outcome.RESOURCE_LIMIT,
        sub="stack",
        flags=("time_dependent",),
        paper_class=PaperClass.RESOURCE,
        gates=Gates(parsed=True, bound=True, checked=False),
        codes=("1005:1",),
        property="Inv",
        states=StateCounts(generated=3, distinct=2, queue=0, depth=1),
        resources=Resources(cpu_seconds=1.5, measured_by="-"),
        toolchain=Toolchain(tla2tools_sha256="a", tla2tools_version="b", java_version="c"),
        extraction=Extraction(rule=ExtractRule.ROBUST, module="M", end=3, length=4),
        keys={"parse": "0"},
    )
    assert Verdict.model_validate_json(full.model_dump_json()) == full


VERSION_1 = """{"schema_version":1,"attempt":"clock/m/default/0","problem":"clock","model":"m",
"regime":"default","sample":0,"outcome":"safety_violation","sub":null,"flags":["renamed"],
"paper_class":"safety","family":"candidate",
"gates":{"parsed":true,"bound":true,"checked":false},"codes":["2110:1"],
"message":"Invariant Inv is violated.",
"decided_by":{"log":"tlc.stdout","line":33,"text":"Invariant Inv is violated."},
"property":"Inv","states":{"generated":4,"distinct":3,"queue":0,"depth":3},"probes":{},
"units":{},"resources":{"cpu_seconds":2.0,"wall_seconds":1.8,"peak_memory_bytes":150000000,
"measured_by":"proc-sampling+rusage"},"queue_seconds":0.5,
"toolchain":{"tla2tools_sha256":"aa","tla2tools_version":"2.15","community_modules_sha256":null,
"java_version":"25.0.2 Eclipse Adoptium","flags":[]},
"extraction":{"rule":"robust","module":"Clock","start":0,"end":100,"length":120,"fenced":true},
"keys":{"parse":"00","check":"11"},
"traces":[{"name":"tlc.stdout","sha256":"00","pack":"p","offset":0,"length":10,"size":20}],
"node":"n1","cached":false,"grader_version":"0.1.0"}"""


def test_a_verdict_of_schema_version_1_is_read() -> None:
    read = Verdict.model_validate_json(VERSION_1)
    assert read.outcome is Outcome.SAFETY_VIOLATION
    assert read.states.distinct == 3
    assert read.traces[0].size == 20


def test_a_record_of_an_unknown_schema_version_is_refused() -> None:
    with pytest.raises(ValidationError, match="schema_version"):
        Verdict.model_validate_json(VERSION_1.replace('"schema_version":1', '"schema_version":2'))


def test_records_are_immutable_and_know_their_fields() -> None:
    attempt = Attempt(id="a", problem="p", model="m", text="t")
    with pytest.raises(ValidationError, match="frozen"):
        Attempt.__setattr__(attempt, "text", "u")
    with pytest.raises(ValidationError, match="extra"):
        Attempt.model_validate({**attempt.model_dump(), "txet": "t"})


def test_what_is_not_stated_has_its_documented_default() -> None:
    attempt = Attempt(id="a", problem="p", model="m", text="t")
    assert (attempt.regime, attempt.sample, attempt.usage) == ("default", 0, None)
    quota = Quota()
    assert (quota.wall_seconds, quota.parse_wall_seconds, quota.cores) == (300, 60, 1)
    usage = Usage()
    assert all(value is None for value in usage.model_dump().values())
    assert StateCounts().distinct is None


@pytest.mark.parametrize("field", Quota.model_fields)
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "many", None])
def test_a_quota_is_a_positive_finite_number(field: str, value: object) -> None:
    with pytest.raises(ValidationError):
        Quota.model_validate({field: value})


def test_the_heap_lies_below_the_memory_that_covers_it() -> None:
    with pytest.raises(ValidationError, match="must be below memory_bytes"):
        Quota(memory_bytes=2 * 1024**3, heap_bytes=2 * 1024**3)
    with pytest.raises(ValidationError, match="must be below memory_bytes"):
        QuotaChange(memory_bytes=1024**3).applied_to(Quota())


@given(
    st.fixed_dictionaries(
        {}, optional={name: st.integers(1, 100) for name in ("wall_seconds", "cores", "processes")}
    )
)
def test_a_change_of_a_quota_changes_what_it_names(change: dict[str, int]) -> None:
    changed = QuotaChange.model_validate(change).applied_to(Quota())
    assert changed.model_dump() == Quota().model_dump() | change


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        (Problem, {"id": "", "module": "M"}),
        (Problem, {"id": "p", "module": ""}),
        (Problem, {"id": "p", "module": "M", "kind": "proof"}),
        (Problem, {"id": "p", "module": "M", "labels": {"tier": [1]}}),
        (Attempt, {"id": "a", "problem": "p", "model": "", "text": "t"}),
        (Attempt, {"id": "a", "problem": "p", "model": "m", "text": "t", "sample": -1}),
        (Attempt, {"id": "a", "problem": "p", "model": "m", "text": None}),
        (Usage, {"cost_usd": -1}),
        (GradingSettings, {"extract": "guess"}),
    ],
)
def test_a_record_that_makes_no_sense_is_refused(
    record: type[Record], fields: dict[str, object]
) -> None:
    with pytest.raises(ValidationError):
        record.model_validate(fields)


def test_labels_keep_their_types() -> None:
    labels = {"tier": 1, "fixture": True, "difficulty": "hard", "weight": 0.5, "category": None}
    problem = Problem(id="p", module="M", labels=labels)
    assert {name: type(value) for name, value in problem.labels.items()} == {
        name: type(value) for name, value in labels.items()
    }


def test_a_toolchain_is_told_from_another_by_its_contents() -> None:
    one = Toolchain(tla2tools_sha256="a", tla2tools_version="2.15", java_version="25")
    assert one.digest == one.model_copy().digest
    assert one.digest != one.model_copy(update={"tla2tools_sha256": "b"}).digest
