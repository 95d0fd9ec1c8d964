"""The ACL library: one table of its symbols, and which library provides them.

The library is CANN's ``libascendcl.so``, or the simulated NPU, which exports the same symbols. ``MINDTORCH_NPU``
chooses: ``real``, ``sim``, or ``auto`` (the default: CANN's where it opens and has a device, else the simulator).
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from ctypes import POINTER, c_char_p, c_float, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._core import npu_current_device, npu_recent_launches, span
from . import elf, paths
from .errors import NpuError, explain

HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE = range(4)
HBM = 1
EVENT_SYNC, EVENT_TIME_LINE, EVENT_EXTERNAL = 0x1, 0x8, 0x20
ALREADY_INITIALISED = 100002
MODEL_RUNNING = 107037
STREAM_SYNC_TIMEOUT = 507046
SLICE = c_int32(100)  # milliseconds of a wait, between which handlers of signals run; made once, for speed
CAPTURE_MODES = {"global": 0, "thread_local": 1, "relaxed": 2}

HostFunction = ctypes.CFUNCTYPE(None, c_void_p)


class PlaceHolderInfo(ctypes.Structure):
    """``aclrtPlaceHolderInfo``: in a buffer of arguments, where the pointer is and where what it points to."""

    _fields_ = (("addrOffset", c_uint32), ("dataOffset", c_uint32))


# Symbol -> argument types. All return aclError, a C int, except those in RETURNS.
SIGNATURES: dict[str, tuple[Any, ...]] = {
    # life cycle
    "aclInit": (c_char_p,),
    "aclFinalize": (),
    "aclrtSetDevice": (c_int32,),
    "aclrtResetDevice": (c_int32,),
    "aclrtGetDevice": (POINTER(c_int32),),
    "aclrtGetDeviceCount": (POINTER(c_uint32),),
    "aclrtGetSocName": (),
    "aclrtCreateContext": (POINTER(c_void_p), c_int32),
    "aclrtDestroyContext": (c_void_p,),
    "aclrtSetCurrentContext": (c_void_p,),
    "aclrtGetCurrentContext": (POINTER(c_void_p),),
    "aclGetRecentErrMsg": (),
    # memory
    "aclrtMalloc": (POINTER(c_void_p), c_size_t, c_int),
    "aclrtFree": (c_void_p,),
    "aclrtMallocHost": (POINTER(c_void_p), c_size_t),
    "aclrtFreeHost": (c_void_p,),
    "aclrtMemcpy": (c_void_p, c_size_t, c_void_p, c_size_t, c_int),
    "aclrtMemcpyAsync": (c_void_p, c_size_t, c_void_p, c_size_t, c_int, c_void_p),
    "aclrtMemset": (c_void_p, c_size_t, c_int32, c_size_t),
    "aclrtMemsetAsync": (c_void_p, c_size_t, c_int32, c_size_t, c_void_p),
    "aclrtGetMemInfo": (c_int, POINTER(c_size_t), POINTER(c_size_t)),
    # streams
    "aclrtCreateStream": (POINTER(c_void_p),),
    "aclrtCreateStreamWithConfig": (POINTER(c_void_p), c_uint32, c_uint32),
    "aclrtDestroyStream": (c_void_p,),
    "aclrtSynchronizeStream": (c_void_p,),
    "aclrtSynchronizeStreamWithTimeout": (c_void_p, c_int32),
    "aclrtStreamQuery": (c_void_p, POINTER(c_int)),
    "aclrtSynchronizeDevice": (),
    "aclrtSetStreamFailureMode": (c_void_p, c_uint64),
    "aclrtLaunchHostFunc": (c_void_p, HostFunction, c_void_p),
    # events
    "aclrtCreateEvent": (POINTER(c_void_p),),
    "aclrtCreateEventExWithFlag": (POINTER(c_void_p), c_uint32),
    "aclrtDestroyEvent": (c_void_p,),
    "aclrtRecordEvent": (c_void_p, c_void_p),
    "aclrtStreamWaitEvent": (c_void_p, c_void_p),
    "aclrtResetEvent": (c_void_p, c_void_p),
    "aclrtQueryEventStatus": (c_void_p, POINTER(c_int)),
    "aclrtSynchronizeEvent": (c_void_p,),
    "aclrtEventElapsedTime": (POINTER(c_float), c_void_p, c_void_p),
    # graph capture, task groups and their update
    "aclmdlRICaptureBegin": (c_void_p, c_int),
    "aclmdlRICaptureEnd": (c_void_p, POINTER(c_void_p)),
    "aclmdlRICaptureGetInfo": (c_void_p, POINTER(c_int), POINTER(c_void_p)),
    "aclmdlRIExecuteAsync": (c_void_p, c_void_p),
    "aclmdlRIDestroy": (c_void_p,),
    "aclmdlRICaptureTaskGrpBegin": (c_void_p,),
    "aclmdlRICaptureTaskGrpEnd": (c_void_p, POINTER(c_void_p)),
    "aclmdlRICaptureTaskUpdateBegin": (c_void_p, c_void_p),
    "aclmdlRICaptureTaskUpdateEnd": (c_void_p,),
    # kernel libraries, argument lists and launches by handle
    "aclrtBinaryLoadFromFile": (c_char_p, c_void_p, POINTER(c_void_p)),
    "aclrtBinaryUnLoad": (c_void_p,),
    "aclrtBinaryGetFunction": (c_void_p, c_char_p, POINTER(c_void_p)),
    "aclrtKernelArgsInit": (c_void_p, POINTER(c_void_p)),
    "aclrtKernelArgsAppend": (c_void_p, c_void_p, c_size_t, POINTER(c_void_p)),
    "aclrtKernelArgsAppendPlaceHolder": (c_void_p, POINTER(c_void_p)),
    "aclrtKernelArgsGetPlaceHolderBuffer": (c_void_p, c_void_p, c_size_t, POINTER(c_void_p)),
    "aclrtKernelArgsParaUpdate": (c_void_p, c_void_p, c_void_p, c_size_t),
    "aclrtKernelArgsFinalize": (c_void_p,),
    "aclrtLaunchKernelWithConfig": (c_void_p, c_uint32, c_void_p, c_void_p, c_void_p, c_void_p),
    "aclrtLaunchKernelWithHostArgs": (
        *(c_void_p, c_uint32, c_void_p, c_void_p, c_void_p, c_size_t),
        *(POINTER(PlaceHolderInfo), c_size_t),
    ),
}
RETURNS: dict[str, Any] = {"aclrtGetSocName": c_char_p, "aclGetRecentErrMsg": c_char_p}
# What a profiler's trace calls the calls.
CATEGORIES = {
    "aclrtMemcpy": "copy",
    "aclrtMemcpyAsync": "copy",
    "aclrtSynchronizeDevice": "wait",
    "aclrtSynchronizeEvent": "wait",
    "aclrtRecordEvent": "event",
    "aclrtStreamWaitEvent": "event",
    "aclmdlRIExecuteAsync": "replay",
}
# What an older CANN may lack: a call of it says so, and all else works.
NEWER = ("aclmdlRI", "aclrtBinary", "aclrtKernelArgs", "aclrtLaunchKernelWith")


@dataclass(frozen=True)
class Acl:
    """An opened ACL library; every symbol of the table is resolved, but for ``NEWER`` ones that it lacks."""

    path: str
    simulated: bool
    functions: dict[str, Callable[..., Any]]
    process: int = field(default_factory=os.getpid)  # that opened it

    @property
    def forked(self) -> bool:
        """Whether this process is a forked child of the one that opened the library, and so cannot use it."""
        return os.getpid() != self.process

    def call(self, symbol: str, *arguments: Any) -> None:
        """Calls a symbol; raises ``NpuError`` where it does not return 0. A profiler records the call."""
        with span(CATEGORIES.get(symbol, "call"), symbol):
            code = self.functions[symbol](*arguments)
        if code != 0:
            raise self.error(code, symbol)

    def wait(self, stream: int) -> int:
        """Waits for a stream's work and returns the code. Ctrl-C ends the wait, not the work."""
        synchronize = self.functions["aclrtSynchronizeStreamWithTimeout"]
        with span("wait", "aclrtSynchronizeStream"):
            while (code := synchronize(stream, SLICE)) == STREAM_SYNC_TIMEOUT:
                self.recent_message()  # that it timed out, which is no error here
        return code  # type: ignore[no-any-return]

    def wait_on(self, stream: int) -> int:
        """As `wait`, where a wait has timed out, which is no error either."""
        self.recent_message()
        return self.wait(stream)

    def error(self, code: int, what: str) -> NpuError:
        """The exception for a code that ``what`` returned, with the library's own message (which this takes)."""
        launches = npu_recent_launches(npu_current_device())
        return explain(code, what, self.recent_message(), launches, forked=self.forked)

    def recent_message(self) -> str:
        """The calling thread's most recent error message, which reading clears."""
        text = self.functions["aclGetRecentErrMsg"]()
        return text.decode(errors="replace") if text else ""

    def address(self, symbol: str) -> int:
        """The symbol's address; 0 where the library lacks it."""
        function = self.functions[symbol]
        return 0 if isinstance(function, functools.partial) else ctypes.cast(function, c_void_p).value or 0  # type: ignore[arg-type]


