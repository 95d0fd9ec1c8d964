"""Compile AscendC kernels and plain C/C++ kernels into libraries, once, on first use.

AscendC sources go to CANN where its library drives the NPU, else to the host compiler with the simulated NPU's headers.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import re
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType

from .._argument_types import names_wrong_types
from . import acl, build_cache, cann_build, paths
from .build_errors import BuildError, hint
from .host_tiling import device_header, is_host_source
from .kernel_source import (
    KernelSignature,
    kernel_tasks,
    launch_function,
    rewrite_launches,
    scan_kernels,
    stub_source,
    uses_block_barrier,
    with_runtime_core_type,
)

__all__ = ["BuildError", "build_ascendc", "build_native", "checking"]

_C_SUFFIXES = (".c",)
_NO_SPACE = ("No space left on device", "File too large", "File size limit exceeded", "Disk quota exceeded")
_ANY_FLAGS = ("-march=native", "-ffp-contract=off", "-fPIC", "-fdiagnostics-color=never")
_HOST_FLAGS = ("-O3", *_ANY_FLAGS)
# Of what -O3 adds to -O1, the headers' loops need vectors most; the rest is a third of the time that a kernel compiles.
_GCC_OPTIMISATION = ("-O1", "-ftree-loop-vectorize", "-fvect-cost-model=dynamic")
# Kernels view the same local memory as several types, which the chip's compiler allows.
_ASCENDC_FLAGS = (
    *_ANY_FLAGS,
    "-std=c++20",  # whose rules let f<T>(tensor) find AscendC::f, as the chip's compiler does
    "-fno-strict-aliasing",
    "-fno-math-errno",
    "-fvisibility=hidden",
    "-fno-gnu-unique",
    "-Wno-unknown-pragmas",
)
# Qualifiers of kernels that the preprocessor is to leave as they are.
_VISIBLE = tuple(f"-D{name}={name}" for name in ("__global__", "__cube__", "__vector__", "__mix__(cube,vector)"))
# What the simulated NPU's checker needs to know: it is told what a kernel does, and finds the lines that did it.
_CHECKED_FLAGS = ("-DMTSIM_CHECK", "-g1", "-gdwarf-4", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls")
# Every access by a pointer is a call of impl/pointers.h: of GCC's sanitizer no more than these calls is used.
_POINTER_FLAGS = (
    *("-fsanitize=kernel-address", "--param=asan-globals=0", "--param=asan-stack=0"),
    "--param=asan-instrumentation-with-call-threshold=0",
)


@names_wrong_types
def build_ascendc(
    name: str,
    sources: Sequence[str | Path],
    *,
    include_dirs: Sequence[str | Path] = (),
    defines: Mapping[str, object] = MappingProxyType({}),
    flags: Sequence[str] = (),
    library: str | Path | None = None,
) -> Path:
    """Builds AscendC sources into a library that exports ``aclrtlaunch_<kernel>`` for each kernel in them.

    Sources that declare tiling structs for the host (``BEGIN_TILING_DATA_DEF``) are read for these structs, which the
    kernels get, and not compiled. ``defines`` are macros by name. ``library`` is the simulator to link instead of the
    package's own. Returns the library's path in the cache. Raises ``BuildError`` for a missing source or compiler, a
    source without kernels, or a compiler's error.
    """
    files = _existing(name, sources)
    hosts = [file for file in files if is_host_source(file)]
    files = [file for file in files if file not in hosts]
    flags = [*_definitions(name, defines), *flags]
    if not acl.library().simulated:
        if hosts:
            raise BuildError(
                f"kernel library {name!r}: {hosts[0].name} is the host side of an operator project, which CANN builds: "
                "name the library that it makes, with `library:`"
            )
        folders = [*include_dirs, *paths.kernel_includes()]
        return cann_build.build(cann_build.toolkit(), name, files, folders, flags)
    compiler = _compiler("CXX", "g++")
    includes = paths.simulator_includes()
    simulator = Path(library).resolve() if library is not None else paths.simulator_library()
    headers = [_contents(path) for folder in includes for path in sorted(folder.rglob("*.h"))]
    common = [
        *compiler,
        *_ASCENDC_FLAGS,
        *(_checked_flags(compiler) if checking() else _optimisation(compiler)),
        *(argument for folder in includes for argument in ("-isystem", str(folder))),
    ]
    folders = [*include_dirs, *paths.kernel_includes()]  # mindtorch_kernel.h, for kernels that take a context
    command = [*common, *(f"-I{Path(folder).resolve()}" for folder in folders), *flags]

    header = device_header(name, hosts, defines) if hosts else ""

    def build(folder: Path) -> set[Path]:
        precompiled = _precompiled(common, build_cache.digest(headers))
        compile_ = [*command, *([f"-I{precompiled.parent}"] if precompiled else [])]
        preprocess = compile_
        host = None
        if header:
            host = folder / "mtsim_host_tiling.h"
            host.write_text(header)
            preprocess = [*compile_, "-include", str(host)]
        defined: dict[str, KernelSignature] = {}
        read: set[Path] = set()
        units = []
        for index, source in enumerate(files):
            expanded = _preprocess(name, preprocess, source)
            kernels = scan_kernels(expanded, str(source))
            tasks = kernel_tasks(expanded, str(source), includes)
            for kernel in kernels:
                _refuse_duplicate(name, defined, kernel)
            queue = launch_function(uses_block_barrier(expanded, str(source), includes))
            stub = _write_stub(folder, index, source, expanded, kernels, tasks, queue, host, read)
            units.append(([*compile_, "-iquote", str(source.parent), "-x", "c++"], stub))
        if not defined:
            raise BuildError(
                f"kernel library {name!r}: no kernel in {', '.join(map(str, files))}; "
                'expected a definition like extern "C" __global__ __aicore__ void kernel(GM_ADDR x, ...)'
            )
        objects = _compile_all(name, units, read)
        _link(name, compiler, objects, [str(simulator), f"-Wl,-rpath,{simulator.parent}"], folder / f"lib{name}.so")
        own = [precompiled.parent, *includes] if precompiled else includes  # which the recipe has
        return {path for path in read if not any(folder in path.parents for folder in own)}

    recipe = _recipe("ascendc", name, command, compiler, files, [str(simulator), header, *headers])
    return build_cache.cached(recipe, f"lib{name}.so", build)


def _precompiled(command: Sequence[str], headers: str) -> Path | None:
    """What every stub begins with, compiled for a set of flags, once a second library wants it.

    It stands where the compiler finds it before the header. With definitions that concern the headers the compiler
    does not take it, and reads them. None where there is none: it saves time and nothing depends on it.
    """
    product = "mtsim_stub.h.gch"

    def build(folder: Path) -> tuple[Path, ...]:
        header = paths.simulator_includes()[-1] / "mtsim_stub.h"
        _run("mtsim_stub.h", [*command, "-x", "c++-header", "-o", str(folder / product), str(header)])
        return ()

    compiler = command[: command.index(_ASCENDC_FLAGS[0])]
    recipe = _recipe("headers", product, command, compiler, (), [headers])
    limit = _precompiled_limit()
    found = None
    if limit > 0 and not build_cache.is_first(recipe):
        # A full disk, say, may still fit the library itself; and another process may have removed what was made.
        with contextlib.suppress(BuildError, FileNotFoundError):
            found = build_cache.cached(recipe, product, build).resolve()
    build_cache.keep_used(product, limit, found)
    return found


def _precompiled_limit() -> int:
    """For how many sets of flags the compiled headers, some 110 MB each, stay: ``MINDTORCH_PRECOMPILED_HEADERS``, or 4.

    Raises ``BuildError`` for what is not a number.
    """
    value = os.environ.get("MINDTORCH_PRECOMPILED_HEADERS", "") or "4"
    if not re.fullmatch("[0-9]{1,4}", value):
        raise BuildError(f"MINDTORCH_PRECOMPILED_HEADERS: expected a number of sets of headers to keep, got {value!r}")
    return int(value)


@names_wrong_types
def build_native(
    name: str,
    sources: Sequence[str | Path],
    *,
    include_dirs: Sequence[str | Path] = (),
    defines: Mapping[str, object] = MappingProxyType({}),
    flags: Sequence[str] = (),
) -> Path:
    """Builds C and C++ sources for the host into a shared library and returns its path in the cache.

    Raises ``BuildError`` for a missing source or compiler, or a compiler's error.
    """
    files = _existing(name, sources)
    linker = _compiler("CXX", "g++")
    options = [
        *_HOST_FLAGS,
        *(f"-I{Path(folder).resolve()}" for folder in (*include_dirs, *paths.kernel_includes())),
        *_definitions(name, defines),
        *flags,
    ]
    commands = {source: [*_language_compiler(source), *options] for source in files}

    def build(folder: Path) -> set[Path]:
        read: set[Path] = set()
        objects = [
            _compile(name, command, source, folder / f"{index}.o", read)
            for index, (source, command) in enumerate(commands.items())
        ]
        _link(
            name,
            linker,
            objects,
            [flag for flag in flags if flag.startswith(("-l", "-L", "-f"))],
            folder / f"lib{name}.so",
        )
        return read

    recipe = _recipe("native", name, options, linker, files, ())
    return build_cache.cached(recipe, f"lib{name}.so", build)


def _definitions(name: str, defines: Mapping[str, object]) -> list[str]:
    """``-D`` for each macro: its value as it is written, True and False as 1 and 0."""
    for macro in defines:
        if not re.fullmatch(r"[A-Za-z_]\w*", macro):
            raise BuildError(f"kernel library {name!r}: {macro!r} cannot be the name of a macro")
    return [f"-D{macro}={int(value) if isinstance(value, bool) else value}" for macro, value in defines.items()]


def checking() -> bool:
    """Whether kernels for the simulated NPU are built to be checked while they run: ``MINDTORCH_SIM_CHECK=1``.

    Raises ``BuildError`` for a value other than 0 and 1.
    """
    value = os.environ.get("MINDTORCH_SIM_CHECK", "") or "0"
    if value not in ("0", "1"):
        raise BuildError(f"MINDTORCH_SIM_CHECK: expected 0 or 1, got {value!r}")
    return value == "1"


def _checked_flags(compiler: Sequence[str]) -> tuple[str, ...]:
    return (*_CHECKED_FLAGS, *(() if _is_clang(compiler) else _POINTER_FLAGS))


def _optimisation(compiler: Sequence[str]) -> tuple[str, ...]:
    return ("-O3",) if _is_clang(compiler) else _GCC_OPTIMISATION


def _is_clang(compiler: Sequence[str]) -> bool:
    """Whose flags for loops, and whose sanitizer's parameters, are others."""
    return "clang" in _identity(tuple(compiler))


