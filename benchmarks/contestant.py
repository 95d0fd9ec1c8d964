"""A process that measures one side: it answers each line that names a case with a figure."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence

__all__ = ["Contestant"]


class Contestant:
    """The parent's end of ``python -m module arguments...``, run ``under`` another program where one is given.

    It stands still while another one has its turn: OpenMP's threads go on looking for work for milliseconds after a
    call, on a core that is another's by then.
    """

    def __init__(
        self,
        module: str,
        *arguments: str,
        under: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        cores: int = 1,
    ) -> None:
        command = [*under, sys.executable, "-m", module, *arguments]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        # They take turns on the same cores: two of them may be slowed down by different neighbours.
        os.sched_setaffinity(self._process.pid, set(sorted(os.sched_getaffinity(0))[:cores]))

    def __enter__(self) -> Contestant:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGCONT)
        self._process.communicate()

    def measure(self, case: str) -> float:
        """The figure of a case."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.send_signal(signal.SIGCONT)
        print(case, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        self._process.send_signal(signal.SIGSTOP)
        if not answer:
            raise RuntimeError(f"the process that measures {case!r} ended: what it wrote stands above")
        return float(answer)
