import json
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workers.counterexample import Counterexample, read_counterexample
from workers.runner import ProcessResult
from workers.tool_mode import parse_transcript, read_transcript

Recorded = Callable[[str, str], ProcessResult]
FRAME = "@!@!@"


def message(code: int, text: str, severity: int = 4) -> str:
    return f"{FRAME}STARTMSG {code}:{severity} {FRAME}\n{text}\n{FRAME}ENDMSG {code} {FRAME}\n"


def read(log: str) -> Counterexample | None:
    return read_counterexample(parse_transcript(log.encode().splitlines(keepends=True)))


def states_of(log: str) -> list[dict[str, str]]:
    found = read(log)
    assert found is not None
    return [state.variables for state in found.states]


def test_a_run_without_a_behaviour_has_no_counterexample() -> None:
    assert read(message(2193, "Model checking completed.", 0)) is None


def test_states_are_read_with_their_actions_and_what_changed() -> None:
    found = read(
        message(2217, "1: <Initial predicate>\n/\\ x = 0\n/\\ y = {1,\n  2}\n")
        + message(2217, "2: <Next line 4 of module M>\n/\\ x = 1\n/\\ y = {1,\n  2}\n")
    )
    assert found is not None
    first, second = found.states
    assert (first.index, first.action, first.changed) == (1, None, ())
    assert second.action == "Next line 4 of module M"
    assert second.variables == {"x": "1", "y": "{1,\n  2}"}
    assert second.changed == ("x",)
    assert (found.loop_to, found.stuttering, found.complete) == (None, False, True)


def test_a_single_variable_stands_without_a_conjunction() -> None:
    text = '1: <Initial predicate>\nqueue = [a |-> 1,\n  b = |-> "x = 1"]\n'
    assert states_of(message(2217, text)) == [{"queue": '[a |-> 1,\n  b = |-> "x = 1"]'}]


def test_a_value_can_begin_on_the_line_after_its_name() -> None:
    text = "1: <Initial predicate>\n/\\ x =\n  <<1,\n  2>>\n/\\ y = 1\n"
    assert states_of(message(2217, text)) == [{"x": "<<1,\n  2>>", "y": "1"}]


def test_a_lasso_knows_the_state_that_it_returns_to() -> None:
    states = "".join(message(2217, f"{n}: <A>\nx = {n}") for n in (1, 2, 3))
    found = read(states + message(2122, "2: Back to state: <A line 1 of module M>"))
    assert found is not None
    assert (found.loop_to, found.stuttering) == (2, False)
    assert json.loads(found.as_itf("-"))["loop"] == 1


def test_a_behaviour_that_stutters_loops_in_its_last_state() -> None:
    states = "".join(message(2217, f"{n}: <A>\nx = {n}") for n in (1, 2))
    found = read(states + message(2218, "3: Stuttering"))
    assert found is not None
    assert (found.loop_to, found.stuttering) == (None, True)
    assert json.loads(found.as_itf("-"))["loop"] == 1


def test_only_the_first_of_two_behaviours_is_taken() -> None:
    first = message(2217, "1: <Initial predicate>\nx = 0") + message(2217, "2: <A>\nx = 1")
    second = message(2217, "1: <Initial predicate>\nx = 7") + message(2122, "1: Back to state")
    found = read(first + second)
    assert found is not None
    assert [state.variables["x"] for state in found.states] == ["0", "1"]
    assert found.loop_to is None


def test_a_behaviour_that_was_cut_is_incomplete() -> None:
    cut = f"{FRAME}STARTMSG 2217:4 {FRAME}\n2: <A>\n/\\ x = 1\n"
    found = read(message(2217, "1: <Initial predicate>\nx = 0") + cut)
    assert found is not None
    assert not found.complete
    assert len(found.states) == 2


def test_itf_has_typed_values_and_the_number_of_each_state() -> None:
    found = read(message(2217, '1: <Initial predicate>\n/\\ n = -3\n/\\ s = {"a"}\n/\\ f = TRUE'))
    assert found is not None
    assert json.loads(found.as_itf("why")) == {
        "#meta": {"format": "ITF", "description": "why"},
        "vars": ["n", "s", "f"],
        "states": [{"#meta": {"index": 0}, "n": -3, "s": {"#set": ["a"]}, "f": True}],
    }


