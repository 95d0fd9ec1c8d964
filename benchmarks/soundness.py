"""What must hold whatever a YAML file says, checked by running the commands on it.

No traceback; no hang; every finding has a code, and a place in the file; nothing is written outside the folder that was
asked for; what is generated compiles, names nothing undefined, and is what ``check`` expects; nothing of the file's is
executed.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import dataclasses
import io
import json
import os
import re
import signal
import symtable
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest import mock

from benchmarks.torch_yaml import derivatives_text, native_function_text, read_corpus, saved_values, scope_of
from mtcodegen.cli.main import main
from mtcodegen.document.load import load
from mtcodegen.findings.codes import Code
from mtcodegen.findings.source import Source
from mtcodegen.importer.pytorch import FormulaKind

__all__ = ["Outcome", "UnsoundError", "check_ours", "check_torch", "guarded", "undefined_names"]

SECONDS = 20.0  # for the commands on one file of some hundred lines
FORMS = ("torch", "mindspore", "docs", "pyi")
OTHERS = (("lint",), ("list",), ("fmt", "--check"))
# Findings about a file as a whole: it is not UTF-8, there are too many to show, or it is not as `fmt` would have it.
_UNPLACED = {"MT100", "MT101", "MT901", "MT902"}
_LINE_END = re.compile("\n")


class UnsoundError(Exception):
    """Something that may never happen; says what."""


@dataclass(frozen=True)
class Outcome:
    """Whether a file was accepted, and the codes of the findings."""

    accepted: bool
    codes: tuple[str, ...]


def check_ours(data: bytes, folder: Path, more: int = 0) -> Outcome:
    """Generate from a file in our language; ``more`` chooses another target, and another command to run on it.

    Raises UnsoundError, or whatever a command raised.
    """
    path = folder / "ops.yaml"
    path.write_bytes(data)
    before = _everything(folder)
    status, findings = _findings(["generate", "ops.yaml", "-o", "out"], folder)
    _check_findings(findings, {"ops.yaml": data})
    form = FORMS[more % len(FORMS)]
    other_status, other = _findings(["generate", "ops.yaml", "-o", f"out_{form}", "--target", form], folder)
    _check_findings(other, {"ops.yaml": data})
    outputs = {folder / "out": status, folder / f"out_{form}": other_status}
    _check_outputs(folder, before, outputs)
    if status == 0:
        again, found = _findings(["check", "ops.yaml", "-o", "out"], folder)
        if again != 0:
            raise UnsoundError(f"`check` after `generate` finds {found}")
    _, found = _findings([*OTHERS[more % len(OTHERS)], "ops.yaml"], folder)
    _check_findings(found, {"ops.yaml": data})
    return Outcome(status == 0, tuple(str(item["code"]) for item in findings))


def check_torch(native: bytes, derivatives: bytes, folder: Path) -> Outcome:
    """Import PyTorch's files, and generate from what that made. Raises UnsoundError, or whatever a command raised."""
    texts = {"native.yaml": native, "derivatives.yaml": derivatives}
    for name, data in texts.items():
        (folder / name).write_bytes(data)
    before = _everything(folder)
    command = ["import", "native.yaml", "--derivatives", "derivatives.yaml", "--kernels", "kernels", "-o", "ops.yaml"]
    status, findings = _findings(command, folder)
    _check_findings(findings, texts)
    if status == 0:
        made, found = _findings(["generate", "ops.yaml", "-o", "out"], folder)
        if made != 0:
            raise UnsoundError(f"what was imported is refused: {found}")
        before |= {folder / "ops.yaml"}
    _check_outputs(folder, before, {folder / "out": status})
    _print_back(folder / "native.yaml", folder / "derivatives.yaml")
    return Outcome(status == 0, tuple(str(item["code"]) for item in findings))


def _print_back(native: Path, derivatives: Path) -> None:
    """Everything that can be asked of what is sound in PyTorch's files, whatever else is not."""
    corpus = read_corpus(native, derivatives)
    for entry in corpus.derivatives:
        for variant in entry.variants:
            for formula in variant.of(FormulaKind.BACKWARD):
                if formula.expr is not None:
                    saved_values(formula.expr, scope_of(entry, variant, formula))
    printed = "".join([*map(native_function_text, corpus.functions), *map(derivatives_text, corpus.derivatives)])
    if not corpus.diagnostics and load(Source("printed.yaml", printed))[1]:
        raise UnsoundError("what is printed back is not YAML")


# ---------------------------------------------------------------- running


def _findings(command: Sequence[str], folder: Path) -> tuple[int, list[dict[str, Any]]]:
    """A command's exit status, and its findings as JSON."""
    shown, said = io.StringIO(), io.StringIO()
    os.chdir(folder)  # paths in findings are then the same for everybody
    nowhere = mock.patch.dict(os.environ, XDG_CACHE_HOME="/dev/null")  # what is remembered would be kept outside
    with nowhere, contextlib.redirect_stdout(shown), contextlib.redirect_stderr(said):
        status = main([*command, "--format", "json"])
    if status not in (0, 1):
        raise UnsoundError(f"exit status {status}: {said.getvalue()}")
    if command[0] == "list":  # the operators as JSON
        return status, []
    findings: list[dict[str, Any]] = json.loads(shown.getvalue())
    errors = [item for item in findings if item.get("severity") == "error"]
    if bool(errors) != bool(status) and command[0] not in ("lint", "fmt"):
        raise UnsoundError(f"exit status {status} of {command[0]} with {len(errors)} errors")
    return status, findings


