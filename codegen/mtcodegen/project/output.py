"""The output folder: what differs from ``{path: text}``, and bringing it there.

Writing, checking and showing a diff are three uses of one list of changes. A file is replaced as a whole or not at
all, an unchanged file is not touched, and only files that carry the generator's header are ever overwritten or removed.
"""

from __future__ import annotations

import errno
import os
import pathlib
import stat
from collections.abc import Mapping, Set

from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic
from mtcodegen.system.values import dataclass
from mtcodegen.system.wholefile import umask, write_whole
from mtcodegen.targets.job import HEADER

__all__ = ["Change", "apply", "changes", "findings", "unified_diff"]

_PYTHON = {".py", ".pyi"}


@dataclass(frozen=True)
class Change:
    """A file's text before and after; None where there is no file."""

    path: pathlib.Path
    old: str | None
    new: str | None

    @property
    def is_ours(self) -> bool:
        """Whether the file may be replaced: it is not there, or it was generated."""
        return self.old is None or _source_of(self.old) is not None


def changes(
    folder: pathlib.Path, files: Mapping[str, str], neighbours: Set[str], partial: Set[str] = frozenset()
) -> list[Change]:
    """What must change for ``folder`` to hold ``files``, and of their kinds nothing else that is Python or generated.

    ``neighbours`` names the YAML files that are there but were not read this time: what was generated from one of them
    is no orphan. ``partial`` names the folders of which not all files were: the package of one of them stays as it is.
    Folders in ``folder``, where others may write, are left alone.
    """
    found = [Change(folder / name, _read(folder / name), text) for name, text in files.items()]
    suffixes = {pathlib.PurePath(name).suffix for name in files} or _PYTHON
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.suffix not in suffixes or path.name in files or not path.is_file():
            continue
        old = _read(path)
        source = _source_of(old or "")
        if source in neighbours or (source is None and path.suffix not in _PYTHON):
            continue  # made from a neighbour that was not read, or not generated
        found.append(Change(path, old, None))
    return [change for change in found if change.old != change.new and _source_of(change.old or "") not in partial]


def _read(path: pathlib.Path) -> str | None:
    try:
        if not stat.S_ISREG(mode := path.stat().st_mode) and not stat.S_ISDIR(mode):  # a pipe may never end
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None


def _source_of(text: str) -> str | None:
    """The YAML file that the header names."""
    first = text.split("\n", 1)[0].replace("<!-- ", "# ", 1)
    return first.removeprefix(HEADER).split(". Do not edit", 1)[0] if first.startswith(HEADER) else None


def findings(found: list[Change]) -> list[Diagnostic]:
    """Each change as something that ``check`` complains about."""
    return [_finding(change) for change in found]


def _finding(change: Change) -> Diagnostic:
    path = _shown(change.path)
    if change.new is None:
        message, hint = "no YAML file makes this file", "remove it, or run mtcodegen, which removes what it made itself"
        return Diagnostic(Code.MT512, message, None, hint, path=path)
    if change.old is None:
        return Diagnostic(Code.MT510, "has not been generated", None, "run mtcodegen", path=path)
    message = "differs from what is generated: the YAML has changed, or the file was edited"
    return Diagnostic(Code.MT511, message, None, "change the YAML, not this file, and run mtcodegen", path=path)


def _shown(path: pathlib.Path) -> str:
    """Relative to the current folder where that is shorter."""
    relative = os.path.relpath(path)
    return relative if not relative.startswith("..") else str(path)


def unified_diff(found: list[Change]) -> str:
    """From what is there to what would be generated."""
    import difflib

    lines: list[str] = []
    for change in found:
        name = _shown(change.path)
        before, after = (text.splitlines(keepends=True) if text else [] for text in (change.old, change.new))
        start = name if change.old is not None else "/dev/null"
        end = name if change.new is not None else "/dev/null"
        lines += difflib.unified_diff(before, after, start, end)
    text = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return text.encode("utf-8", "replace").decode()


def apply(found: list[Change]) -> tuple[list[pathlib.Path], list[Diagnostic]]:
    """Make the changes; returns the files written or removed, and those that could not be."""
    done: list[pathlib.Path] = []
    refused: list[Diagnostic] = []
    for change in found:
        if not change.is_ours:
            if change.new is not None:
                refused.append(_not_ours(change.path))
            continue
        try:
            _replace(change.path, change.new)
        except OSError as error:
            refused.append(_unwritten(change.path, error))
        else:
            done.append(change.path)
    return done, refused


def _unwritten(path: pathlib.Path, error: OSError) -> Diagnostic:
    if isinstance(error, FileExistsError | NotADirectoryError):
        message, hint = f"cannot be written: {_shown(path.parent)} is not a folder", "choose another folder with -o"
    else:
        message, hint = f"cannot be written: {error.strerror or error}", ""
    return Diagnostic(Code.MT503, message, None, hint, path=_shown(path))


def _not_ours(path: pathlib.Path) -> Diagnostic:
    message = "was not generated by mtcodegen, and is not overwritten"
    return Diagnostic(Code.MT504, message, None, "move it, or choose another folder with -o", path=_shown(path))


def _replace(path: pathlib.Path, text: str | None) -> None:
    """Whole or not at all."""
    if text is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text, 0o666 & ~umask())
