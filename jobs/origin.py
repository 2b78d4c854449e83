"""Make sure that our packages are the ones that get imported.

The packages are called `jobs`, `cluster` and `workers`, and other projects use these names, too.
A folder of that name that comes first on Python's module path would be imported in place of ours,
and half of tlagrid would run with half of something else. So the command looks where each package
would come from before it imports any of it, and refuses to run when that is not where this
module comes from.

Workers on Ray are not looked at here: their module path is set by `cluster.embedded_ray`.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

PACKAGES = ("jobs", "cluster", "workers")


class OriginError(Exception):
    """Another package shadows one of ours."""


def check_origin() -> None:
    """Look for each of our packages without importing it.

    Raises:
        OriginError: one is missing or comes from elsewhere; the message names it and both places.
    """
    home = Path(__file__).resolve().parents[1]
    for name in PACKAGES:
        expected = home / name / "__init__.py"
        found = _origin(name)
        if found is None:
            raise OriginError(
                f"tlagrid's package {name!r} is missing beside {home / 'jobs'}: "
                "install tlagrid again, or bring the source tree back in order"
            )
        if found.resolve() != expected:
            shadow = found.parent if found.name == "__init__.py" else found
            raise OriginError(
                f"another package {name!r} shadows tlagrid's: Python finds {shadow}, but tlagrid "
                f"runs from {home}. Start tlagrid from another folder, or take {shadow.parent} "
                "out of PYTHONPATH"
            )


def _origin(name: str) -> Path | None:
    """The file that an import of the package would run, or the folder of one without such a file.

    `None` when there is nothing to import.
    """
    spec = importlib.util.find_spec(name)
    if spec is None:
        return None
    if spec.origin is not None:
        return Path(spec.origin)
    folders = list(spec.submodule_search_locations or ())
    return Path(folders[0], "__init__.py") if folders else None
