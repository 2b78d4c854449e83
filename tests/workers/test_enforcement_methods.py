import re
from pathlib import Path

import pytest

from workers.enforcement import Enforcement, Tier
from workers.enforcement_methods import Strength, methods_of

PREVENTS, DETECTS, NOT_COVERED = Strength
SUBJECTS = [
    "wall",
    "cpu",
    "memory",
    "/dev/shm",
    "processes",
    "output",
    "scratch",
    "cores",
    "open files",
    "core dumps",
]
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "quotas.md"


def strengths(enforcement: Enforcement) -> dict[str, Strength]:
    return {method.subject: method.strength for method in methods_of(enforcement)}


@pytest.mark.parametrize("tier", Tier)
@pytest.mark.parametrize("cpuset", [False, True])
@pytest.mark.parametrize("private_shm", [False, True])
def test_every_way_tells_about_every_limit_in_the_same_order(
    tier: Tier, cpuset: bool, private_shm: bool
) -> None:
    methods = list(methods_of(Enforcement(tier, cpuset=cpuset, private_shm=private_shm)))
    assert [method.subject for method in methods] == SUBJECTS
    assert all(method.how for method in methods)


@pytest.mark.parametrize("tier", [Tier.CGROUP_V2, Tier.CGROUP_V1])
def test_control_groups_prevent_what_sampling_detects(tier: Tier) -> None:
    grouped, sampled = strengths(Enforcement(tier)), strengths(Enforcement(Tier.SAMPLING))
    subjects = {"memory", "processes", "/dev/shm"}
    assert {subject for subject in SUBJECTS if grouped[subject] != sampled[subject]} == subjects
    assert {grouped[subject] for subject in subjects} == {PREVENTS}
    assert {sampled[subject] for subject in subjects} == {DETECTS}


@pytest.mark.parametrize("tier", Tier)
def test_a_folder_of_the_runs_own_limits_shared_memory_in_every_tier(tier: Tier) -> None:
    assert strengths(Enforcement(tier, private_shm=True))["/dev/shm"] is PREVENTS


@pytest.mark.parametrize("tier", Tier)
def test_only_a_cpuset_holds_a_run_to_its_cores(tier: Tier) -> None:
    assert strengths(Enforcement(tier))["cores"] is NOT_COVERED
    assert strengths(Enforcement(tier, cpuset=True))["cores"] is NOT_COVERED  # it can rewrite it
    held = Enforcement(tier, cpuset=True, private_shm=True)
    assert strengths(held)["cores"] is PREVENTS


def test_the_document_says_the_same() -> None:
    """Its table of the tiers, where cells say `the same` for what stands to their left."""
    names = {"scratch": "scratch bytes, files", "/dev/shm": "files in /dev/shm"}
    names |= dict.fromkeys(("open files", "core dumps"), "open files, core dumps")
    _, _, table = DOCUMENT.read_text(encoding="utf-8").partition("| Limit | cgroup-v2 |")
    rows: dict[str, list[str]] = {}
    for line in table.partition("\n\n")[0].splitlines()[2:]:
        subject, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        rows[subject] = [
            next(before for before in cells[index::-1] if before != "the same")
            for index in range(len(cells))
        ]
    for index, tier in enumerate((Tier.CGROUP_V2, Tier.CGROUP_V1, Tier.SAMPLING)):
        bare = strengths(Enforcement(tier))
        best = strengths(Enforcement(tier, cpuset=tier is not Tier.SAMPLING, private_shm=True))
        for subject in SUBJECTS:
            told = set(re.findall("|".join(Strength), rows[names.get(subject, subject)][index]))
            assert best[subject] in told, (subject, tier)
            assert told <= {bare[subject], best[subject]}, (subject, tier)