def _existing(name: str, sources: Sequence[str | Path]) -> list[Path]:
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
        raise BuildError(f"kernel library {name!r}: the name may hold letters, digits, '_', '.' and '-' only")
    if not sources:
        raise BuildError(f"kernel library {name!r}: no sources were given")
    files = [Path(source).resolve() for source in sources]
    for file in files:
        if not file.is_file():
            raise BuildError(f"kernel library {name!r}: the source {file} does not exist")
    return files


def _compiler(variable: str, default: str) -> list[str]:
    return shlex.split(os.environ.get(variable) or default)


def _language_compiler(source: Path) -> list[str]:
    if source.suffix in _C_SUFFIXES:
        return _compiler("CC", "gcc")
    return [*_compiler("CXX", "g++"), "-std=c++17"]


def _recipe(
    kind: str,
    name: str,
    command: Sequence[str],
    compiler: Sequence[str],
    files: Sequence[Path],
    more: Iterable[str | bytes],
) -> str:
    sources = (part for file in files for part in (str(file), _contents(file)))
    return build_cache.digest([kind, name, *command, _identity(tuple(compiler)), _cpu(), *sources, *more])


def _contents(path: Path) -> bytes:
    return path.read_bytes()


@functools.cache
def _identity(compiler: tuple[str, ...]) -> str:
    return _run("", [*compiler, "--version"])


