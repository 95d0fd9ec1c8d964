"""``torch.npu.profile``: a timeline of a whole program, host and NPUs, in one file."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from .._managers import not_entered
from ..autograd import _chrome_trace
from ..autograd._recording import Recorder, Recording

__all__ = ["profile"]


class profile:  # noqa: N801  (a context manager, named as PyTorch names its own)
    """``with torch.npu.profile("trace.json"):`` writes what the block did, for https://ui.perfetto.dev.

    A lane for each thread (operators' calls, labels, launches, encodes, commits, waits, copies) and for each stream of
    each NPU (kernels, copies, waits for events, runs of graphs), with arrows from what was queued to what ran. A name
    that ends with ``.gz`` is compressed. ``record_shapes``, ``profile_memory`` and ``with_stack`` are as for
    ``torch.profiler.profile``, which records one thread and gives tables.

    The end of the block waits for the NPUs. Where the block raises, the trace is written all the same; the file is put
    in place once it is whole. Raises RuntimeError where another profiler runs or this one is entered twice, OSError
    before the block begins where the file cannot be written. In a forked child the profile is over, and writes nothing.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
    ) -> None:
        self.path = Path(path)
        self.recording: Recording | None = None
        self._options = {"record_shapes": record_shapes, "profile_memory": profile_memory, "with_stack": with_stack}
        self._recorder: Recorder | None = None

    def __enter__(self) -> profile:
        if self._recorder is not None:
            raise RuntimeError("npu.profile is entered, and it is not reentrant: make another one after this block")
        if not os.access(self.path.parent, os.W_OK | os.X_OK) or self.path.is_dir():
            _chrome_trace.write(self.path, {})  # raises what is the matter
        recorder = Recorder(
            all_threads=True,
            shapes=self._options["record_shapes"],
            stacks=self._options["with_stack"],
            memory=self._options["profile_memory"],
        )
        recorder.begin()
        self._recorder = recorder
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._recorder is None:
            raise not_entered(self)
        recorder, self._recorder = self._recorder, None
        self.recording = recorder.end()
        if self.recording is None:
            return
        flags = {name: 1 for name, value in self._options.items() if value}
        try:
            _chrome_trace.write(self.path, _chrome_trace.trace_of(self.recording, str(self.path), flags))
        except OSError:
            if error is None:
                raise  # else what the block raised says more
        if self.recording.failure is not None and error is None:
            raise self.recording.failure
