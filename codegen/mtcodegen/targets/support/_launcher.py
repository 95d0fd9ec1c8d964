"""Kernels of C libraries, called through ctypes with arguments of declared types."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["CType", "KernelLauncher", "Launching", "c_types", "pack"]


class Launching:
    """What kernels need to know of a runtime's tensors."""

    Tensor: type[Any]

    def dtype_name(self, dtype: Any) -> str:
        """Such as ``float32``."""
        raise NotImplementedError

    def half_bits(self, value: float, name: str) -> int:
        """A number as the bits of a ``float16`` or ``bfloat16``."""
        raise NotImplementedError

    def blocked(self, symbol: str, abi: str, blocks: int | None) -> tuple[str, tuple[Any, ...]]:
        """How a library calls a kernel of an abi, and what is passed to it first."""
        raise NotImplementedError

    def place(self, tensor: Any, abi: str) -> str | None:
        """What is wrong with where a tensor is, for a kernel of an abi."""
        raise NotImplementedError


@dataclass(frozen=True)
class CType:
    """How an argument is passed: its C type, and from what Python value."""

    name: str
    ctype: Any
    convert: Callable[[Launching, Any], Any]


def _pointer(of: Launching, value: Any) -> int | None:
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


def _plain(name: str, ctype: Any, convert: Callable[[Any], Any]) -> CType:
    return CType(name, ctype, lambda of, value: convert(value))


_ALL = [
    *(_plain(f"i{bits}", getattr(ctypes, f"c_int{bits}"), int) for bits in (8, 16, 32, 64)),
    *(_plain(f"u{bits}", getattr(ctypes, f"c_uint{bits}"), int) for bits in (8, 16, 32, 64)),
    _plain("f32", ctypes.c_float, float),
    _plain("f64", ctypes.c_double, float),
    _plain("bool_", ctypes.c_bool, bool),
    _plain("host", ctypes.c_char_p, bytes),
    CType("f16", ctypes.c_uint16, lambda of, value: of.half_bits(float(value), "float16")),
    CType("bf16", ctypes.c_uint16, lambda of, value: of.half_bits(float(value), "bfloat16")),
    CType("ptr", ctypes.c_void_p, _pointer),
    CType("desc", ctypes.c_void_p, _described),
]
c_types = {ctype.name: ctype for ctype in _ALL}


@functools.lru_cache(maxsize=256)
def _layout(fields: tuple[tuple[str, str], ...]) -> type[ctypes.Structure]:
    return type("Fields", (ctypes.Structure,), {"_fields_": [(name, c_types[kind].ctype) for name, kind in fields]})


def pack(of: Launching, fields: tuple[tuple[str, str], ...], values: Sequence[Any]) -> bytes:
    """A struct, by its fields' names and C types, as C lays it out."""
    converted = (c_types[kind].convert(of, value) for (_, kind), value in zip(fields, values, strict=True))
    return bytes(_layout(fields)(*converted))


class KernelLauncher:
    """The kernels of one library, opened, or built from its sources, at the first call: ``launcher["symbol"]``."""

    def __init__(self, path: str, relative_to: str) -> None:
        beside = Path(relative_to).parent / path
        self._path = str(beside) if beside.is_file() or "/" in path else path
        self._sources: list[Path] = []
        self._functions: dict[Any, Any] = {}

    @classmethod
    def from_source(cls, name: str, sources: Sequence[str], relative_to: str) -> KernelLauncher:
        """Kernels of a library that the system's C or C++ compiler makes."""
        launcher = cls(name, relative_to)
        launcher._sources = [Path(relative_to).parent / source for source in sources]
        return launcher

    def __getitem__(self, symbol: str) -> tuple[KernelLauncher, str]:
        return self, symbol

    @functools.cached_property
    def handle(self) -> ctypes.CDLL:
        """The opened library. Raises OSError where there is none, CalledProcessError where it does not compile."""
        return ctypes.CDLL(str(self._built()) if self._sources else self._path)

    def _built(self) -> Path:
        key = hashlib.sha256(b"".join(source.read_bytes() for source in self._sources)).hexdigest()[:32]
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
                    *self._sources,
                ]
                subprocess.run(command, check=True)
                made.replace(built)
        return built

    def _function(self, name: str, types: tuple[Any, ...]) -> Any:
        """A function of the library, of its own for each list of types: another thread may call it with others."""
        function = self.handle[name]
        function.argtypes = types
        self._functions[name, types] = function
        return function

    def launch(
        self,
        of: Launching,
        symbol: str,
        arguments: Sequence[tuple[CType, Any]],
        *,
        abi: str,
        blocks: int | None,
        dtypes: Sequence[Sequence[Any] | None],
    ) -> None:
        """Calls a kernel; ``dtypes`` has an entry for each argument, None where any is taken.

        Raises RuntimeError where a tensor is of another dtype or elsewhere, and where the kernel returns nonzero.
        """
        for (_, value), allowed in zip(arguments, dtypes, strict=True):
            if not isinstance(value, of.Tensor):
                continue
            if (wrong := of.place(value, abi)) is not None:
                raise RuntimeError(f"{symbol}: {wrong}")
            if allowed is not None and value.dtype not in allowed:
                raise RuntimeError(f"{symbol}: expected {' or '.join(map(str, allowed))}, got {value.dtype}")
        name, leading = of.blocked(symbol, abi, blocks)
        types = (*_LEADING[: len(leading)], *[ctype.ctype for ctype, _ in arguments])
        function = self._functions.get((name, types)) or self._function(name, types)
        status = function(*leading, *(ctype.convert(of, value) for ctype, value in arguments))
        if status:
            raise RuntimeError(f"{symbol}: returned {status}")


_LEADING: tuple[Any, ...] = (ctypes.c_uint32, ctypes.c_void_p)  # of an AscendC kernel: the number of blocks, the stream
