"""Processes that run one function, each with its number; and what comes of one that fails."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "spawn",
    "start_processes",
]


class ProcessException(Exception):  # noqa: N818  (PyTorch's name)
    """A process failed: its number and its id."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process raised something; the message has its traceback."""


class ProcessExitedException(ProcessException):
    """A process ended by a signal or with an exit code."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(fn: Callable[..., Any], number: int, args: tuple[Any, ...], errors: Any) -> None:
    try:
        fn(number, *args)
    except KeyboardInterrupt:
        pass  # the parent has it, too
    except BaseException:
        errors.send(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """Processes that were started together; `join` waits for them."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes, self._errors = processes, errors
        self._left: dict[Any, int] = {process.sentinel: number for number, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The ids of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits until one more process, or all, have ended: True where all have.

        Where one failed the others are terminated, after ``grace_period`` seconds killed, and ProcessRaisedException or
        ProcessExitedException is raised.
        """
        if not self._left:
            return True
        failed = None
        for sentinel in multiprocessing.connection.wait(list(self._left), timeout=timeout):
            number = self._left.pop(sentinel)
            self.processes[number].join()
            if self.processes[number].exitcode != 0:
                failed = number
                break
        if failed is None:
            return not self._left
        self._end_others(grace_period)
        raise self._failure(failed)

    def _end_others(self, grace_period: float | None) -> None:
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(30 if grace_period is None else grace_period)
            if process.is_alive():
                process.kill()
                process.join()

    def _failure(self, number: int) -> ProcessException:
        process = self.processes[number]
        if self._errors[number].poll():
            try:
                text = self._errors[number].recv()
            except EOFError:  # it was ended before it could say
                text = None
            if text is not None:
                return ProcessRaisedException(
                    f"\n\n-- Process {number} terminated with the following error:\n{text}", number, process.pid
                )
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name
            return ProcessExitedException(
                f"process {number} terminated with signal {name}", number, process.pid, code, name
            )
        return ProcessExitedException(f"process {number} terminated with exit code {code}", number, process.pid, code)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Runs ``fn(number, *args)`` in each of ``nprocs`` processes.

    With ``join`` it waits for all, and raises what `ProcessContext.join` does; without, it returns the context.
    """
    context: Any = multiprocessing.get_context(start_method)
    processes, errors = [], []
    for number in range(nprocs):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, number, args, sender), daemon=daemon)
        process.start()
        sender.close()
        processes.append(process)
        errors.append(receiver)
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """`start_processes` of new interpreters: ``fn`` must be found by its module and name."""
    if start_method != "spawn":
        raise ValueError(f"spawn() starts processes by spawning, got {start_method!r}: use start_processes")
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
