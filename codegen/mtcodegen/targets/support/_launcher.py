"""Kernels of C libraries, called through ctypes with arguments of declared types."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["KernelLauncher", "Launching", "pack"]


class Launching(ABC):
    """What kernels need to know of a runtime's tensors."""

    Tensor: type[Any]

    @abstractmethod
    def dtype_name(self, dtype: Any) -> str:
        """Such as ``float32``."""

    @abstractmethod
    def half_bits(self, value: float, name: str) -> int:
        """A number as the bits of a ``float16`` or ``bfloat16``."""

    @abstractmethod
    def blocked(self, symbol: str, abi: str, blocks: int | None) -> tuple[str, tuple[Any, ...]]:
        """How a library calls a kernel of an abi, and what is passed to it first."""

    @abstractmethod
    def place(self, tensor: Any, abi: str) -> str | None:
        """What is wrong with where a tensor is, for a kernel of an abi."""


@dataclass(frozen=True)
class CType:
    """How an argument is passed: its C type, and from what Python value."""

    ctype: Any
    converter: Callable[[Launching], Callable[[Any], Any]]


def _pointer(value: Any) -> int | None:
    """The address of a tensor's memory; a stream is one."""
    if isinstance(value, int):
        return value
    if value is not None and not value.is_contiguous():
        raise RuntimeError("a kernel takes contiguous tensors; write `contiguous(x)` or `desc(x)` in its `args`")
    return None if value is None else value.data_ptr()


class _Descriptor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("ndim", ctypes.c_int64),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("dtype", ctypes.c_int32),
        ("itemsize", ctypes.c_int32),
    )


_DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")


def _described(of: Launching, value: Any) -> Any:
    if value is None:
        return None
    sizes = ctypes.c_int64 * max(1, value.dim())
    code = _DTYPES.index(of.dtype_name(value.dtype))
    shape, strides = sizes(*value.shape), sizes(*value.stride())
    return ctypes.byref(_Descriptor(value.data_ptr(), value.dim(), shape, strides, code, value.itemsize))


