"""Find the store and the run that a user named."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from cluster.runs import RunDescription, RunNameError, read_run
from cluster.store import MissingObjectError, Store, StoreError, open_store
from jobs.exit_codes import BadUsageError

DEFAULT_STORE = "./tlagrid-runs"

_NAMED_IN_A_MESSAGE = 10


def find_store(named: str | None, sweep_names: str | None = None) -> Store:
    """Open the store that an option or the environment named, else the sweep, else the default.

    Raises:
        BadUsageError: what was named cannot be a store.
    """
    try:
        return open_store(named or sweep_names or DEFAULT_STORE)
    except StoreError as error:
        raise BadUsageError(str(error)) from error


def store_arguments(named: str | None, store: Store) -> tuple[str, ...]:
    """The arguments by which other commands find the store; none for what they find themselves.

    `named` is what the option or the environment said. A store that only the sweep file names
    has to be given to commands that read no sweep file.
    """
    if named is None and store.uri == find_store(None).uri:
        return ()
    return ("--store", named or store.uri)


def find_run(store: Store, name: str) -> RunDescription:
    """The run of this name.

    Raises:
        BadUsageError: there is none; the message gives the names that there are.
        StoreError: its description cannot be read.
    """
    try:
        return read_run(store, name)
    except (MissingObjectError, RunNameError) as error:
        raise BadUsageError(_no_such_run(store, name)) from error


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """The message for a name that does not exist, with the nearest or all that do."""
    names = sorted(known)
    close = get_close_matches(name, names, n=3)
    shown = ", ".join(names[:_NAMED_IN_A_MESSAGE])
    if len(names) > _NAMED_IN_A_MESSAGE:
        shown += f", ... ({len(names)} in all)"
    guess = f" Did you mean {' or '.join(close)}?" if close else ""
    return f"there is no {what} {name!r}; there is: {shown or 'none'}.{guess}"


def _no_such_run(store: Store, name: str) -> str:
    names = [each for each in store.list_folders("runs/") if store.exists(f"runs/{each}/run.json")]
    if not names:
        return (
            f"there is no run {name!r}: the store {store.uri} has no runs; "
            "name another with --store or TLAGRID_STORE"
        )
    return f"{unknown_name('run', name, names)} Store: {store.uri}"