@functools.cache
def _cpu() -> str:
    """What -march=native depends on: a cache folder may be shared between machines."""
    try:
        description = Path("/proc/cpuinfo").read_text()
    except FileNotFoundError:
        return platform.machine()
    return "\n".join(re.findall(r"^(?:model name|flags|Features|CPU part)\s*:.*$", description, re.MULTILINE)[:2])


def _preprocess(name: str, command: Sequence[str], source: Path) -> str:
    """The source with its macros expanded, in which ``__global__`` and what kernels run on are still to be seen."""
    return _run(name, [*command, *_VISIBLE, "-include", "mtsim_key.h", "-x", "c++", "-E", str(source)])


def _write_stub(
    folder: Path,
    index: int,
    source: Path,
    expanded: str,
    kernels: list[KernelSignature],
    tasks: Mapping[str, str],
    queue: str,
    host: Path | None,
    read: set[Path],
) -> Path:
    text = written = source.read_text(errors="surrogateescape")
    flat = with_runtime_core_type(expanded)
    if flat is not None:
        text, files = flat
        read |= files  # which the compiler is not shown
    text = rewrite_launches(text, str(source), queue) or text
    if text is not written:
        source = folder / f"source{index}.cpp"
        source.write_text(text, errors="surrogateescape")
    stub = folder / f"stub{index}.cpp"
    stub.write_text(stub_source(source, kernels, tasks, queue, host))
    return stub


