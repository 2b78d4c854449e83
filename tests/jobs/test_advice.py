from __future__ import annotations

import pytest

from jobs.advice import advise
from jobs.advice_material import Material
from workers.config_file import read_config
from workers.counterexample import Counterexample, CounterexampleState
from workers.records import SUBKINDS, Outcome, StateCounts, Verdict


def verdict(kind: str, message: str = "", **fields: object) -> Verdict:
    name, _, sub = kind.partition("/")
    outcome = Outcome(name)
    return Verdict.model_validate(
        {
            "attempt": "a",
            "problem": "p",
            "model": "m",
            "regime": "default",
            "sample": 0,
            "outcome": outcome,
            "sub": sub or None,
            "family": outcome.family,
            "message": message,
            "grader_version": "0",
            **fields,
        }
    )


def behaviour(*actions: str | None, **ending: object) -> Counterexample:
    states = tuple(
        CounterexampleState(index=index, action=action, variables={"x": str(index)}, changed=())
        for index, action in enumerate(actions, start=1)
    )
    return Counterexample.model_validate({"states": states, **ending})


def advice(of: Verdict, **material: object) -> str:
    return "\n".join(advise(of, Material(**material)))  # type: ignore[arg-type]


def test_binding_names_what_the_configuration_needs_and_the_module_has() -> None:
    text = advice(
        verdict(
            "config_binding/undefined_name",
            "The invariant TypeOK specified in the configuration file is not defined",
        ),
        config=read_config("SPECIFICATION Spec INVARIANT TypeOK CONSTANT N = 3"),
        module="---- MODULE M ----\nCONSTANT N\nTypeOk == TRUE\nSpec == TRUE\n====\n",
    )
    assert "needs these names: Spec, TypeOK, N." in text
    assert "does not define: TypeOK." in text
    assert "It defines: TypeOk, Spec." in text
    assert "Is TypeOk meant to be TypeOK?" in text


def test_binding_without_the_configuration_still_names_what_tlc_missed() -> None:
    text = advice(
        verdict(
            "config_binding/undefined_name", "The name Spec specified in the configuration file"
        )
    )
    assert text == "The module does not define: Spec."


def test_names_from_the_context_are_not_missing() -> None:
    text = advice(
        verdict(
            "config_binding/undefined_name", "The invariant B specified in the configuration file"
        ),
        config=read_config("INVARIANTS A B"),
        module="C == 1\n",
        context=("A == TRUE\n",),
    )
    assert "does not define: B." in text


def test_an_unassigned_constant_is_named_with_those_that_are_assigned() -> None:
    text = advice(
        verdict(
            "config_binding/unassigned_constant",
            "The constant parameter Patience is not assigned a value by the configuration file.",
        ),
        config=read_config("CONSTANT Guests = {g1}"),
    )
    assert "gives Patience no value" in text
    assert "It assigns Guests." in text


def test_a_violation_names_the_step_that_broke_the_invariant() -> None:
    text = advice(
        verdict("safety_violation", property="Mutex"),
        counterexample=behaviour(None, "Enter(p1) line 3, col 1 to line 4, col 9 of module M"),
    )
    assert "Mutex holds until its last step, Enter(p1), and is false after it" in text


def test_a_violation_in_the_initial_state_blames_the_initial_predicate() -> None:
    text = advice(verdict("safety_violation", property="Mutex"), counterexample=behaviour(None))
    assert text.startswith("The initial predicate allows a state in which Mutex is false")


def test_a_false_assertion_is_no_invariant() -> None:
    text = advice(verdict("safety_violation", "The first argument of Assert evaluated to FALSE"))
    assert text.startswith("An Assert is false")


def test_a_specification_without_fairness_is_told_so() -> None:
    text = advice(
        verdict("liveness_violation", property="Live"),
        module="Spec == Init /\\ [][Next]_vars\n",
        counterexample=behaviour(None, stuttering=True),
    )
    assert "no fairness condition" in text


def test_a_loop_that_is_fair_suggests_strong_fairness() -> None:
    text = advice(
        verdict("liveness_violation", property="Live"),
        module="Spec == Init /\\ [][Next]_vars /\\ WF_vars(Next)\n",
        counterexample=behaviour(None, "A", "B", loop_to=2),
    )
    assert "SF_vars" in text


def test_fairness_is_not_suggested_against_a_broken_step() -> None:
    text = advice(verdict("liveness_violation", property="L"), counterexample=behaviour(None, "A"))
    assert "fairness cannot help" in text


def test_several_properties_are_told_apart_by_the_user() -> None:
    text = advice(
        verdict("liveness_violation"),
        config=read_config("PROPERTIES P Q"),
        counterexample=behaviour(None, stuttering=True),
    )
    assert "which of P, Q failed" in text


def test_deadlock_explains_termination_and_its_switch() -> None:
    text = advice(verdict("deadlock"), config=read_config("INIT I NEXT N"))
    assert "UNCHANGED vars" in text
    assert "CHECK_DEADLOCK FALSE" in text


def test_the_switch_is_not_recommended_where_it_is_set() -> None:
    text = advice(verdict("deadlock"), config=read_config("CHECK_DEADLOCK FALSE"))
    assert "CHECK_DEADLOCK" not in text


def test_a_pass_on_one_state_without_properties_is_put_in_its_place() -> None:
    text = advice(
        verdict("correct", states=StateCounts(distinct=1)), config=read_config("INIT I NEXT N")
    )
    assert "only one reachable state" in text
    assert "no invariant and no property" in text


def test_a_plain_pass_needs_no_advice() -> None:
    passed = verdict("correct", states=StateCounts(distinct=9))
    assert advice(passed, config=read_config("INVARIANT I")) == ""


def test_an_untranslated_algorithm_is_always_mentioned() -> None:
    flagged = verdict("config_binding/no_behaviour_spec", flags=("untranslated_pluscal",))
    assert "PlusCal is not translated" in advice(flagged)


@pytest.mark.parametrize(
    "kind",
    [
        *(f"resource_limit/{sub}" for sub in sorted(SUBKINDS[Outcome.RESOURCE_LIMIT])),
        *(f"infrastructure/{sub}" for sub in sorted(SUBKINDS[Outcome.INFRASTRUCTURE])),
        "assumption_failure",
        "forbidden_operator",
    ],
)
def test_every_limit_and_fault_has_a_way_out(kind: str) -> None:
    assert advice(verdict(kind))


def test_a_parser_that_takes_too_long_is_no_large_state_space() -> None:
    text = advice(verdict("resource_limit/wall", "SANY ran into the wall limit"))
    assert "parser" in text
    assert "state space" not in text
