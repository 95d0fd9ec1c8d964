"""``mtcodegen lint``: what is right, but could be better."""

from __future__ import annotations

import argparse
import os
import pathlib
import re
from collections.abc import Iterable, Mapping

from mtcodegen.check.lint_rules import RULES, Finding, Nodes
from mtcodegen.cli.common import add_format, add_inputs, named_inputs, report, say
from mtcodegen.cli.files import replace_file
from mtcodegen.document.edit import Edit, apart, apply_edits
from mtcodegen.entries.front import parse_source
from mtcodegen.entries.variants import is_variant
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic, in_source_order
from mtcodegen.findings.source import Source
from mtcodegen.project.loading import Document, load_inputs
from mtcodegen.project.pyproject import UsageError, lint_settings

__all__ = ["DESCRIPTION", "EXAMPLES", "configure", "run"]

_RULES = {code.name: code for code in Code if code.name.startswith("MT8")}
DESCRIPTION = """\
Find what is right but could be better. Rules have codes, which `mtcodegen explain` explains. A comment on the line of a
finding, `# mtcodegen: ignore` or `# mtcodegen: ignore[MT801]`, keeps a rule quiet there. The nearest pyproject.toml may
say which rules a project follows: `select = ["MT805"]`, `ignore = ["MT801"]` in `[tool.mtcodegen.lint]`; --select takes
the place of its `select`, --ignore adds to its `ignore`.

rules:
""" + "".join(f"  {code}  {code.title}{' (--fix)' * bool(code.fix)}\n" for code in _RULES.values())
EXAMPLES = (
    ("mtcodegen lint", "the files of pyproject.toml"),
    ("mtcodegen lint --fix ops.yaml", "mend what is safe to mend, say what is left"),
    ("mtcodegen lint --ignore MT801 ops_yaml", "without one rule"),
    ("mtcodegen lint --select MT805,MT807 ops_yaml", "only two rules"),
)
_IGNORE = re.compile(r"#.*\bmtcodegen:\s*ignore(?:\[([^\]]*)\])?")
Rules = Mapping[pathlib.Path, set[Code]]  # the rules to follow, by folder
_PASSES = 10  # at most: a fix may make another one possible


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_inputs(parser)
    parser.add_argument("--fix", action="store_true", help="mend what is safe to mend, in the files")
    parser.add_argument("--select", metavar="CODES", help="only these rules, with commas between")
    parser.add_argument("--ignore", metavar="CODES", help="all rules but these")
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Lint. Findings are warnings, and any is exit status 1."""
    inputs = named_inputs(options.files)
    wanted = {item.path.parent: _wanted(options, item.path) for item in inputs}
    documents, found = load_inputs(inputs)
    if options.fix and not found:
        for _ in range(_PASSES):
            if not [document for document in documents if _fix(options, document, wanted)]:
                break
            documents, found = load_inputs(inputs)
    if not found:
        found = [item.diagnostic for document in documents for item in _lint(document, wanted)]
    found = in_source_order(found, [item.name for item in inputs])
    report(options, found)
    if not found:
        say(options, "nothing to improve")
    return 1 if found else 0


def _wanted(options: argparse.Namespace, path: pathlib.Path) -> set[Code]:
    """The rules that a file is to follow, by the command line and its project."""
    settings = lint_settings(path.resolve().parent)
    selected = _codes(options.select.split(",")) if options.select else None
    if selected is None and settings.select is not None:
        selected = _codes(settings.select)
    ignored = _codes([*settings.ignore, *(options.ignore.split(",") if options.ignore else ())])
    return (set(_RULES.values()) if selected is None else selected) - ignored


def _codes(given: Iterable[str]) -> set[Code]:
    names = {name.strip().upper() for name in given}
    for name in sorted(names - set(_RULES)):
        raise UsageError(f"there is no rule `{name}`; `mtcodegen lint --help` lists them")
    return {_RULES[name] for name in names}


def _lint(document: Document, wanted: Rules) -> list[Finding]:
    rules = wanted[document.item.path.parent]
    written = [spec for spec in document.file.ops if not is_variant(spec)]
    nodes = Nodes(document.node)
    found = [item for spec in written for rule in RULES for item in rule(spec, nodes)]
    return [item for item in found if item.diagnostic.code in rules and not _is_ignored(item.diagnostic)]


def _is_ignored(item: Diagnostic) -> bool:
    match = _IGNORE.search(item.span.source.line(item.span.line)) if item.span is not None else None
    return match is not None and (match[1] is None or item.code.name in re.split(r"[\s,]+", match[1].upper()))


def _fix(options: argparse.Namespace, document: Document, wanted: Rules) -> bool:
    """Mend a file; False where there is nothing to mend."""
    source = document.node.source
    edits = _safe(source, [], apart([edit for item in _lint(document, wanted) for edit in item.edits]))
    if not edits:
        return False
    replace_file(document.item.path, apply_edits(source.text, edits))
    say(options, f"fixed {len(edits)} finding{'' if len(edits) == 1 else 's'} in {os.path.relpath(document.item.path)}")
    return True


def _safe(source: Source, sure: list[Edit], edits: list[Edit]) -> list[Edit]:
    """``sure``, and those of ``edits`` that leave an operator file: a list may not lose the last of its items."""
    if not parse_source(Source(source.path, apply_edits(source.text, [*sure, *edits])))[2]:
        return [*sure, *edits]
    if len(edits) == 1:
        return sure
    half = len(edits) // 2
    return _safe(source, _safe(source, sure, edits[:half]), edits[half:])
