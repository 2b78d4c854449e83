from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.limits import Limits

LIMITS = Limits(
    wall_seconds=60,
    cpu_seconds=60,
    memory_bytes=1 << 30,
    processes=100,
    scratch_bytes=1 << 20,
    output_bytes=1 << 20,
)
NAMES = [field.name for field in fields(Limits)]


@given(name=st.sampled_from(NAMES), value=st.integers(max_value=0))
def test_a_limit_that_is_not_positive_is_refused_by_its_name(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"limit {name} is {value}; it must be above 0"):
        replace(LIMITS, **{name: value})


@given(name=st.sampled_from(NAMES), value=st.integers(min_value=1))
def test_any_positive_limit_is_accepted(name: str, value: int) -> None:
    assert getattr(replace(LIMITS, **{name: value}), name) == value


@pytest.mark.parametrize("name", ["wall_seconds", "cpu_seconds"])
def test_times_need_not_be_whole_but_must_be_numbers(name: str) -> None:
    shortest: dict[str, Any] = {name: 0.001}
    assert getattr(replace(LIMITS, **shortest), name) == 0.001
    with pytest.raises(ValueError, match=f"limit {name} is nan"):
        replace(LIMITS, **(shortest | {name: float("nan")}))
