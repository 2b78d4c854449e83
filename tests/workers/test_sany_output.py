import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.runner import ProcessResult
from workers.sany_output import SanyError, SanyErrorKind, SanyReport, read_report

Recorded = Callable[[str, str], ProcessResult]
MakeResult = Callable[..., ProcessResult]
Kind = SanyErrorKind


def report_of(result: ProcessResult) -> SanyReport:
    return read_report(result.stdout, result.stderr)


def summary(errors: tuple[SanyError, ...]) -> list[tuple[str, str | None]]:
    return [(error.kind.value, error.module) for error in errors]


@pytest.mark.parametrize("version", ["2.15", "current"])
@pytest.mark.parametrize("case", ["Accepted", "PlusCalUntranslated"])
def test_an_accepted_module_is_silent_and_processed(
    recorded: Recorded, version: str, case: str
) -> None:
    report = report_of(recorded(version, case))
    assert report.silent
    assert case in report.processed


@pytest.mark.parametrize("version", ["2.15", "current"])
@pytest.mark.parametrize(
    ("case", "kind", "module"),
    [
        ("ParseGrammar", Kind.GRAMMAR, "ParseGrammar"),
        ("ParseTruncated", Kind.GRAMMAR, "ParseTruncated"),
        ("ParseLexical", Kind.LEXICAL, "ParseLexical"),
        ("ParseMissingModule", Kind.MISSING_MODULE, None),
        ("ParseModuleName", Kind.MODULE_NAME, None),
        ("ParseCircular", Kind.OTHER, None),
        ("UsesBrokenBase", Kind.GRAMMAR, "BrokenBase"),
    ],
)
def test_parse_errors_are_told_apart(
    recorded: Recorded, version: str, case: str, kind: SanyErrorKind, module: str | None
) -> None:
    report = report_of(recorded(version, case))
    assert report.parse_errors[0].kind is kind
    if module is not None:
        assert report.parse_errors[0].module == module
    assert not report.semantic_errors
    assert not report.silent


@pytest.mark.parametrize("version", ["2.15", "current"])
@pytest.mark.parametrize(
    ("case", "kind"),
    [
        ("SemanticUnknownOperator", Kind.UNKNOWN_OPERATOR),
        ("SemanticUnknownInfix", Kind.UNKNOWN_OPERATOR),
        ("SemanticArity", Kind.ARITY),
        ("SemanticDuplicate", Kind.DUPLICATE),
        ("SemanticAssumptionLevel", Kind.OTHER),
        ("SemanticSubstitution", Kind.OTHER),
        ("TemporalBoxAction", Kind.TEMPORAL),
        ("TemporalDiamondAction", Kind.TEMPORAL),
        ("TemporalLeadsToAction", Kind.TEMPORAL),
        ("TemporalQuantifierBound", Kind.TEMPORAL),
        ("TemporalEnabled", Kind.TEMPORAL),
        ("UnknownBase", Kind.UNKNOWN_OPERATOR),
    ],
)
def test_semantic_errors_are_told_apart_and_located(
    recorded: Recorded, version: str, case: str, kind: SanyErrorKind
) -> None:
    result = recorded(version, case)
    report = report_of(result)
    assert not report.parse_errors
    first = report.semantic_errors[0]
    assert (first.kind, first.module) == (kind, case)
    log = result.stdout if first.log == "stdout" else result.stderr
    line = log.read_text().split("\n")[first.line - 1]
    assert line.strip() == first.message.split("\n", 1)[0].strip()


@pytest.mark.parametrize("version", ["2.15", "current"])
def test_all_semantic_errors_are_reported_once_each(recorded: Recorded, version: str) -> None:
    report = report_of(recorded(version, "SemanticSeveral"))
    assert sorted(summary(report.semantic_errors)) == [
        ("duplicate", "SemanticSeveral"),
        ("unknown_operator", "SemanticSeveral"),
    ]


@pytest.mark.parametrize("version", ["2.15", "current"])
def test_an_overflown_stack_of_sany_is_recognised(recorded: Recorded, version: str) -> None:
    report = report_of(recorded(version, "ParseTooDeep"))
    assert [error.kind for error in report.parse_errors] == [Kind.STACK]


WARNING = """
Semantic processing of module Clock
Semantic errors:

*** Warnings: 1

line 3, col 1 to line 3, col 5 of module Clock

Unknown operator: `this is a warning'.


"""


def test_a_warning_is_no_error(make_result: MakeResult) -> None:
    report = report_of(make_result(WARNING))
    assert report.silent
    assert report.processed == ("Clock",)


def test_errors_on_either_stream_count(make_result: MakeResult) -> None:
    errors = WARNING.replace("Warnings", "Errors")
    for result in (make_result(errors), make_result("", errors)):
        report = report_of(result)
        assert summary(report.semantic_errors) == [("unknown_operator", "Clock")]
    both = report_of(make_result("", errors))
    assert both.semantic_errors[0].log == "stderr"


def test_java_that_gave_up_is_a_failure(make_result: MakeResult) -> None:
    stderr = 'Exception in thread "main" java.lang.NullPointerException\n'
    report = report_of(make_result("", stderr))
    assert report.failed
    assert not report.silent


@given(st.binary(max_size=300))
def test_no_output_makes_the_reader_fail(data: bytes) -> None:
    read_bytes(data)


@given(
    st.lists(
        st.sampled_from(
            [b"*** Errors: 1", b"*** Warnings: 1", b"***Parse Error***", b"Lexical error at line 1",
             b"line 1, col 1 to line 2, col 2 of module M", b"Unknown location", b"\n", b"\r",
             b"Unknown operator: `x'.", b"Parsing file a.tla", b"Semantic processing of module M",
             b"Fatal errors while parsing TLA+ spec in file x", b'Exception in thread "', b"\xff"]
        ),
        max_size=20,
    ).map(b"\n".join)
)  # fmt: skip
def test_no_mixture_of_lines_makes_the_reader_fail(data: bytes) -> None:
    read_bytes(data)


def read_bytes(data: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        read_report(Path(file.name), Path(file.name))
