"""A process that makes calls for one library, and says what came of each; ``pair.Worker`` starts it.

It may die: by a signal, by a sanitizer, or by the timer that bounds a call's processor time. What it was doing then is
known from what it has not answered. With ``forks`` calls are made in children, so many in each, for calls that change
the process.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import re
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.fuzz.modules import MODULES
from benchmarks.fuzz.outcome import Died, Outcome, Raised, Returned

__all__ = ["Stopped", "main", "run_call"]

READ = 2000  # elements of a tensor that are compared, at most
ITEMS = 64  # of a container
CALL = "<call>"  # the name of the file that a call's lines seem to be of


class Stopped(BaseException):
    """Raised by a signal's handler in a call that takes long, as KeyboardInterrupt is at Ctrl-C."""


def _stop(signum: int, frame: FrameType | None) -> None:
    while frame is not None and not frame.f_code.co_filename.endswith("build_cache.py"):  # a kernel is built once
        if frame.f_code.co_filename == CALL:  # in the lines of a call, not in what looks at its outcome
            raise Stopped
        frame = frame.f_back


def run_call(torch: Any, source: str, seconds: float = 0.0, stop: float = 0.0) -> Outcome:
    """Run the lines of a call with ``torch`` as the library; after ``stop`` seconds it is interrupted."""
    namespace: dict[str, Any] = {"torch": torch, "__name__": "fuzz"}
    signal.setitimer(signal.ITIMER_PROF, seconds)  # whose signal ends the process
    signal.setitimer(signal.ITIMER_VIRTUAL, stop, stop)  # again, where what is called back swallowed the first
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.manual_seed(0)
            exec(compile(source, CALL, "exec"), namespace)
            described = {
                name: describe(torch, value)
                for name, value in namespace.items()
                if name == "result" or (len(name) == 1 and isinstance(value, torch.Tensor))
            }
            return Returned(described.pop("result"), described)
    except BaseException as error:  # whatever it is, it is compared
        return _raised(error, source.splitlines())
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        namespace.clear()


def _raised(error: BaseException, lines: Sequence[str]) -> Raised:
    bases = tuple(cls.__name__ for cls in type(error).__mro__ if cls not in (object, BaseException))
    try:
        message = str(error)[:2000]
    except Exception as second:  # a message that cannot be made
        message = f"<no message: {second!r}>"
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f"{Path(f.filename).name}:{f.lineno}" for f in frames if f.filename not in (CALL, __file__)]
    at = next((lines[f.lineno - 1] for f in frames if f.filename == CALL and f.lineno), "")
    return Raised(bases, message, tuple(inside[-3:]), re.match(r"[a-z]\d* = ", at) is not None)


def describe(torch: Any, value: Any, depth: int = 0) -> Any:
    """A result in plain values."""
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if value is None or isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, str):
        return re.sub(r"0x[0-9a-f]+", "0x", value.replace("npu", "cpu"))
    if depth > 4:
        return "..."
    if isinstance(value, (list, tuple)):
        return [describe(torch, item, depth + 1) for item in list(value)[:ITEMS]]
    if isinstance(value, dict):
        return {str(key): describe(torch, item, depth + 1) for key, item in list(value.items())[:ITEMS]}
    if isinstance(value, torch.device):
        return f"device {value.type.replace('npu', 'cpu')}"
    if isinstance(value, torch.dtype):
        return f"dtype {str(value).rpartition('.')[2]}"
    if type(value).__module__ == "numpy":
        return ["ndarray", str(value.dtype), list(value.shape), value.tolist() if value.size < READ else None]
    return "object"


def _tensor(value: Any) -> Any:
    kind, shape = str(value.dtype).rpartition(".")[2], tuple(value.shape)
    device = value.device.type.replace("npu", "cpu")
    count = value.numel()
    elements = None
    if device != "meta" and max((count, *shape)) <= READ:  # of (2**31, 0), too, a list would be long
        try:
            elements = value.detach().cpu().tolist()
        except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:  # inside a transform
            elements = f"unreadable: {type(error).__name__}"
    return {"dtype": kind, "shape": shape, "device": device, "grad": value.requires_grad, "elements": elements}


# ---------------------------------------------------------------- the process


def main(library: str, descriptor: int, memory: int, seconds: float, stop: float, forks: int) -> None:
    """Answer until the other end goes away."""
    torch = importlib.import_module(library)
    for module in filter(None, MODULES):
        with contextlib.suppress(ImportError):  # PyTorch does not have them all
            _load_names(importlib.import_module(f"{library}.{module}"))
    torch.manual_seed(0)
    if library == "torch":
        torch.set_num_threads(1)
    elif not forks:
        torch.ones(1).to("npu").cpu()  # what the simulated NPU reserves is not a call's
    if memory:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGVTALRM, _stop)
    sys.stdout = sys.stderr
    sys.stdin = open(os.devnull)  # noqa: SIM115, PTH123  (for as long as the process runs)
    connection = Connection(descriptor)
    connection.send("ready")
    gc.freeze()  # so that a child's collector does not write to, and so copy, all pages
    while True:
        try:
            batch = connection.recv()
        except (EOFError, OSError):
            os._exit(0)  # what a call left behind is not torn down
        if isinstance(batch, str):  # a question about the library: a function of a module of ours, and its arguments
            connection.send(_answer(batch))
            continue
        if forks:
            for start in range(0, len(batch), forks):
                _in_children(torch, batch[start : start + forks], seconds, stop, connection)
        else:
            _make(torch, batch, seconds, stop, connection)


def _make(torch: Any, calls: Sequence[tuple[int, str]], seconds: float, stop: float, connection: Connection) -> None:
    """Make calls, and send what comes of each."""
    for number, source in calls:
        connection.send((number, run_call(torch, source, seconds, stop)))
        _restore(torch)


def _load_names(module: Any) -> None:
    """Import what a module's names are imported for when they are first used, which each child would do again."""
    for name in getattr(module, "__all__", ()):
        getattr(module, name, None)


def _answer(question: str) -> Any:
    module, function, *arguments = question.split(maxsplit=2)
    return getattr(importlib.import_module(module), function)(*arguments)


def _restore(torch: Any) -> None:
    """What calls may have left changed."""
    if not torch.is_grad_enabled():
        torch.set_grad_enabled(True)
    if torch.get_default_dtype() != torch.float32:
        torch.set_default_dtype(torch.float32)


def _in_children(
    torch: Any, calls: Sequence[tuple[int, str]], seconds: float, stop: float, connection: Connection
) -> None:
    """Make calls in a child; in another one go on behind the call that ends it."""
    done = 0
    while done < len(calls):
        reading, writing = Pipe(duplex=False)
        child = os.fork()
        if child == 0:
            reading.close()
            with contextlib.suppress(BaseException):
                _make(torch, calls[done:], seconds, stop, writing)
            os._exit(0)
        writing.close()
        with reading, contextlib.suppress(EOFError):
            while done < len(calls):
                connection.send(reading.recv())
                done += 1
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if done < len(calls):
            connection.send((calls[done][0], Died(max(-status, 0), status)))
            done += 1