@contextlib.contextmanager
def guarded(folder: Path, seconds: float = SECONDS) -> Iterator[None]:
    """Refuse a run that takes too long, executes anything that is no module's code, or opens a file elsewhere."""

    def stop(signum: int, frame: FrameType | None) -> None:
        raise UnsoundError(f"still not done after {seconds:g} s")

    _install_hook()
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    _GUARD.folder, _GUARD.broken = str(folder.resolve()), []
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        _GUARD.folder = ""
    if _GUARD.broken:
        raise UnsoundError(_GUARD.broken[0])


class _Guard:
    installed = False
    folder = ""
    broken: list[str]


_GUARD = _Guard()
# The standard library's own makers of methods, which run where a module is imported late.
_MAKERS = (dataclasses.__file__, collections.__file__)
_FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "socket.connect",
    "ctypes.dlopen",
)


def _install_hook() -> None:
    if not _GUARD.installed:  # a hook cannot be removed
        sys.addaudithook(_hook)
        _GUARD.installed = True


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not _GUARD.folder:
        return
    if event in _FORBIDDEN:
        _GUARD.broken.append(f"{event}{args!r:.200}")
    elif event == "exec" and not _is_module(args[0], sys._getframe(1)):
        _GUARD.broken.append(f"executed code that is no module's: {args[0]!r:.200}")
    elif event == "open" and isinstance(args[0], str) and isinstance(args[2], int) and args[2] & 0o3:  # to write
        path = os.path.abspath(args[0])  # noqa: PTH100  (a Path would raise for some)
        if not path.startswith(_GUARD.folder) and "/__pycache__/" not in path:
            _GUARD.broken.append(f"opened {path:.200} to write")


def _is_module(code: object, caller: FrameType) -> bool:
    """Modules that are imported late, templates, and the methods that dataclasses and attrs make of classes."""
    name = code.co_filename if isinstance(code, CodeType) else "<string>"
    return name.startswith(("<frozen", "<attrs generated", *_code_folders())) or caller.f_code.co_filename in _MAKERS


def _code_folders() -> Iterator[str]:
    import mtcodegen

    yield from (sys.prefix, sys.base_prefix, str(Path(mtcodegen.__file__).parents[2]))


# ---------------------------------------------------------------- findings and outputs


def _check_findings(findings: Sequence[dict[str, Any]], texts: dict[str, bytes]) -> None:
    for item in findings:
        if item["code"] not in Code.__members__:
            raise UnsoundError(f"a code that `explain` does not know: {item}")
        if item["file"] not in texts:
            raise UnsoundError(f"a finding about another file: {item}")
        if "line" not in item:
            if item["code"] not in _UNPLACED:
                raise UnsoundError(f"no place: {item}")
            continue
        lines = _LINE_END.split(texts[item["file"]].decode("utf-8-sig"))
        line, column = int(item["line"]), int(item["column"])
        if not 1 <= line <= len(lines) or not 1 <= column <= len(lines[line - 1]) + 1 or int(item["length"]) < 1:
            raise UnsoundError(f"a place outside the file: {item}")


def _everything(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def _check_outputs(folder: Path, before: set[Path], outputs: dict[Path, int]) -> None:
    """Output is in its folder, and only where the command said that all is well."""
    found = _everything(folder) - before
    for path in found:
        output = next((item for item in outputs if path == item or item in path.parents), None)
        if output is None or outputs[output] != 0:
            raise UnsoundError(f"wrote {path.relative_to(folder)}")
        if path.suffix in (".py", ".pyi"):
            text = path.read_text("utf-8")
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                compile(text, path.name, "exec", dont_inherit=True)
            if undefined := undefined_names(text):
                raise UnsoundError(f"{path.name} names {undefined}")
    for output, status in outputs.items():
        if status == 0 and output not in found and output not in before:
            raise UnsoundError(f"nothing in {output.name}, and no finding")


def undefined_names(code: str) -> set[str]:
    """Names that a module reads and nobody defines."""
    table = symtable.symtable(code, "ops.py", "exec")
    defined = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    read = set()
    stack = [table]
    while stack:
        scope = stack.pop()
        stack += scope.get_children()
        is_module = scope.get_type() == "module"
        read |= {s.get_name() for s in scope.get_symbols() if s.is_referenced() and (is_module or s.is_global())}
    return read - defined - set(dir(builtins)) - {"__file__"}


@contextlib.contextmanager
def sandbox() -> Iterator[Path]:
    """An empty folder, of which nothing is left."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        try:
            yield Path(name)
        finally:
            os.chdir(here)
