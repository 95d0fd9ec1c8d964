"""From input files to ``{path: text}``: the stages in order."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from mtcodegen.findings.codes import Code, Severity
from mtcodegen.findings.diagnostics import MOST_FINDINGS, Diagnostic, in_source_order
from mtcodegen.targets.target import Generated, Input, Target

if TYPE_CHECKING:
    from mtcodegen.entries.model import File

__all__ = ["generate", "name_faults"]


_MOST_SHOWN = 200


def generate(
    targets: Sequence[Target], progress: Callable[[str], None] = lambda text: None
) -> tuple[list[Generated], list[Diagnostic]]:
    """All files of all targets, and everything that is wrong; a file with errors is not among the files."""
    from mtcodegen.check.operators import operator_table
    from mtcodegen.check.resolve import duplicates, resolve
    from mtcodegen.document.load import read
    from mtcodegen.entries.front import parse_source
    from mtcodegen.targets.mindspore import for_mindspore
    from mtcodegen.targets.torch import for_torch

    found: list[Diagnostic] = []
    files: dict[pathlib.Path, File] = {}
    inputs = {item.path.resolve(): item for target in targets for item in target.inputs}
    for path, item in inputs.items():
        progress(f"reading {item.name}")
        source, faults = read(path, item.name)
        found += faults
        if source is not None:
            _, file, faults = parse_source(source)
            found += faults
            if file is not None:
                files[path] = file
    table = operator_table((spec for file in files.values() for spec in file.ops), set(inputs))
    for path, file in files.items():
        progress(f"checking {file.path}")
        files[path], faults = resolve(file, table)
        found += faults
    found += duplicates(list(files.values()))
    for form, narrowed in (("torch", for_torch), ("mindspore", for_mindspore)):
        there = [files[path] for path in _inputs(targets, form) if path in files]
        found += [fault for file in there for fault in narrowed(file)[1]]
    found += name_faults(targets)
    found = _shown(found, [item.name for item in inputs.values()])
    if any(item.severity is Severity.ERROR for item in found):
        return [], found
    return [_render(target, files, progress) for target in targets], found


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


def _inputs(targets: Sequence[Target], form: str) -> dict[pathlib.Path, None]:
    """The files of all targets of a form."""
    return dict.fromkeys(item.path.resolve() for target in targets if target.form == form for item in target.inputs)


def name_faults(targets: Sequence[Target]) -> list[Diagnostic]:
    """Inputs that cannot give a module its name, and those that would give it to the same module."""
    from mtcodegen.pycode.names import KEYWORDS

    found = []
    for target in targets:
        modules: dict[str, Input] = {}
        for item in target.inputs:
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


def _render(target: Target, files: Mapping[pathlib.Path, File], progress: Callable[[str], None]) -> Generated:
    from mtcodegen.targets import forms

    texts: dict[str, str] = {}
    for item in target.inputs:
        progress(f"rendering {item.name}")
        texts |= forms.EACH[target.form](files[item.path.resolve()], item.path, target.folder)
    texts |= forms.ALL[target.form](target, files)
    return Generated(target, texts)
