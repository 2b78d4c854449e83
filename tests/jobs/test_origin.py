from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.origin import check_origin

REPOSITORY = Path(__file__).resolve().parents[2]


def run(folder: Path, *module_path: Path) -> subprocess.CompletedProcess[str]:
    """`tlagrid --version` as an installed command runs it, with this module path."""
    return subprocess.run(
        [sys.executable, "-P", "-c", "from jobs.cli import main; main()", "--version"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, module_path))},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_packages_of_this_tree_pass() -> None:
    check_origin()


@pytest.mark.parametrize("name", ["cluster", "workers"])
@pytest.mark.parametrize("file", ["{}/__init__.py", "{}.py"])
def test_a_package_that_shadows_ours_is_refused_with_both_places(
    tmp_path: Path, name: str, file: str
) -> None:
    shadow = tmp_path / file.format(name)
    shadow.parent.mkdir(exist_ok=True)
    shadow.write_text("raise RuntimeError('the shadow was imported')\n")
    result = run(tmp_path, tmp_path, REPOSITORY)
    assert result.returncode == 3
    assert result.stdout == ""
    (message,) = result.stderr.splitlines()
    assert f"another package '{name}' shadows tlagrid's" in message
    assert str(shadow.parent if shadow.name == "__init__.py" else shadow) in message
    assert str(REPOSITORY) in message


def test_a_folder_without_modules_shadows_nothing(tmp_path: Path) -> None:
    (tmp_path / "workers").mkdir()
    result = run(tmp_path, tmp_path, REPOSITORY)
    assert result.returncode == 0, result.stderr


def test_a_tree_that_lacks_a_package_is_named(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    (copy / "jobs").mkdir(parents=True)
    for source in ("__init__.py", "origin.py"):
        (copy / "jobs" / source).write_bytes((REPOSITORY / "jobs" / source).read_bytes())
    # Without site-packages, where an installed tlagrid would provide the missing package.
    code = (
        f"import sys; sys.path.insert(0, {str(copy)!r}); "
        "from jobs.origin import check_origin; check_origin()"
    )
    result = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "tlagrid's package 'cluster' is missing beside" in result.stderr
