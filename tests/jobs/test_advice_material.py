from __future__ import annotations

from jobs.advice_material import Material


def test_names_come_from_the_module_and_the_context() -> None:
    material = Material(module="Inv == 1\n", context=("Util == 2\n",))
    assert material.names is not None
    assert "Inv" in material.names
    assert "Util" in material.names_of_context()[0]


def test_without_a_module_nothing_is_known() -> None:
    assert Material().names is None
