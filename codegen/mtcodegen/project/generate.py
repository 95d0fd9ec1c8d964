"""From input files to ``{path: text}``: the stages in order."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from mtcodegen.findings.codes import Code, Severity
from mtcodegen.findings.diagnostics import MOST_FINDINGS, Diagnostic, in_source_order
from mtcodegen.project.sources import has_sources
from mtcodegen.pycode.names import KEYWORDS
from mtcodegen.targets.job import Generated, Input, Job
from mtcodegen.targets.target import target_named

if TYPE_CHECKING:
    from mtcodegen.entries.model import File

__all__ = ["generate", "name_faults"]


_MOST_SHOWN = 200


def generate(
    jobs: Sequence[Job], progress: Callable[[str], None] = lambda text: None
) -> tuple[list[Generated], list[Diagnostic]]:
    """All files of all jobs, and everything that is wrong; nothing where there is an error."""
    from mtcodegen.project.loading import load_inputs  # not needed, so not imported, where the memo has the result

    documents, found = load_inputs([item for job in jobs for item in job.inputs], progress)
    files = {document.item.path.resolve(): document.resolved for document in documents}
    narrowed: dict[str, dict[pathlib.Path, File]] = {}
    for job in jobs:
        kept = narrowed.setdefault(job.target, {})
        for path in _paths(job):
            if path in files and path not in kept:
                kept[path], faults = target_named(job.target).narrowed(files[path])
                found += faults
    found += name_faults(jobs)
    found = _shown(found, [item.name for job in jobs for item in job.inputs])
    if any(item.severity is Severity.ERROR for item in found):
        return [], found
    return [_render(job, narrowed[job.target], progress) for job in jobs], found


def _shown(found: Sequence[Diagnostic], paths: Sequence[str]) -> list[Diagnostic]:
    """The findings that somebody will read, and how many there are beside them; no warning keeps an error out."""
    found = in_source_order(found, paths)
    more = len(found) - _MOST_SHOWN
    if more <= 0:
        return found
    by_weight = sorted(found, key=lambda item: item.severity is not Severity.ERROR)
    rest = f"{'at least ' if len(found) >= MOST_FINDINGS else ''}{more} more findings are not shown"
    hidden = by_weight[_MOST_SHOWN]
    end = Diagnostic(Code.MT100, rest, None, severity=hidden.severity, path=hidden.file)
    return [*in_source_order(by_weight[:_MOST_SHOWN], paths), end]


def name_faults(jobs: Sequence[Job]) -> list[Diagnostic]:
    """Inputs that cannot give a module its name, and those that would give it to the same module."""
    found = []
    for job in jobs:
        modules: dict[str, Input] = {}
        for item in job.inputs:
            name = item.path.stem
            is_plain = re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) and re.fullmatch(r"(\.\w+)?", item.path.suffix)
            if not is_plain or name in KEYWORDS or name == "__init__":
                hint = "rename the file: letters, digits and `_`, and no keyword"
                message = f"`{name}` cannot be the name of a Python module"
                found.append(Diagnostic(Code.MT501, message, None, hint, path=item.name))
            elif modules.setdefault(name, item) is not item:
                message = f"would make the same module as {modules[name].name}: `{name}`"
                found.append(Diagnostic(Code.MT502, message, None, "rename one, or use -o", path=item.name))
        for name, item in modules.items():
            tested = modules.get(name.removeprefix("test_")) if name.startswith("test_") else None
            if tested is not None:
                message = f"would make the same module as the tests of {tested.name}: `{name}`"
                found.append(Diagnostic(Code.MT502, message, None, "rename one, or use -o", path=item.name))
    return found


def _paths(job: Job) -> list[pathlib.Path]:
    return [item.path.resolve() for item in job.inputs]


def _render(job: Job, files: Mapping[pathlib.Path, File], progress: Callable[[str], None]) -> Generated:
    target = target_named(job.target)
    texts: dict[str, str] = {}
    for item, path in zip(job.inputs, _paths(job), strict=True):
        progress(f"rendering {item.name}")
        texts |= target.of_file(files[path], item.path, job.folder)
    is_pure = not any(has_sources(files[path]) for path in _paths(job))  # else other files have to be there
    return Generated(job, texts | target.of_job(job, files), is_pure)
