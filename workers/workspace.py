"""The private folder of one grading: where tools run, and the evidence that they leave.

Everything in it is removed at the end. Tools see only the scratch folder; their output is spooled
outside it, so that a candidate cannot replace it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from workers.evidence import Evidence
from workers.leftovers import scratch_prefix
from workers.limits import Limits
from workers.records import Quota, Resources
from workers.runner import ProcessResult, run
from workers.toolchain import child_environment
from workers.tree_removal import remove_tree

KEPT_LOG_BYTES = 512 * 1024
"""Of a longer log, this much of its head and of its tail is kept as evidence."""


class Workspace:
    """A fresh folder and what ran in it; a context manager that removes the folder."""

    def __init__(self, quota: Quota) -> None:
        self.evidence: list[Evidence] = []
        self._quota = quota
        self._runs: list[ProcessResult] = []
        self._folder = Path(tempfile.mkdtemp(prefix=scratch_prefix()))
        self.scratch = self._folder / "scratch"
        """The folder that tools run in and may write to."""
        self.scratch.mkdir()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        remove_tree(self._folder)

    def temporary_folder(self, name: str) -> Path:
        """A folder in scratch for a tool's own files, apart from the modules."""
        folder = self.scratch / name
        folder.mkdir()
        return folder

    def run(
        self, stage: str, command: list[str], wall_seconds: float, *, keep_logs: bool = True
    ) -> ProcessResult:
        """Run a tool under the quota and keep its logs as `<stage>.stdout` and `.stderr`.

        Raises:
            RunnerError: the tool could not be run, which is not the candidate's doing.
        """
        spool = self._folder / stage
        spool.mkdir()
        quota = self._quota
        result = run(
            command,
            environment=child_environment(self.scratch),
            scratch=self.scratch,
            spool=spool,
            limits=Limits(
                wall_seconds=wall_seconds,
                cpu_seconds=quota.cpu_seconds,
                memory_bytes=quota.memory_bytes,
                processes=quota.processes,
                scratch_bytes=quota.scratch_bytes,
                output_bytes=quota.output_bytes,
                scratch_files=quota.scratch_files,
                open_files=quota.open_files,
                cores=quota.cores,
            ),
        )
        self._runs.append(result)
        if keep_logs:
            self.keep(f"{stage}.stdout", _kept_log(result.stdout))
            self.keep(f"{stage}.stderr", _kept_log(result.stderr))
        return result

    def keep(self, name: str, content: bytes) -> None:
        """Add evidence; an empty log says nothing and is left out."""
        if content:
            self.evidence.append(Evidence(name, content))

    def resources(self) -> Resources:
        """What all runs used together, and how busy the node was during the last, which decided."""
        if not self._runs:
            return Resources()
        return Resources(
            cpu_seconds=round(sum(result.cpu_seconds for result in self._runs), 3),
            wall_seconds=round(sum(result.wall_seconds for result in self._runs), 3),
            peak_memory_bytes=max(result.peak_memory_bytes for result in self._runs),
            measured_by=self._runs[0].measured_by,
            enforced_by=self._runs[0].enforced_by,
            pressure=self._runs[-1].pressure,
            starved=self._runs[-1].starved,
            scratch_bytes=max(result.scratch_bytes for result in self._runs),
            output_bytes=sum(result.output_bytes for result in self._runs),
            cores=self._runs[-1].cores,
            cores_shared=self._runs[-1].cores_shared,
        )


def _kept_log(path: Path) -> bytes:
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= 2 * KEPT_LOG_BYTES:
            return file.read()
        head = file.read(KEPT_LOG_BYTES)
        file.seek(size - KEPT_LOG_BYTES)
        tail = file.read()
    mark = f"\n[tlagrid: {size - 2 * KEPT_LOG_BYTES} bytes cut here]\n".encode()
    return head + mark + tail