def open_library(path: str, simulated: bool) -> Acl:
    """Opens an ACL library and resolves the table. Raises OSError where it cannot be opened or lacks a symbol."""
    file = Path(path)
    problem = elf.cut_short(file) if file.is_file() else None  # a name without a folder is the loader's to find
    if problem is not None:
        raise OSError(f"{path} cannot be loaded: {problem}")
    library = ctypes.CDLL(path)
    functions: dict[str, Callable[..., Any]] = {}
    missing = []
    for symbol, arguments in SIGNATURES.items():
        try:
            function = getattr(library, symbol)
        except AttributeError:
            if symbol.startswith(NEWER):
                functions[symbol] = functools.partial(_refuse, path, symbol)
            else:
                missing.append(symbol)
            continue
        function.argtypes, function.restype = arguments, RETURNS.get(symbol, c_int)
        functions[symbol] = function
    if missing:
        raise OSError(f"{path} lacks the ACL symbols {', '.join(missing)}: is it from an older CANN?")
    return Acl(path, simulated, functions)


def _refuse(path: str, symbol: str, *arguments: Any) -> int:
    raise NotImplementedError(f"{path} has no {symbol}: this CANN is too old for it; install a newer one")


@functools.cache
def library() -> Acl:
    """The ACL library of this process, opened and initialised at the first call; one log line says which it is."""
    acl = _choose(os.environ.get("MINDTORCH_NPU", "auto"))
    code = acl.functions["aclInit"](None)
    if code not in (0, ALREADY_INITIALISED):
        raise acl.error(code, "aclInit")
    import logging  # here, as a program that uses no NPU starts without it

    log = logging.getLogger("mindtorch_v2.npu")
    log.info("NPU library: %s (%s)", acl.path, "the simulated NPU" if acl.simulated else "CANN")
    return acl


