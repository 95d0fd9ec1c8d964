"""KernelLauncher: compiled kernels of a library, found, opened and checked at their first launch."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._argument_types import names_wrong_types
from .._core import CType, Kernel, argument_types, dtype, interrupt_poll
from . import elf, paths, runtime
from .streams import Stream

__all__ = ["KernelLauncher", "ascendc_load"]

Dtypes = Sequence[dtype] | Sequence[Sequence[dtype] | None] | None
_PREFIX = "aclrtlaunch_"


class KernelLauncher:
    """The kernels of one library.

    ``path`` is absolute, or looked for beside the file ``relative_to`` (beside the working directory where that is
    None), in the folders of ``MINDTORCH_LIBRARY_PATH``, in the package's own library folder, and where the system
    looks. Nothing is opened before the first launch.
    """

    def __init__(self, path: str | os.PathLike[str], relative_to: str | os.PathLike[str] | None = None) -> None:
        self.name = os.fspath(path)
        self._base = _folder(relative_to)
        self._sources: tuple[Path, ...] = ()
        self._opened: dict[str, _Library] = {}
        self._kernels: dict[str, list[Kernel]] = {}  # by name, one for each list of types it was launched with

    @classmethod
    def from_source(
        cls,
        name: str,
        sources: Sequence[str | os.PathLike[str]],
        relative_to: str | os.PathLike[str] | None = None,
    ) -> KernelLauncher:
        """Kernels of a library that is built from sources at the first launch: by CANN or the simulator's compiler for
        kernels bound with ``abi="ascendc"``, by the host's for ``abi="c"``. The result is kept in a cache.
        """
        launcher = cls(name, relative_to)
        launcher._sources = tuple(launcher._base / source for source in sources)
        return launcher

    def bind(self, symbol: str, types: Sequence[CType], *, abi: str = "ascendc", dtypes: Dtypes = None) -> Kernel:
        """A kernel with declared argument types: ``kernel(block_dim, *args)``, with ``abi="c"`` ``kernel(*args)``.

        ``symbol`` is the kernel's name; with ``abi="ascendc"`` the library exports it as ``aclrtlaunch_<symbol>``.
        ``dtypes`` are those the kernel is compiled for, see ``Kernel``. Library and symbol are opened at the first
        launch, which raises FileNotFoundError or RuntimeError where there is none.
        """
        types = tuple(types)
        return Kernel(symbol, functools.partial(self._address, symbol, types, abi), types, abi=abi, dtypes=dtypes)

    def __getitem__(self, symbol: str) -> tuple[KernelLauncher, str]:
        """One of its kernels, for ``op.launch`` of a definition."""
        return self, symbol

    def launch(self, name: str, *, block_dim: int, args: Sequence[Any] = (), stream: Stream | None = None) -> None:
        """Launches an AscendC kernel whose arguments say their C types themselves, on the current stream or ``stream``.

        Each argument is a tensor, a pointer (``tensor_ptr``), None, bytes (a struct by value), or a typed scalar such
        as ``npu.f32(2.0)``. A bare number is refused: nothing would say what it is in C.
        """
        args = tuple(args)
        for kernel in self._kernels.get(name, ()):
            if kernel.accepts(args):
                break
        else:
            kernel = self.bind(name.removeprefix(_PREFIX), argument_types(name, args))
            self._kernels.setdefault(name, []).append(kernel)
        if stream is None:
            kernel.launch(block_dim, args)
        elif isinstance(stream, Stream):
            kernel.launch_on(stream.device_index, stream.npu_stream, block_dim, args)
        else:
            raise TypeError(
                f"kernel {name}: stream must be an npu.Stream or None, got {type(stream).__name__} {stream!r}"
            )

    def symbols(self, abi: str = "ascendc") -> list[str]:
        """The names of what the library exports; opens it."""
        return elf.exported_symbols(self._open(abi).path)

    def _open(self, abi: str) -> _Library:
        library = self._opened.get(abi)
        if library is None:
            if abi == "ascendc":
                runtime.init()  # the library's own dependency on ACL is met by the one in use
            library = self._opened[abi] = _load(self._build(abi) if self._sources else self._find())
        return library

    def _build(self, abi: str) -> Path:
        from . import build  # imported here: most programs build nothing, and it takes a tenth of the runtime's start

        if abi == "ascendc":
            return build.build_ascendc(self.name, self._sources)
        return build.build_native(self.name, self._sources)

    def _find(self) -> Path:
        named = Path(self.name)
        places = [self._base / named]
        if not named.is_absolute():
            given = [
                Path(folder) for folder in os.environ.get("MINDTORCH_LIBRARY_PATH", "").split(os.pathsep) if folder
            ]
            places += [folder / named.name for folder in (*given, *paths.library_dirs())]
        for place in places:
            if place.is_file():
                return place.resolve()
        tried = [str(place) for place in places]
        if named.name == self.name:
            found, reason = _system_library(self.name)
            if found is not None:
                return found
            tried.append(f"the system's libraries ({reason})")
        raise FileNotFoundError(
            f"kernel library {self.name!r} was not found; tried:\n  "
            + "\n  ".join(tried)
            + "\nbuild it, or add its folder to MINDTORCH_LIBRARY_PATH"
        )

    def _address(self, kernel: str, types: tuple[CType, ...], abi: str) -> tuple[int, dict[int, int]]:
        """The kernel's address, and the sizes of its structs as far as the library tells them."""
        library = self._open(abi)
        symbol = _PREFIX + kernel if abi == "ascendc" else kernel
        address = library.address(symbol)
        if address is None:
            raise RuntimeError(_missing_symbol(library.path, symbol))
        signature = library.text(f"mtsim_signature_{kernel}") if abi == "ascendc" else None
        if signature is None:
            return address, {}
        words = [word for word in signature.split(",") if word]
        _check_signature(kernel, [_declared_as(word) for word in words], [t.name for t in types])
        return address, {i: int(word.partition(":")[2]) for i, word in enumerate(words) if word.startswith("struct:")}

    def __repr__(self) -> str:
        return f"<KernelLauncher {self.name!r}>"


