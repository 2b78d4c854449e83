from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from jobs.counterexample_view import _wrapped, print_counterexample
from jobs.source_excerpt import Source
from workers.counterexample import Counterexample, CounterexampleState


def behaviour(
    *states: dict[str, str], loop_to: int | None = None, stuttering: bool = False
) -> Counterexample:
    made = []
    for index, variables in enumerate(states, start=1):
        before = states[index - 2] if index > 1 else variables
        made.append(
            CounterexampleState(
                index=index,
                action=None
                if index == 1
                else f"Step line {index}, col 1 to line 9, col 9 of module M",
                variables=variables,
                changed=tuple(name for name in variables if variables[name] != before[name]),
            )
        )
    return Counterexample(states=tuple(made), loop_to=loop_to, stuttering=stuttering)


def shown(counterexample: Counterexample, width: int = 60, source: Source | None = None) -> str:
    output = io.StringIO()
    console = Console(file=output, width=width, color_system=None)
    print_counterexample(counterexample, console, {"M": source} if source else {})
    return output.getvalue()


def test_what_a_step_changed_is_marked_with_its_old_value() -> None:
    text = shown(behaviour({"big": "0", "small": "0"}, {"big": "5", "small": "0"}))
    assert text == (
        "Counterexample: 2 states, * marks what a step changed\n"
        "  1  initial state\n"
        "      big   = 0\n"
        "      small = 0\n"
        "  2  Step  (line 2 of module M)\n"
        "    * big   = 5   (was 0)\n"
        "      small = 0\n"
    )


def test_an_action_is_placed_in_the_users_own_file() -> None:
    source = Source.of("answer.md", "prose\n\n---- MODULE M ----", 7)
    assert "2  Step  (answer.md:4)" in shown(behaviour({"x": "0"}, {"x": "1"}), source=source)


def test_wide_states_only_name_what_did_not_change() -> None:
    first = {f"v{number}": "0" for number in range(9)}
    text = shown(behaviour(first, {**first, "v3": "1"}))
    assert "    * v3 = 1   (was 0)\n      8 unchanged: v0, v1, v2, v4" in text


def test_a_step_that_changes_nothing_says_so() -> None:
    wide = {f"v{number}": "0" for number in range(9)}
    assert "9 unchanged" in shown(behaviour(wide, wide))
    assert "no variable changes" in shown(behaviour({"x": "0"}, {"x": "0"}))


def test_a_lasso_tells_where_it_begins_and_what_repeats() -> None:
    text = shown(behaviour({"x": "0"}, {"x": "1"}, {"x": "2"}, loop_to=2))
    assert "2  Step  (line 2 of module M)   <- the loop begins here" in text
    assert "Back to state 2: states 2 to 3 repeat forever" in text


def test_stuttering_is_explained() -> None:
    text = shown(behaviour({"x": "0"}, {"x": "1"}, stuttering=True))
    assert "Stuttering: the behaviour stays in state 2 forever." in text


def test_a_long_behaviour_keeps_its_beginning_and_its_end() -> None:
    text = shown(behaviour(*({"x": str(number)} for number in range(200))))
    assert "  10  Step" in text
    assert "  11  Step" not in text
    assert "150 states left out" in text
    assert "  161  Step" in text
    assert "  200  Step" in text


def test_long_values_are_broken_after_commas_below_their_beginning() -> None:
    value = "(" + " @@\n  ".join(f'p{n} :> [pc |-> "waiting"]' for n in range(4)) + ")"
    text = shown(behaviour({"state": value}), width=60)
    assert (
        '      state = (p0 :> [pc |-> "waiting"] @@\n              p1 :> [pc |-> "waiting"] @@\n'
    ) in text
    assert all(len(line) <= 60 for line in text.split("\n"))


def test_a_gigantic_value_is_cut_and_says_so() -> None:
    text = shown(behaviour({"x": "{" + "1, " * 5000 + "2}"}))
    assert "characters more)" in text
    assert len(text) < 5000


@given(st.text(alphabet='ab,@ "\\{}'), st.integers(20, 40))
def test_wrapping_loses_nothing_but_spaces(text: str, width: int) -> None:
    lines = _wrapped(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(len(line) <= width for line in lines)