def test_a_counterexample_survives_being_written_and_read() -> None:
    found = read(message(2217, "1: <Initial predicate>\nx = 0") + message(2218, "2: Stuttering"))
    assert found is not None
    assert Counterexample.model_validate_json(found.model_dump_json()) == found


@given(
    st.sampled_from([("{", "}"), ("<<", ">>"), ("[a |-> ", "]"), ("(1 :> ", ")")]),
    st.integers(1, 400),
)
@example(("(1 :> ", ")"), 75)
@example(("(1 :> ", ")"), 76)
def test_however_deep_a_value_nests_it_can_be_written(
    brackets: tuple[str, str], depth: int
) -> None:
    value = brackets[0] * depth + "1" + brackets[1] * depth
    found = read(message(2217, f"1: <Initial predicate>\nx = {value}"))
    assert found is not None
    assert json.loads(found.as_itf("-"))["vars"] == ["x"]


@given(st.lists(st.tuples(st.sampled_from([2217, 2218, 2122, 2107, 2108, 2102]), st.text())))
def test_no_text_of_a_message_makes_the_reader_fail(parts: list[tuple[int, str]]) -> None:
    log = "".join(message(code, text) for code, text in parts)
    found = read(log)
    if found is not None:
        found.as_itf("-")


@pytest.mark.parametrize("version", ["2.15", "current"])
def test_values_of_every_kind_are_read_from_a_recorded_run(
    recorded: Recorded, version: str
) -> None:
    found = read_counterexample(read_transcript(recorded(version, "CounterexampleValues").stdout))
    assert found is not None
    assert [state.index for state in found.states] == [1, 2, 3]
    assert found.states[0].changed == ()
    assert set(found.states[1].changed) == {"number", "set", "sequence", "function"}
    states = json.loads(found.as_itf("-"))["states"]
    record = {"a": 1, "b": {"#set": [2]}}
    assert states[0] == {
        "#meta": {"index": 0},
        "number": 0,
        "text": 'a "quoted" \\ line\nbreak',
        "set": {"#set": []},
        "sequence": [],
        "record": record,
        "function": {"#map": [[3, 3], [5, 5]]},
        "wide": [{"name": "a long enough text to wrap", "index": i} for i in range(1, 13)],
        "flag": True,
        "model": "m",
    }
    assert states[2]["sequence"] == [record, record]
    assert states[2]["function"] == {"#map": [[3, [3]], [5, [5]]]}
    members = [{"#set": []}, {"#set": [[1, "x"]]}, {"#set": [[1]]}]
    assert sorted(states[2]["set"]["#set"], key=str) == sorted(members, key=str)


@pytest.mark.parametrize("version", ["2.15", "current"])
@pytest.mark.parametrize(
    ("case", "length", "loop_to", "stuttering"),
    [
        ("InvariantViolated", 3, None, False),
        ("InvariantViolatedInitially", 1, None, False),
        ("Deadlock", 3, None, False),
        ("LivenessStuttering", 2, None, True),
        ("LivenessLasso", 3, 2, False),
        ("RefinementViolatedInitially", 1, None, False),
        ("ActionPropertyViolated", 4, None, False),
        ("CounterexampleDeep", 45, None, False),
    ],
)
def test_behaviours_of_recorded_runs(
    recorded: Recorded, version: str, case: str, length: int, loop_to: int | None, stuttering: bool
) -> None:
    found = read_counterexample(read_transcript(recorded(version, case).stdout))
    assert found is not None
    assert (len(found.states), found.loop_to, found.stuttering) == (length, loop_to, stuttering)
    assert found.complete
    assert all(state.variables for state in found.states)
    found.as_itf("-")


@pytest.mark.parametrize("version", ["2.15", "current"])
@pytest.mark.parametrize("case", ["Correct", "AssumptionFalse", "NoBehaviour", "NoStates"])
def test_recorded_runs_without_a_behaviour(recorded: Recorded, version: str, case: str) -> None:
    assert read_counterexample(read_transcript(recorded(version, case).stdout)) is None
