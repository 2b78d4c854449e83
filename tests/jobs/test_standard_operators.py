from __future__ import annotations

import zipfile

import pytest

from jobs.standard_operators import STANDARD_MODULES, module_of
from workers.toolchain import find_tools


@pytest.mark.parametrize(
    ("operator", "module"),
    [("Cardinality", "FiniteSets"), ("..", "Naturals"), ("Append", "Sequences"), (":>", "TLC")],
)
def test_an_operator_is_found_in_its_module(operator: str, module: str) -> None:
    assert module_of(operator) == module


def test_a_name_of_nobody_has_no_module() -> None:
    assert module_of("Update") is None


@pytest.mark.parametrize("module", sorted(STANDARD_MODULES))
def test_the_modules_are_those_of_the_tools(module: str) -> None:
    with zipfile.ZipFile(find_tools().tla2tools) as jar:
        assert f"tla2sany/StandardModules/{module}.tla" in jar.namelist()
