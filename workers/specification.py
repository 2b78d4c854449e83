"""Grade one attempt at a specification: extract, stage, parse, check, decide.

The path is the same for every candidate and the gates are in the order of GRADING-SPECS: strict
SANY before TLC reads the configuration, so that a bad configuration hides no parse failure. What
the candidate cannot be blamed for (an unreadable configuration, a library that the tools lack)
ends as `infrastructure`. Everything the tools ran in is removed; what remains is the verdict and
the evidence that it rests on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.etree.ElementTree import ParseError

from workers.check_gate import decide_check, state_counts
from workers.config_file import (
    ConfigError,
    ConfigFile,
    TranslatedConfig,
    UnsupportedKeywordError,
    read_config,
)
from workers.counterexample import read_counterexample
from workers.decision import Decision, infrastructure_decision, limit_decision, paper_class_of
from workers.evidence import Graded
from workers.extraction import ExtractedModule, extract_module
from workers.io_operators import find_io_uses, io_modules_among
from workers.jvm import (
    export_command,
    java_exhaustion,
    pinned_flags,
    sany_command,
    tlc_command,
)
from workers.module_text import has_untranslated_pluscal, without_comments
from workers.parse_gate import decide_parse
from workers.records import (
    Attempt,
    Gates,
    GradingSettings,
    IoOperators,
    Outcome,
    Problem,
    StateCounts,
    Verdict,
)
from workers.runner import ProcessResult, RunnerError
from workers.sany_output import read_report
from workers.stage_keys import check_key, parse_key
from workers.staging import (
    ModuleNameError,
    StagedModules,
    UnsupportedByToolsError,
    select_modules,
)
from workers.tool_mode import read_transcript
from workers.toolchain import Tools, find_tools
from workers.version import __version__
from workers.workspace import Workspace

_CHANCE = re.compile(
    r"\b(?:RandomElement|RandomSubset|RandomSubsetSet|RandomSetOfSubsets"
    r"|TestRandomSetOfSubsets|JavaTime)\b"
)
"""Operators of TLC and Randomization whose value depends on chance or on the clock."""


@dataclass(slots=True)
class _Grading:
    """What is graded, with what, and how far it came."""

    problem: Problem
    attempt: Attempt
    settings: GradingSettings
    tools: Tools
    workspace: Workspace
    staged: StagedModules | None = None
    loaded_modules: tuple[str, ...] = ()
    """Modules that SANY analysed, libraries included."""
    gates: Gates = field(default_factory=Gates)
    codes: tuple[str, ...] = ()
    states: StateCounts = field(default_factory=StateCounts)


def grade_specification(
    problem: Problem, attempt: Attempt, settings: GradingSettings | None = None
) -> Graded:
    """Grade one attempt in this process, with the tools of this node.

    Args:
        problem: what was asked; its own quota changes the settings' one.
        attempt: the model's raw answer.
        settings: the sweep's settings; defaults apply without them.

    Raises:
        ToolchainError: Java or TLC is missing.
        pydantic.ValidationError: the problem's quota contradicts itself.
    """
    settings = _effective(problem, settings or GradingSettings())
    tools = find_tools()
    extracted = extract_module(attempt.text, settings.extract)
    with Workspace(settings.quota) as workspace:
        grading = _Grading(problem, attempt, settings, tools, workspace)
        try:
            decision = _decide(grading, extracted)
        except RunnerError as error:
            decision = infrastructure_decision(str(error), "node")
        return Graded(_verdict(grading, extracted, decision), tuple(workspace.evidence))


def _decide(grading: _Grading, extracted: ExtractedModule) -> Decision:
    keep = grading.workspace.keep
    keep("answer.txt", grading.attempt.text.encode("utf-8", errors="surrogatepass"))
    if extracted.name is None:
        grading.gates = Gates(parsed=False)
        return _decision(Outcome.PARSE_FAILURE, "the answer holds no module", "no_module")
    keep("module.tla", extracted.text.encode("utf-8", errors="surrogatepass"))
    try:
        staged = select_modules(grading.problem, extracted, grading.tools.standard_modules)
    except ModuleNameError as error:
        grading.gates = Gates(parsed=False)
        return _decision(Outcome.PARSE_FAILURE, str(error), "module_name")
    except UnsupportedByToolsError as error:
        return infrastructure_decision(str(error), "toolchain_unsupported")
    grading.staged = staged
    staged.write(grading.workspace.scratch)
    return _parse(grading, staged) or _check(grading, staged)


def _parse(grading: _Grading, staged: StagedModules) -> Decision | None:
    temporary = grading.workspace.temporary_folder("sany-tmp")
    command = sany_command(grading.tools, grading.settings, staged.root, temporary)
    result = grading.workspace.run("sany", command, grading.settings.quota.parse_wall_seconds)
    report = read_report(result.stdout, result.stderr)
    grading.loaded_modules = report.processed
    decision = decide_parse(report, result, staged)
    undecided = decision is not None and decision.outcome in {
        Outcome.INFRASTRUCTURE,
        Outcome.RESOURCE_LIMIT,
    }
    grading.gates = Gates(parsed=None if undecided else decision is None)
    return decision


def _check(grading: _Grading, staged: StagedModules) -> Decision:
    if grading.problem.config is None:
        return Decision(Outcome.PARSED, "SANY accepts it; the problem has no configuration")
    try:
        config = read_config(grading.problem.config)
        translated = config.translated_for(grading.tools.config_keywords)
    except ConfigError as error:
        message = f"TLC cannot read the configuration: {error}"
        return infrastructure_decision(message, "unreadable_config")
    except UnsupportedKeywordError as error:
        message = f"the problem's configuration, {error}"
        return infrastructure_decision(message, "toolchain_unsupported")
    return _refuse_io_operators(grading, staged) or _run_tlc(grading, staged, config, translated)


def _refuse_io_operators(grading: _Grading, staged: StagedModules) -> Decision | None:
    """Refuse what would reach outside the model checker; `None` when there is no such thing."""
    libraries = io_modules_among(grading.loaded_modules)
    if not libraries or grading.settings.io_operators is IoOperators.ALLOW:
        return None
    temporary = grading.workspace.temporary_folder("export-tmp")
    command = export_command(grading.tools, grading.settings, staged.root, temporary)
    staged.for_xml().write(grading.workspace.scratch)
    # The tree is megabytes of library; the verdict's message names what was found in it.
    result = grading.workspace.run(
        "export", command, grading.settings.quota.parse_wall_seconds, keep_logs=False
    )
    staged.write(grading.workspace.scratch)
    try:
        found = None if result.exit_code != 0 else find_io_uses(result.stdout, libraries)
    except ParseError:
        found = None
    if found is None:
        return _undecided_io_operators(result)
    own = [use for use in found if use.module in staged.candidate]
    if not own:
        return None
    uses = ", ".join(f"{use.operator} (line {use.line} of module {use.module})" for use in own)
    return _decision(Outcome.FORBIDDEN_OPERATOR, f"reaches outside the model checker: {uses}", None)


def _undecided_io_operators(result: ProcessResult) -> Decision:
    """Why there is no syntax tree: a limit that the candidate ran into, or our trouble."""
    reason = result.limit.value if result.limit is not None else java_exhaustion(result.stderr)
    if reason is not None:
        return limit_decision(reason, f"SANY's exporter ran into the {reason} limit")
    return infrastructure_decision(
        f"SANY's syntax tree could not be read (exit code {result.exit_code})"
    )


def _run_tlc(
    grading: _Grading, staged: StagedModules, config: ConfigFile, translated: TranslatedConfig
) -> Decision:
    workspace = grading.workspace
    workspace.keep("config.cfg", translated.text.encode())
    (workspace.scratch / f"{staged.root}.cfg").write_text(translated.text, encoding="utf-8")
    command = tlc_command(
        grading.tools,
        grading.settings,
        staged.root,
        workspace.temporary_folder("tlc-tmp"),
        deadlock_off=translated.deadlock_off,
    )
    result = workspace.run("tlc", command, grading.settings.quota.wall_seconds)
    transcript = read_transcript(result.stdout)
    decision = decide_check(transcript, result, config)
    grading.codes = transcript.codes()
    grading.states = state_counts(transcript)
    if decision.outcome is Outcome.CONFIG_BINDING:
        grading.gates = Gates(parsed=True, bound=False)
    elif decision.outcome is not Outcome.INFRASTRUCTURE:
        correct = decision.outcome is Outcome.CORRECT
        grading.gates = Gates(parsed=True, bound=True, checked=correct)
    counterexample = (
        None if decision.outcome is Outcome.CORRECT else read_counterexample(transcript)
    )
    if counterexample is not None:
        workspace.keep("counterexample.json", counterexample.model_dump_json().encode())
        description = f"{grading.attempt.id}: {decision.message}"
        workspace.keep("counterexample.itf.json", counterexample.as_itf(description))
    return decision


def _verdict(grading: _Grading, extracted: ExtractedModule, decision: Decision) -> Verdict:
    problem, attempt, settings = grading.problem, grading.attempt, grading.settings
    tools = grading.tools.fingerprint
    keys = {"parse": parse_key(problem, attempt, settings, tools)}
    if problem.config is not None:
        keys["check"] = check_key(problem, attempt, settings, tools)
    return Verdict(
        attempt=attempt.id,
        problem=attempt.problem,
        model=attempt.model,
        regime=attempt.regime,
        sample=attempt.sample,
        outcome=decision.outcome,
        sub=decision.sub,
        flags=_flags(grading, decision),
        paper_class=decision.paper_class if problem.config is not None else None,
        family=decision.outcome.family,
        gates=grading.gates,
        codes=grading.codes,
        message=decision.message,
        decided_by=decision.decided_by,
        property=decision.property,
        states=grading.states,
        resources=grading.workspace.resources(),
        toolchain=tools.model_copy(update={"flags": pinned_flags(settings)}),
        extraction=extracted.record,
        keys=keys,
        grader_version=__version__,
    )


def _effective(problem: Problem, settings: GradingSettings) -> GradingSettings:
    if problem.quota is None:
        return settings
    return settings.model_copy(update={"quota": problem.quota.applied_to(settings.quota)})


def _flags(grading: _Grading, decision: Decision) -> tuple[str, ...]:
    flags = set(decision.flags)
    if not grading.attempt.valid_utf8:
        flags.add("invalid_utf8")
    staged = grading.staged
    if staged is not None:
        if staged.renamed:
            flags.add("renamed")
        if has_untranslated_pluscal(staged.candidate[staged.root]):
            flags.add("untranslated_pluscal")
        texts = (*staged.candidate.values(), *staged.context.values())
        if any(_CHANCE.search(without_comments(text)) for text in texts):
            flags.add("nondeterministic")
    return tuple(sorted(flags))


def _decision(outcome: Outcome, message: str, sub: str | None) -> Decision:
    return Decision(
        outcome=outcome,
        message=message,
        sub=sub,
        paper_class=paper_class_of(outcome, saw_unknown_operator=False, sub=sub),
    )