def _choose(choice: str) -> Acl:
    if choice not in ("real", "sim", "auto"):
        raise ValueError(f"MINDTORCH_NPU must be 'real', 'sim' or 'auto', got {choice!r}")
    if choice == "sim":
        return open_library(str(paths.simulator_library()), simulated=True)
    tried = []
    for candidate in _cann_candidates():
        try:
            acl = open_library(candidate, simulated=False)
        except OSError as error:
            tried.append(f"{candidate} ({error})")
            continue
        if choice == "real" or _has_device(acl):
            return acl
        tried.append(f"{candidate} (it sees no device)")
    if choice == "real":
        raise RuntimeError(
            "MINDTORCH_NPU=real, but CANN's libascendcl.so could not be opened; tried " + "; ".join(tried) + ". "
            "Source CANN's set_env.sh, or use MINDTORCH_NPU=sim for the simulated NPU"
        )
    return open_library(str(paths.simulator_library()), simulated=True)


def _cann_candidates() -> list[str]:
    home = os.environ.get("ASCEND_TOOLKIT_HOME") or os.environ.get("ASCEND_HOME_PATH")
    inside = [str(Path(home) / "lib64" / "libascendcl.so")] if home else []
    return [*inside, "libascendcl.so"]


def _has_device(acl: Acl) -> bool:
    count = c_uint32()
    acl.functions["aclInit"](None)
    return bool(acl.functions["aclrtGetDeviceCount"](ctypes.byref(count)) == 0 and count.value > 0)