class _Library:
    """An opened shared library; it stays open for the life of the process."""

    def __init__(self, path: Path, handle: ctypes.CDLL) -> None:
        self.path, self._handle = path, handle
        poll = self.address("mt_poll")  # of a library with kernels that include mindtorch_kernel.h
        if poll is not None:
            ctypes.c_void_p.from_address(poll).value = interrupt_poll()

    def address(self, symbol: str) -> int | None:
        try:
            return ctypes.cast(getattr(self._handle, symbol), ctypes.c_void_p).value
        except AttributeError:
            return None

    def text(self, symbol: str) -> str | None:
        """The zero-terminated string at a data symbol."""
        address = self.address(symbol)
        return None if address is None else ctypes.string_at(address).decode()


@names_wrong_types
def ascendc_load(name: str, sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> KernelLauncher:
    """Builds AscendC sources (paths from the working directory) now and returns the launcher of their kernels.

    Raises ``BuildError`` with the compiler's messages where that fails.
    """
    several = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    launcher = KernelLauncher.from_source(name, several)
    launcher._open("ascendc")
    return launcher


def _folder(relative_to: str | os.PathLike[str] | None) -> Path:
    return Path.cwd() if relative_to is None else Path(relative_to).resolve().parent


def _load(path: Path) -> _Library:
    problem = elf.wrong_architecture(path) or elf.cut_short(path)
    if problem is not None:
        raise OSError(f"kernel library {path} cannot be loaded: {problem}")
    try:
        return _Library(path, ctypes.CDLL(str(path)))
    except OSError as error:
        raise OSError(f"kernel library {path} cannot be loaded: {error}") from None


def _system_library(name: str) -> tuple[Path | None, str]:
    """The file that the system's loader finds under a name, and why it finds none."""
    try:
        ctypes.CDLL(name)
    except OSError as error:
        return None, str(error)
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.partition("/")
        if path[1] and Path(path[1] + path[2]).name.startswith(name):
            return Path(path[1] + path[2]), ""
    return None, f"{name}: loaded, but its file is unknown"


def _missing_symbol(path: Path, symbol: str) -> str:
    # Only what could have been meant, and compared without the prefix, which would make every name look near.
    prefix = _PREFIX if symbol.startswith(_PREFIX) else ""
    exported = [
        name.removeprefix(prefix)
        for name in elf.exported_symbols(path)
        if name.startswith(prefix) and not name.startswith(("_", "mtsim_signature_"))
    ]
    import difflib  # imported here, as only this error needs it

    near = difflib.get_close_matches(symbol.removeprefix(prefix), exported, n=3)
    if near:
        hint = f"did you mean {' or '.join(repr(prefix + name) for name in near)}?"
    elif exported:
        shown = ", ".join(prefix + name for name in exported[:10]) + (", ..." if len(exported) > 10 else "")
        hint = f"it exports {shown}"
    else:
        hint = "it exports nothing"
    return f"kernel library {path} has no symbol {symbol!r}; {hint}"


def _check_signature(kernel: str, compiled: list[str], declared: list[str]) -> None:
    """Compares declared types with those the kernel was compiled with, where the library tells (the simulator's do)."""
    if declared == compiled:
        return
    where = next((i for i, pair in enumerate(zip(declared, compiled, strict=False)) if pair[0] != pair[1]), None)
    detail = (
        f"argument {where + 1} is {compiled[where]}, not {declared[where]}"
        if where is not None
        else f"it takes {len(compiled)} arguments, not {len(declared)}"
    )
    raise TypeError(
        f"kernel {kernel}: declared with ({', '.join(declared)}), but compiled with ({', '.join(compiled)}): {detail}"
    )


def _declared_as(word: str) -> str:
    """The name of the C type that stands for a word of a library's signature; a struct goes by host address."""
    return {"bool": "bool_"}.get(word, "host" if word.startswith("struct:") else word)