class _Context(ctypes.Structure):
    """``mt_context`` of mindtorch_kernel.h, where nothing is known of what comes next."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        *((name, ctypes.c_int32) for name in ("next", "device", "device_index", "next_device", "next_device_index")),
        *((name, ctypes.c_int32) for name in ("commit_and_continue", "encoded")),
        *((name, ctypes.c_int64) for name in ("position", "operations")),
    )


_context = _Context(ctypes.sizeof(_Context), 0, 0, -1, 0, -1, 1, 0, -1, -1)


def _told(value: Any) -> int:
    return ctypes.addressof(_context)


def _half(name: str) -> Callable[[Launching], Callable[[Any], Any]]:
    return lambda of: lambda value: of.half_bits(float(value), name)


_INTS = {f"{sign}{bits}": bits for sign in "iu" for bits in (8, 16, 32, 64)}
c_types = {
    **{
        name: CType(getattr(ctypes, f"c_{'u' if name[0] == 'u' else ''}int{bits}"), lambda of: int)
        for name, bits in _INTS.items()
    },
    "f32": CType(ctypes.c_float, lambda of: float),
    "f64": CType(ctypes.c_double, lambda of: float),
    "bool_": CType(ctypes.c_bool, lambda of: bool),
    "host": CType(ctypes.c_char_p, lambda of: bytes),
    "f16": CType(ctypes.c_uint16, _half("float16")),
    "bf16": CType(ctypes.c_uint16, _half("bfloat16")),
    "ptr": CType(ctypes.c_void_p, lambda of: _pointer),
    "context": CType(ctypes.c_void_p, lambda of: _told),
    "desc": CType(ctypes.c_void_p, lambda of: functools.partial(_described, of)),
}


def pack(of: Launching, fields: Sequence[tuple[str, str]]) -> Callable[..., bytes]:
    """What packs a struct, of fields with C types, as C lays it out."""
    layout = type("Fields", (ctypes.Structure,), {"_fields_": [(name, c_types[kind].ctype) for name, kind in fields]})
    converters = [c_types[kind].converter(of) for _, kind in fields]

    def packed(*values: Any) -> bytes:
        return bytes(layout(*(convert(value) for convert, value in zip(converters, values, strict=True))))

    return packed


class KernelLauncher:
    """The kernels of one library, opened, or built from its sources, at the first call: ``launcher["symbol"]``."""

    def __init__(self, path: str, relative_to: str) -> None:
        beside = Path(relative_to).parent / path
        self._path = str(beside) if beside.is_file() or "/" in path else path
        self._sources: list[Path] = []
        self._options: list[str] = []

    @classmethod
    def from_source(
        cls,
        name: str,
        sources: Sequence[str],
        relative_to: str,
        *,
        include: Sequence[str] = (),
        defines: Mapping[str, str] | None = None,
        flags: Sequence[str] = (),
    ) -> KernelLauncher:
        """Kernels of a library that the system's C or C++ compiler makes, with folders of headers and macros."""
        launcher = cls(name, relative_to)
        folder = Path(relative_to).parent
        launcher._sources = [folder / source for source in sources]
        macros = [f"-D{macro}={value}" for macro, value in (defines or {}).items()]
        launcher._options = [*(f"-I{(folder / path).resolve()}" for path in include), *macros, *flags]
        return launcher

    def __getitem__(self, symbol: str) -> tuple[KernelLauncher, str]:
        return self, symbol

    @functools.cached_property
    def handle(self) -> ctypes.CDLL:
        """The opened library. Raises OSError where there is none, CalledProcessError where it does not compile."""
        return ctypes.CDLL(str(self._built()) if self._sources else self._path)

    def _built(self) -> Path:
        parts = [*(source.read_bytes() for source in self._sources), *(option.encode() for option in self._options)]
        key = hashlib.sha256(b"".join(parts)).hexdigest()[:32]
        folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "mtcodegen"
        built = folder / f"{key}.so"
        if not built.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            only_c = all(source.suffix == ".c" for source in self._sources)
            compiler = os.environ.get("CC", "cc") if only_c else os.environ.get("CXX", "c++")
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                made = Path(scratch) / "kernels.so"
                command: list[str | Path] = [
                    compiler,
                    "-O3",
                    "-ffp-contract=off",
                    "-fPIC",
                    "-shared",
                    "-o",
                    made,
                    *self._options,
                    *self._sources,
                ]
                subprocess.run(command, check=True)
                made.replace(built)
        return built

    def bind(
        self, of: Launching, symbol: str, types: Sequence[str], *, abi: str, dtypes: Sequence[Any] | None
    ) -> Callable[..., None]:
        """What calls a kernel with a number of blocks, and a value for each C type.

        ``dtypes`` has an entry for each, None where any is taken. The call raises RuntimeError where a tensor is of
        another dtype or elsewhere, and where the kernel returns nonzero.
        """
        if "generator" in types:
            raise RuntimeError(f"{symbol}: draws from a generator of mindtorch_v2's, which this library has not")
        converters = [c_types[kind].converter(of) for kind in types]
        places = [at for at, kind in enumerate(types) if kind in ("ptr", "desc")]
        allowed = [None] * len(types) if dtypes is None else dtypes
        functions: list[Any] = []  # not shared: argtypes are set on the function object

        def launch(blocks: int | None, *values: Any) -> None:
            for at in places:
                if isinstance(values[at], of.Tensor):
                    _check(of, symbol, abi, values[at], allowed[at])
            name, leading = of.blocked(symbol, abi, blocks)
            if not functions:
                function = self.handle[name]
                function.argtypes = (*_LEADING[: len(leading)], *(c_types[kind].ctype for kind in types))
                functions.append(function)
            status = functions[0](*leading, *[convert(value) for convert, value in zip(converters, values)])  # noqa: B905 - the plan passes as many
            if status:
                raise RuntimeError(f"{symbol}: returned {status}")

        return launch


def _check(of: Launching, symbol: str, abi: str, tensor: Any, allowed: Sequence[Any] | None) -> None:
    if (wrong := of.place(tensor, abi)) is not None:
        raise RuntimeError(f"{symbol}: {wrong}")
    if allowed is not None and tensor.dtype not in allowed:
        raise RuntimeError(f"{symbol}: expected {' or '.join(map(str, allowed))}, got {tensor.dtype}")


_LEADING: tuple[Any, ...] = (ctypes.c_uint32, ctypes.c_void_p)  # of an AscendC kernel: the number of blocks, the stream
