from pathlib import Path

import pytest

from workers.extraction import extract_module
from workers.records import ExtractRule, Problem
from workers.staging import (
    ModuleNameError,
    StagedModules,
    UnsupportedByToolsError,
    select_modules,
    unresolved_imports,
)

STANDARD = frozenset({"Naturals", "Sequences", "TLC"})


def module(name: str, *imports: str, body: str = "") -> str:
    extends = f"EXTENDS {', '.join(imports)}\n" if imports else ""
    return f"---- MODULE {name} ----\n{extends}{body}\n====\n"


def problem(reference: str | None = None, **context: str) -> Problem:
    return Problem(id="clock", module="Clock", reference=reference, context=context)


def select(of: Problem, answer: str) -> StagedModules:
    return select_modules(of, extract_module(answer, ExtractRule.ROBUST), STANDARD)


def test_imports_come_transitively_from_the_context_and_nothing_else_is_staged() -> None:
    of = problem(
        Base=module("Base", "Deeper", "Naturals"), Deeper=module("Deeper"), Unused=module("Unused")
    )
    staged = select(of, module("Clock", "Base", "Naturals"))
    assert staged.root == "Clock"
    assert set(staged.candidate) == {"Clock"}
    assert staged.context == {"Base": of.context["Base"], "Deeper": of.context["Deeper"]}
    assert not staged.renamed


def test_an_instance_is_an_import_too() -> None:
    of = problem(Base=module("Base"))
    staged = select(of, module("Clock", body="B(x) == INSTANCE Base WITH y <- x"))
    assert set(staged.context) == {"Base"}


def test_the_context_wins_over_other_modules_of_the_answer() -> None:
    of = problem(Base=module("Base", body="Safe == x < 3"))
    answer = module("Clock", "Base") + module("Base", body="Safe == TRUE")
    staged = select(of, answer)
    assert set(staged.candidate) == {"Clock"}
    assert staged.context["Base"] == of.context["Base"]


def test_a_context_module_never_resolves_to_a_module_of_the_answer() -> None:
    of = problem(Base=module("Base", "Missing"))
    with pytest.raises(UnsupportedByToolsError, match="context module Base imports Missing"):
        select(of, module("Clock", "Base") + module("Missing"))


def test_a_context_module_never_shadows_a_standard_module() -> None:
    of = problem(Naturals=module("Naturals", body="a + b == 0"))
    staged = select(of, module("Clock", "Naturals"))
    assert staged.context == {}


def test_a_module_of_the_answer_never_shadows_a_standard_module() -> None:
    staged = select(problem(), module("Clock", "Naturals") + module("Naturals", body="x == 1"))
    assert set(staged.candidate) == {"Clock"}


def test_other_modules_of_the_answer_are_staged_when_they_are_imported() -> None:
    answer = module("Clock", "Helper") + module("Helper", "Deep") + module("Deep") + module("Idle")
    staged = select(problem(), answer)
    assert set(staged.candidate) == {"Clock", "Helper", "Deep"}


def test_a_module_of_the_answer_can_import_from_the_context() -> None:
    of = problem(Base=module("Base"))
    staged = select(of, module("Clock", "Helper") + module("Helper", "Base"))
    assert set(staged.context) == {"Base"}


def test_nested_modules_need_no_file() -> None:
    answer = "---- MODULE Clock ----\n---- MODULE Inner ----\n====\nI == INSTANCE Inner\n====\n"
    staged = select(problem(), answer)
    assert set(staged.candidate) == {"Clock"}


def test_modules_that_import_each_other_are_staged_once() -> None:
    of = problem(A=module("A", "B"), B=module("B", "A"))
    assert set(select(of, module("Clock", "A")).context) == {"A", "B"}


def test_another_name_is_a_flag() -> None:
    assert select(problem(reference=module("Clock")), module("Watch")).renamed


@pytest.mark.parametrize(
    ("of", "name"),
    [
        (problem(), "Naturals"),
        (problem(Base=module("Base")), "Base"),
        (problem(Base=module("Base", "Clock")), "Watch"),
        (problem(reference=module("MC", "Clock")), "Watch"),
        (problem(Base=module("Base", body="C == INSTANCE Clock")), "Watch"),
    ],
)
def test_a_name_that_clashes_or_that_others_import_is_refused(of: Problem, name: str) -> None:
    with pytest.raises(ModuleNameError, match=f"module {name}"):
        select(of, module(name))


def test_an_unknown_import_is_left_to_sany_to_refuse() -> None:
    staged = select(problem(), module("Clock", "Nowhere"))
    assert set(staged.candidate) == {"Clock"}
    assert staged.context == {}


def test_a_library_that_these_tools_have_needs_no_staging() -> None:
    with_library = select_modules(
        problem(),
        extract_module(module("Clock", "SequencesExt"), ExtractRule.ROBUST),
        STANDARD | {"SequencesExt"},
    )
    assert set(with_library.candidate) == {"Clock"}


def test_a_library_module_in_the_context_is_used() -> None:
    of = problem(SequencesExt=module("SequencesExt"))
    assert set(select(of, module("Clock", "SequencesExt")).context) == {"SequencesExt"}


def test_a_text_without_a_module_cannot_be_staged() -> None:
    with pytest.raises(ValueError, match="without a module"):
        select(problem(), "nothing")


def test_missing_imports_of_a_problem_are_listed() -> None:
    of = problem(
        reference=module("Clock", "Base", "Nowhere", "TLC"),
        Base=module("Base", "Clock", "Elsewhere", "Naturals"),
    )
    assert unresolved_imports(of, STANDARD) == ["Elsewhere", "Nowhere"]


def test_modules_for_xml_keep_the_place_of_every_character(tmp_path: Path) -> None:
    text = 'x == "\x00\ufffe\ud800" \\* \x1b\t\u2028é\U0001f600\r\n'
    staged = StagedModules("Clock", {"Clock": text}, {"Base": "\x01"}, renamed=True).for_xml()
    assert staged.candidate == {"Clock": 'x == "???" \\* ?\t\u2028é\U0001f600\r\n'}
    assert staged.context == {"Base": "?"}
    assert (staged.root, staged.renamed) == ("Clock", True)


def test_files_hold_the_modules_as_they_were_given(tmp_path: Path) -> None:
    text = '---- MODULE Clock ----\r\nx == "\u2028\x00é"\r====\n'
    StagedModules("Clock", {"Clock": text}, {"Base": "b"}, renamed=False).write(tmp_path)
    assert (tmp_path / "Clock.tla").read_bytes() == text.encode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Base.tla", "Clock.tla"]


def test_a_context_that_holds_the_module_that_is_asked_for_is_the_problems_fault() -> None:
    with pytest.raises(UnsupportedByToolsError, match="which it asks for"):
        select(problem(Clock=module("Clock")), module("Clock"))
