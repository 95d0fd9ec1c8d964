"""Runs one file of PyTorch's tests, each test in a process forked for it; prints a line of JSON for each.

The file is imported once. A crash or a hang ends its own process only, and is told apart from a failure. Of PyTorch
itself, whose processes are large, one runs several tests; what a crash leaves goes on in another. A line has
``test``, ``status`` (pass, fail, skip, crash, hang), ``seconds``, and of what did not pass ``kind`` (its class),
``message``, ``at`` (the line of the test) and ``inside`` (the innermost line of the library). The first line has the
number of tests.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import functools
import importlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
import traceback
import unittest
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from benchmarks.pytorch_tests import absent, loading

__all__ = ["main"]

# Tests are made for functions by the names of their modules, which differ by what is compiled and what is not.
HOMES = (
    ("mindtorch_v2", "torch"),
    ("TensorBase", "Tensor"),
    ("torch__C__nn_", "torch_nn_functional_"),
    ("torch__lowrank_", "torch_functional_"),
    ("torch__functional_", "torch_functional_"),
)
MESSAGE = 1500  # characters of an error that are kept


def tests_of(module: Any, match: str) -> dict[str, tuple[type[unittest.TestCase], str]]:
    """The tests of a file: its class and name by what it is called here."""
    found = {}
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ == module.__name__:
            for name in unittest.TestLoader().getTestCaseNames(value):
                found[f"{value.__name__}.{name}"] = value, name
    named = {functools.reduce(lambda text, home: text.replace(*home), HOMES, name): one for name, one in found.items()}
    return {name: named[name] for name in sorted(named) if re.search(match, name)}


class _Result(unittest.TestResult):
    """Keeps the first error."""

    error: Any = None

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802 - unittest's name
        self.error = self.error or err

    addFailure = addError  # noqa: N815

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        self.error = self.error or err


def no_process(*args: Any, **kwargs: Any) -> NoReturn:
    """It would import PyTorch, whatever ``torch`` is here."""
    raise unittest.SkipTest("starts another process")


def record(case: type[unittest.TestCase], name: str, folder: str) -> dict[str, Any]:
    """Runs a test in this process."""
    subprocess.Popen.__init__ = no_process  # type: ignore[method-assign]
    result = _Result()
    try:
        case(name).run(result)
    except unittest.SkipTest as skipped:
        return {"status": "skip", "message": str(skipped)}
    except BaseException:  # an AbsentName, and what else unittest lets through
        result.error = sys.exc_info()
    if result.error is not None:
        return failure(result.error, folder)
    if result.skipped:
        return {"status": "skip", "message": result.skipped[0][1]}
    if result.unexpectedSuccesses:
        return {"status": "fail", "kind": "unexpected success", "message": ""}
    return {"status": "pass"}


def failure(caught: Any, folder: str) -> dict[str, Any]:
    """What is told of an error: its class, itself and its traceback."""
    kind, error, tb = caught
    frames = traceback.extract_tb(tb)
    at = [f"{frame.lineno}: {frame.line}" for frame in frames if frame.filename.startswith(folder)]
    inside = [frame for frame in frames if "mindtorch" in frame.filename]
    return {
        "status": "fail",
        "kind": kind.__name__,
        "message": str(error)[:MESSAGE],
        "at": at[-1] if at else "",
        "inside": f"{Path(inside[-1].filename).name}:{inside[-1].lineno} {inside[-1].name}" if inside else "",
    }


@dataclass
class Running:
    """A process, and the tests that it runs one after the other."""

    tests: list[str]
    pid: int
    errors: int  # a file in memory: its standard error
    began: float = field(default_factory=time.monotonic)  # the test that it is at
    data: bytes = b""

    def took(self, piece: bytes) -> Iterator[dict[str, Any]]:
        """The records that it has written since."""
        *lines, self.data = (self.data + piece).split(b"\n")
        for line in lines:
            now = time.monotonic()
            yield {"test": self.tests.pop(0), **json.loads(line), "seconds": round(now - self.began, 2)}
            self.began = now

    def broke(self, status: str, kind: str) -> dict[str, Any]:
        """The record of the test that ended it."""
        size = os.fstat(self.errors).st_size
        said = os.pread(self.errors, 2 * MESSAGE, max(0, size - 2 * MESSAGE)).decode(errors="replace")
        seconds = round(time.monotonic() - self.began, 2)
        return {"test": self.tests.pop(0), "status": status, "kind": kind, "message": said, "seconds": seconds}

    def kill(self) -> None:
        """Ends it, and what it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


class Runner:
    """Runs the tests of a file in processes forked from this one."""

    def __init__(self, tests: dict[str, tuple[type[unittest.TestCase], str]], folder: str, limit: float) -> None:
        self.tests, self.folder, self.limit = tests, folder, limit
        self.running: dict[int, Running] = {}

    def run(self, together: int, jobs: int) -> Iterator[dict[str, Any]]:
        """Their records as they end: so many tests in a process, so many processes at a time."""
        names = list(self.tests)
        waiting = [names[at : at + together] for at in range(0, len(names), together)][::-1]
        while waiting or self.running:
            while waiting and len(self.running) < jobs:
                self.start(waiting.pop())
            ready, _, _ = select.select(list(self.running), [], [], 0.5)
            for read, process in list(self.running.items()):
                if read in ready and (piece := os.read(read, 1 << 16)):
                    yield from process.took(piece)
                    continue
                late = time.monotonic() - process.began > self.limit
                if read not in ready and not late:
                    continue
                process.kill()  # itself where it is late, and what its tests left running
                _, status = os.waitpid(process.pid, 0)
                if process.tests:
                    yield process.broke("hang", "hang") if read not in ready else process.broke("crash", ending(status))
                    waiting += [process.tests] if process.tests else []
                os.close(read)
                os.close(process.errors)
                del self.running[read]

    def start(self, names: list[str]) -> None:
        """Forks a process for tests."""
        read, write = os.pipe()
        errors = os.memfd_create("errors")
        sys.stdout.flush()
        pid = os.fork()
        if pid:
            os.close(write)
            self.running[read] = Running(names, pid, errors)
            return
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_RDWR)
        for given, standard in ((null, 0), (null, 1), (errors, 2)):
            os.dup2(given, standard)
        faulthandler.enable()
        for name in names:
            faulthandler.dump_traceback_later(0.9 * self.limit)
            os.write(write, json.dumps(record(*self.tests[name], self.folder)).encode() + b"\n")
        os._exit(0)


def ending(status: int) -> str:
    """How a process ended that did not run its tests to their end."""
    return f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pytorch_tests.child")
    parser.add_argument("sources", type=Path)
    parser.add_argument("file")
    parser.add_argument("--peer", action="store_true", help="PyTorch itself")
    parser.add_argument("--match", default="", help="a regular expression that names of tests have to match")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--together", type=int, default=1, help="tests in a process")
    parser.add_argument("--limit", type=float, default=200.0, help="seconds for a test; PyTorch's largest take it 40")
    options = parser.parse_args()
    loading.install(options.sources, options.file, here=not options.peer)
    sys.argv = [options.file]
    tests = tests_of(loading.load(options.sources, options.file), options.match)
    importlib.import_module("numpy.testing")  # SciPy's parts import it, and it starts a process, lscpu, as they do
    absent.collected()
    print(json.dumps({"collected": len(tests)}), flush=True)
    runner = Runner(tests, str(options.sources / "test"), options.limit)
    for found in runner.run(options.together, options.jobs):
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
