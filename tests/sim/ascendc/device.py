"""A bare ACL binding for the tests of AscendC kernels: memory, launches and asynchronous errors through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_TO_DEVICE, _TO_HOST = 1, 2


class AsyncError(Exception):
    """What a synchronisation returned, and the recent error message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code, message)
        self.code, self.message = code, message


class Device:
    """Device 0 of the simulated NPU."""

    def __init__(self, library: Path) -> None:
        self._acl = ctypes.CDLL(str(library))
        self._acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
        self._acl.aclInit(None)
        self._check(self._acl.aclrtSetDevice(0))
        self._stream = ctypes.c_void_p()
        self._check(self._acl.aclrtCreateStream(ctypes.byref(self._stream)))
        self._memory: list[ctypes.c_void_p] = []

    def allocate(self, size: int) -> ctypes.c_void_p:
        """Device memory of so many bytes, which nobody has written."""
        pointer = ctypes.c_void_p()
        self._check(self._acl.aclrtMalloc(ctypes.byref(pointer), ctypes.c_size_t(size), 0))
        self._memory.append(pointer)
        return pointer

    def upload(self, array: np.ndarray) -> ctypes.c_void_p:
        """A copy of the array in device memory."""
        data = np.ascontiguousarray(array)
        pointer = self.allocate(max(data.nbytes, 1))
        bytes_ = ctypes.c_size_t(data.nbytes)
        if data.nbytes:
            self._check(self._acl.aclrtMemcpy(pointer, bytes_, ctypes.c_void_p(data.ctypes.data), bytes_, _TO_DEVICE))
        return pointer

    def download(self, pointer: ctypes.c_void_p, like: np.ndarray) -> np.ndarray:
        """The array at a device address, after everything queued has run."""
        self.synchronize()
        result = np.empty_like(like)
        size = ctypes.c_size_t(result.nbytes)
        self._check(self._acl.aclrtMemcpy(ctypes.c_void_p(result.ctypes.data), size, pointer, size, _TO_HOST))
        return result

    def launch(self, kernel: Callable[..., int], blocks: int, *arguments: Any) -> None:
        self._check(kernel(ctypes.c_uint32(blocks), self._stream, *arguments))

    @property
    def stream(self) -> ctypes.c_void_p:
        """The stream that launches go to."""
        return self._stream

    def synchronize(self) -> None:
        self._check(self._acl.aclrtSynchronizeStream(self._stream))

    def free_all(self) -> None:
        """Ends a test: its stream, with whatever error it holds, and its memory go."""
        self._acl.aclrtDestroyStream(self._stream)
        for pointer in self._memory:
            self._acl.aclrtFree(pointer)
        self._acl.aclGetRecentErrMsg()

    def _check(self, code: int) -> None:
        if code != 0:
            message = self._acl.aclGetRecentErrMsg() or b""
            raise AsyncError(code, message.decode())