def _refuse_duplicate(name: str, defined: dict[str, KernelSignature], kernel: KernelSignature) -> None:
    other = defined.setdefault(kernel.name, kernel)
    if other is not kernel:
        raise BuildError(
            f"kernel library {name!r}: the kernel {kernel.name!r} is defined twice: "
            f"{other.path}:{other.line} and {kernel.path}:{kernel.line}"
        )


def _compile(name: str, command: Sequence[str], source: Path, output: Path, read: set[Path]) -> Path:
    depfile = output.with_suffix(".d")
    _run(name, [*command, "-c", "-MD", "-MF", str(depfile), "-o", str(output), str(source)])
    read.update(_dependencies(depfile.read_text()))
    return output


def _compile_all(name: str, units: Sequence[tuple[Sequence[str], Path]], read: set[Path]) -> list[Path]:
    """Compiles each source by its command, as many at a time as there are processors. The first error is raised."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda unit: _compile(name, unit[0], unit[1], unit[1].with_suffix(".o"), read), units))


def _dependencies(depfile: str) -> set[Path]:
    """The prerequisites in a make rule, as the compiler writes it."""
    rule = depfile.replace("\\\n", " ").partition(": ")[2]
    return {Path(re.sub(r"\\([ #])", r"\1", word)).resolve() for word in re.findall(r"(?:\\.|\S)+", rule)}


def _link(name: str, compiler: Sequence[str], objects: Sequence[Path], more: Sequence[str], output: Path) -> None:
    _run(name, [*compiler, "-shared", "-o", str(output), *map(str, objects), "-Wl,-Bsymbolic", *more])


def _run(name: str, command: Sequence[str]) -> str:
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment, check=False)
    except FileNotFoundError:
        raise BuildError(
            f"the compiler {command[0]!r} was not found; install it (on Debian: apt install g++), or set CXX and CC"
        ) from None
    if done.returncode != 0:
        advice = build_cache.NO_SPACE_HINT if any(words in done.stderr for words in _NO_SPACE) else hint(done.stderr)
        said = f"{done.stderr.rstrip()}\n{advice}".rstrip()
        raise BuildError(f"kernel library {name!r}: {command[0]} failed\n{said}\ncommand: {shlex.join(command)}")
    return done.stdout
