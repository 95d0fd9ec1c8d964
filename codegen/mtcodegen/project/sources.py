"""The sources that kernels are built of: beside the YAML file, before anything is generated that would miss them."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator

from mtcodegen.entries.model import File, Launch
from mtcodegen.entries.variants import is_variant
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic, suggest
from mtcodegen.findings.source import Text

__all__ = ["has_sources", "missing_sources"]


def missing_sources(file: File, folder: pathlib.Path) -> Iterator[Diagnostic]:
    """What a kernel's ``source`` names that is no file; paths are relative to ``folder``, the YAML file's own."""
    there: dict[str, bool] = {}
    for source in _sources(file):
        path = folder / source.value
        if there.setdefault(source.value, _is_file(path)):
            continue
        near = suggest(path.name, _names(path.parent))
        hint = near or f"it is looked for beside {source.source.name}: create it, or correct the path"
        yield Diagnostic(Code.MT328, f"there is no file `{source.value}`", source.span, hint)


def has_sources(file: File) -> bool:
    """Whether a kernel is built of sources."""
    return any(True for _ in _sources(file))


def _sources(file: File) -> Iterator[Text]:
    for spec in file.ops:
        if not is_variant(spec):
            yield from (s for kernel in spec.kernels if isinstance(kernel.body, Launch) for s in _of(kernel.body))


def _of(body: Launch) -> tuple[Text, ...]:
    return body.sources if body.host_tiling is None else (*body.sources, body.host_tiling.path)


def _is_file(path: pathlib.Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _names(folder: pathlib.Path) -> list[str]:
    with contextlib.suppress(OSError, ValueError):
        return sorted(path.name for path in folder.iterdir())
    return []
