from __future__ import annotations

import pytest

from jobs.problem_faults import find_problem_faults
from workers.records import Problem
from workers.toolchain import Tools, find_tools


@pytest.fixture(scope="module")
def tools() -> Tools:
    return find_tools()


def problem(**fields: object) -> Problem:
    return Problem.model_validate({"id": "p", "module": "M", **fields})


def test_a_sound_problem_has_no_faults(tools: Tools) -> None:
    sound = problem(
        config="SPECIFICATION Spec\nINVARIANT TypeOK\n",
        reference="---- MODULE M ----\nEXTENDS Naturals, Sequences, Own\n====\n",
        context={"Own": "---- MODULE Own ----\nEXTENDS TLC\n====\n"},
    )
    assert find_problem_faults([sound, problem()], tools) == []


def test_an_unreadable_config_gives_its_line(tools: Tools) -> None:
    (fault,) = find_problem_faults([problem(config="INIT Init\nNEXT\n")], tools)
    assert (fault.problem, fault.sub) == ("p", "unreadable_config")
    assert str(fault).startswith("problem p: TLC cannot read the config: line 2")


def test_a_keyword_that_these_tools_lack_is_told(tools: Tools) -> None:
    lacking = tools.config_keywords - {"SYMMETRY"}
    old = Tools(
        java=tools.java,
        tla2tools=tools.tla2tools,
        community_modules=None,
        fingerprint=tools.fingerprint,
        config_keywords=lacking,
        standard_modules=tools.standard_modules,
        knows_generate_spec_te=False,
    )
    (fault,) = find_problem_faults([problem(config="INIT Init\nSYMMETRY Perms\n")], old)
    assert fault.sub == "toolchain_unsupported"
    assert "line 2: this TLC does not know the keyword SYMMETRY" in fault.message


def test_modules_that_nothing_provides_are_named(tools: Tools) -> None:
    reference = "---- MODULE M ----\nEXTENDS Naturals, Nowhere, Elsewhere\n====\n"
    (fault,) = find_problem_faults([problem(reference=reference)], tools)
    assert fault.sub == "toolchain_unsupported"
    assert "imports modules Elsewhere, Nowhere" in fault.message
