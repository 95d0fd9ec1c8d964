"""``mtcodegen fmt``: YAML files in house style."""

from __future__ import annotations

import argparse
import difflib
import os
import sys

from mtcodegen.cli.common import add_format, add_inputs, named_inputs, report, say, status, write_yaml
from mtcodegen.cli.files import replace_file
from mtcodegen.document.format import format_yaml
from mtcodegen.document.load import load, read
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic
from mtcodegen.findings.source import Source
from mtcodegen.targets.job import Input

__all__ = ["DESCRIPTION", "EXAMPLES", "configure", "format_source", "run"]

DESCRIPTION = """\
Format YAML files: two spaces a level, lists at the column of their key, one space behind a colon and a comma, one blank
line at most, no spaces at line ends. Comments, the order of keys and how strings are quoted stay. Formatting twice
changes nothing more, and never what a file says: what cannot be formatted without that is left and reported."""
EXAMPLES = (
    ("mtcodegen fmt", "the files of pyproject.toml"),
    ("mtcodegen fmt ops.yaml", "one file"),
    ("mtcodegen fmt --check ops_yaml", "fail, with a diff, if a file is not formatted"),
    ("mtcodegen fmt - < ops.yaml", "from standard input to standard output"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_inputs(parser, "YAML files, folders of them, or - for standard input")
    parser.add_argument("--check", action="store_true", help="write nothing; fail, with a diff, where it would")
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Format."""
    if options.files == ["-"]:
        return _filter(options)
    found: list[Diagnostic] = []
    inputs = named_inputs(options.files)
    for item in inputs:
        found += _format(options, item)
    report(options, found)
    if not found:
        say(options, "everything is formatted")
    return status(found)


def _filter(options: argparse.Namespace) -> int:
    text = sys.stdin.buffer.read().decode("utf-8-sig", "surrogateescape")
    formatted, found = format_source(Source("<stdin>", text))
    if formatted is None:
        report(options, found)
        return status(found)
    write_yaml(formatted)
    return 0


def _format(options: argparse.Namespace, item: Input) -> list[Diagnostic]:
    source, found = read(item.path, item.name)
    if source is None:
        return found
    formatted, found = format_source(source)
    # Line ends and a byte order mark are no part of what was read.
    if formatted is None or formatted.encode() == item.path.read_bytes():
        return found
    if not options.check:
        replace_file(item.path, formatted)
        say(options, f"formatted {os.path.relpath(item.path)}")
        return []
    if options.format == "text":
        before, after = (text.splitlines(keepends=True) for text in (source.text, formatted))
        sys.stdout.writelines(difflib.unified_diff(before, after, item.name, item.name))
    return [Diagnostic(Code.MT901, "is not formatted", None, "run mtcodegen fmt", path=item.name)]


def format_source(source: Source) -> tuple[str | None, list[Diagnostic]]:
    """A file's text in house style, or what keeps it from being formatted."""
    plain = Source(source.path, source.text.replace("\r\n", "\n"))
    document, found = load(plain)
    if document is None:
        return None, found
    formatted = format_yaml(plain.text, document)
    if formatted is None:
        return None, [
            Diagnostic(Code.MT902, "cannot be formatted without changing what it says", None, path=source.path)
        ]
    return formatted, []
