"""KernelLauncher: compiled kernels of a library, found, opened and checked at their first launch."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .._argument_types import names_wrong_types
from .._core import CONTEXT_BYTES, CType, Kernel, KernelsByName, argument_types, dtype, interrupt_poll
from . import elf, paths, runtime
from .streams import Stream

__all__ = ["KernelLauncher", "ascendc_load"]

Dtypes = Sequence[dtype] | Sequence[Sequence[dtype] | None] | None
_PREFIX = "aclrtlaunch_"


class KernelLauncher(KernelsByName):
    """The kernels of one library.

    ``path`` is absolute, or looked for beside the file ``relative_to`` (beside the working directory where that is
    None), in the folders of ``MINDTORCH_LIBRARY_PATH``, in the package's own library folder, and where the system
    looks. Nothing is opened before the first launch.
    """

    def __init__(self, path: str | os.PathLike[str], relative_to: str | os.PathLike[str] | None = None) -> None:
        self.name = os.fspath(path)
        self._base = _folder(relative_to)
        self._sources: tuple[Path, ...] = ()
        self._options: dict[str, Any] = {}  # of the build
        self._opened: dict[str, _Library] = {}

    @classmethod
    def from_source(
        cls,
        name: str,
        sources: Sequence[str | os.PathLike[str]],
        relative_to: str | os.PathLike[str] | None = None,
        *,
        include: Sequence[str | os.PathLike[str]] = (),
        defines: Mapping[str, object] = MappingProxyType({}),
        flags: Sequence[str] = (),
    ) -> KernelLauncher:
        """Kernels of a library that is built from sources at the first launch: by CANN or the simulator's compiler for
        kernels bound with ``abi="ascendc"``, by the host's for ``abi="c"``. The result is kept in a cache.

        A source that declares tiling structs for an operator's host side gives them to the kernels. ``include`` are
        folders of headers, as the sources relative to ``relative_to``, ``defines`` macros by name, and ``flags`` go to
        the compiler as they are.
        """
        launcher = cls(name, relative_to)
        launcher._sources = tuple(launcher._base / source for source in sources)
        folders = [launcher._base / folder for folder in include]
        launcher._options = {"include_dirs": folders, "defines": dict(defines), "flags": list(flags)}
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

    def bound_for(self, name: str, args: tuple[Any, ...]) -> Kernel:
        """The kernel that `launch` looks for, with the C types that these arguments carry."""
        return self.bind(name.removeprefix(_PREFIX), argument_types(name, args))

    def launch_on(self, kernel: Kernel, stream: Stream, block_dim: int, args: tuple[Any, ...]) -> None:
        """What `launch` does with a stream. Raises TypeError where it is none."""
        if not isinstance(stream, Stream):
            got = type(stream).__name__
            raise TypeError(f"kernel {kernel.name}: stream must be an npu.Stream or None, got {got} {stream!r}")
        kernel.launch_on(stream.device_index, stream.npu_stream, block_dim, args)

    def symbols(self, abi: str = "ascendc") -> list[str]:
        """The names of what the library exports; opens it."""
        return elf.exported_symbols(self._open(abi).path)

    def kernels(self) -> dict[str, tuple[str, ...] | None]:
        """The AscendC kernels of the library, each with the names of its arguments' C types, as ``bind`` takes them.

        None in place of the types where the library does not tell them, which CANN's do not. Opens it.
        """
        library = self._open("ascendc")
        names = [name.removeprefix(_PREFIX) for name in self.symbols() if name.startswith(_PREFIX)]
        found: dict[str, tuple[str, ...] | None] = {}
        for name in names:
            words = library.text(f"mtsim_signature_{name}")
            found[name] = None if words is None else tuple(_declared_as(word) for word in words.split(",") if word)
        return found

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
            return build.build_ascendc(self.name, self._sources, **self._options)
        return build.build_native(self.name, self._sources, **self._options)

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
        # A context is a struct whose size the header says.
        _check_signature(
            kernel, [_declared_as(word) for word in words], ["host" if t.name == "context" else t.name for t in types]
        )
        for i, word in enumerate(words):
            if types[i].name == "context" and int(word.partition(":")[2]) > CONTEXT_BYTES:
                raise RuntimeError(
                    f"kernel {kernel}, argument {i + 1}: compiled with an mt_context of {word.partition(':')[2]} "
                    f"bytes, and this runtime's has {CONTEXT_BYTES}: build it with this runtime's mindtorch_kernel.h"
                )
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
def ascendc_load(
    name: str,
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    include: Sequence[str | os.PathLike[str]] = (),
    defines: Mapping[str, object] = MappingProxyType({}),
    flags: Sequence[str] = (),
) -> KernelLauncher:
    """Builds AscendC sources (paths from the working directory) now and returns the launcher of their kernels.

    The options are those of ``KernelLauncher.from_source``. Raises ``BuildError`` with the compiler's messages where
    that fails.
    """
    several = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    launcher = KernelLauncher.from_source(name, several, include=include, defines=defines, flags=flags)
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
