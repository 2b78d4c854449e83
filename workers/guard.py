"""The process that outlives a worker by the moment that it takes to end what the worker ran.

`workers.runner` starts one for each process that runs commands, and keeps it: an interpreter's
start would cost every run more than everything else. Two processes come of it. The *keeper* is
the worker's child and only waits; a worker's direct children are what Ray kills when a worker
goes, and somebody has to outlive that. Its child, the *guard*, forks a supervisor for each run
(`workers.supervisor`). If a supervisor is killed, its orphans become the guard's, who sweeps; if
the guard is killed, the keeper sweeps. Each is a subreaper, so no orphan gets past.

The worker's end of the control socket closing, like its death, ends the guard once the
supervisors have ended.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import asdict

from workers.control_group import PREFIX
from workers.enforcement import Enforcement, Examination, examine
from workers.leftovers import remove_groups
from workers.prctl import SET_DUMPABLE, prctl
from workers.process_identity import this_process
from workers.process_tree import Tree, become_subreaper, kill_tree
from workers.run_protocol import RunReport
from workers.supervisor import supervise

_PACKET_BYTES = 1 << 16


def main() -> None:
    """Start with a control socket's descriptor, a pidfd of the worker or -1, and a group's name."""
    control = socket.socket(fileno=int(sys.argv[1]))
    caller = None if sys.argv[2] == "-1" else int(sys.argv[2])
    named_group = sys.argv[3] or None
    control.set_inheritable(False)
    if caller is not None:
        os.set_inheritable(caller, False)
    # Dispositions and masks are inherited over exec: a worker that ignores SIGCHLD would make
    # the kernel reap our children unseen. What ends us is the worker's end, not a signal.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    become_subreaper()
    # No process of this user may trace us, take our descriptors or read them in /proc: prctl(2).
    prctl(SET_DUMPABLE, 0)
    examination = examine(named_group)
    guard = os.fork()
    if guard:
        control.close()
        if caller is not None:
            os.close(caller)
        _keep(guard, examination)
    else:
        become_subreaper()
        _Guard(control, caller, examination).serve()
    os._exit(0)  # an orderly interpreter shutdown would only take time


def _keep(guard: int, examination: Examination) -> None:
    """Wait for the guard, and sweep in its place if it did not end well."""
    while True:
        _, status = os.waitpid(guard, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            break
        os.kill(guard, signal.SIGCONT)  # a command may try to freeze its guard
    if status:
        kill_tree(Tree(os.getpid()), _reap_all)
        for enforcement in examination.enforcements:
            remove_groups(enforcement)


def _reap_all() -> bool:
    """Reap what has ended; True while children are left."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    return False


class _Guard:
    """Forks supervisors, waits for them, and sweeps after those that did not end well."""

    def __init__(
        self, control: socket.socket, caller: int | None, examination: Examination
    ) -> None:
        self._control = control
        self._caller = caller
        self._identity = this_process()
        self._keeper = os.getppid()
        self._runs: dict[int, _Supervised] = {}
        self._count = 0
        self._wake, writer = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(writer, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        control.send(json.dumps(asdict(examination)).encode())

    def serve(self) -> None:
        """Serve until the worker is gone and all runs have ended."""
        poller = select.poll()
        lifelines = {self._control.fileno(), *([] if self._caller is None else [self._caller])}
        for descriptor in (*lifelines, self._wake):
            poller.register(descriptor, select.POLLIN)
        while lifelines or self._runs:
            for descriptor, _ in poller.poll():
                if descriptor == self._wake:
                    with suppress(BlockingIOError):
                        os.read(self._wake, _PACKET_BYTES)
                elif descriptor not in lifelines or not self._accept(descriptor):
                    for each in lifelines:
                        poller.unregister(each)
                    lifelines.clear()
            self._reap()
        kill_tree(Tree(os.getpid()), _reap_all)
        if os.getppid() == self._keeper:
            os.kill(self._keeper, signal.SIGCONT)  # a command may have tried to freeze it

    def _accept(self, descriptor: int) -> bool:
        """Start a run that was asked for; False when the worker is gone."""
        if descriptor == self._caller:
            return False
        packet, descriptors, _, _ = socket.recv_fds(self._control, _PACKET_BYTES, 1)
        if not packet:
            return False
        if not descriptors:  # out of descriptors: the caller sees its connection closed
            return True
        connection = socket.socket(fileno=descriptors[0])
        connection.set_inheritable(False)
        self._count += 1
        run = _Supervised(
            connection,
            f"{PREFIX}{self._identity}-{self._count}",
            Enforcement.from_fields(json.loads(packet)),
        )
        try:
            supervisor = os.fork()
        except OSError as error:
            with suppress(OSError), connection:
                reason = f"a supervisor cannot be started: {error.strerror}"
                connection.sendall(RunReport(error=reason).encode())
            return True
        if not supervisor:
            self._become_supervisor(run)
        self._runs[supervisor] = run
        return True

    def _become_supervisor(self, run: _Supervised) -> None:
        status = 1
        try:
            become_subreaper()
            # Another run's connection that stayed open here would keep its end from being seen.
            for other in self._runs.values():
                other.connection.close()
            self._control.close()
            supervise(run.connection, self._caller, run.group)
            status = 0
        finally:
            os._exit(status)

    def _reap(self) -> None:
        """Note supervisors that ended, and let the ones that were stopped go on."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
                if not pid:
                    return
                if os.WIFSTOPPED(status):
                    os.kill(pid, signal.SIGCONT)
                elif run := self._runs.pop(pid, None):
                    if status:
                        self._sweep(run)
                    run.connection.close()  # tells the caller that nothing is left

    def _sweep(self, run: _Supervised) -> None:
        """End what a supervisor left behind that did not end well."""
        group = run.enforcement.group(run.group)
        if group is not None:
            group.kill()
        spared = Tree(os.getpid(), self._runs)
        kill_tree(spared, lambda: self._orphans_are_left(spared))
        if group is not None:
            with suppress(OSError):
                group.remove()

    def _orphans_are_left(self, orphans: Tree) -> bool:
        self._reap_orphans(orphans)
        return bool(orphans.scan(full=True))

    def _reap_orphans(self, orphans: Tree) -> None:
        for process in orphans.scan(full=True):
            with suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)


class _Supervised:
    """A run under way."""

    def __init__(self, connection: socket.socket, group: str, enforcement: Enforcement) -> None:
        self.connection = connection
        self.group = group
        self.enforcement = enforcement
