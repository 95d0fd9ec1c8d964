"""What commands share: naming inputs, reporting findings, and knowing whether a person is watching."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TextIO

from mtcodegen.findings.codes import Severity
from mtcodegen.findings.diagnostics import FORMATS as _FORMATS
from mtcodegen.findings.diagnostics import Diagnostic

if TYPE_CHECKING:
    from mtcodegen.targets.job import Input

__all__ = [
    "FORMATS",
    "add_format",
    "add_inputs",
    "named_inputs",
    "path_name",
    "progress_line",
    "report",
    "say",
    "status",
    "wants_colour",
    "write_yaml",
]

FORMATS = (*_FORMATS, "sarif")


def add_inputs(parser: argparse.ArgumentParser, what: str = "YAML files, or folders of them") -> None:
    """The files to read; none means those of pyproject.toml."""
    parser.add_argument("files", nargs="*", type=path_name, default=[], metavar="FILE", help=what)


def path_name(text: str) -> str:
    """The type of an argument that names a file or folder: nothing, as of a variable that is not set, names none."""
    if not text:
        raise argparse.ArgumentTypeError("an empty name")
    return text


def named_inputs(files: Sequence[str]) -> list[Input]:
    """The files that are meant, each once however many jobs it is in. Raises UsageError for one that is not there."""
    from mtcodegen.project.inputs import find_jobs

    inputs = [item for job in find_jobs(files, None) for item in job.inputs]
    return list({item.path.resolve(): item for item in inputs}.values())


def add_format(parser: argparse.ArgumentParser) -> None:
    """The form that findings are shown in."""
    parser.add_argument("--format", choices=FORMATS, default="text", help="form of the findings (default: text)")


def report(options: argparse.Namespace, found: Sequence[Diagnostic]) -> None:
    """Findings go to standard error as text, to standard output in the forms that programs read."""
    if options.format == "sarif":
        from mtcodegen.findings.sarif import render_sarif

        sys.stdout.write(render_sarif(found))
        return
    stream = sys.stderr if options.format == "text" else sys.stdout
    if options.format == "json" or found:
        stream.write(_FORMATS[options.format](found, colour=wants_colour(stream)))
    if options.format == "text" and found:
        stream.write(f"{_count(found)}\n")


def _count(found: Sequence[Diagnostic]) -> str:
    numbers = {severity: sum(item.severity is severity for item in found) for severity in Severity}
    return ", ".join(f"{n} {name}{'' if n == 1 else 's'}" for name, n in numbers.items() if n)


def say(options: argparse.Namespace, text: str) -> None:
    """Tell a person; programs that read another format are not told."""
    if options.format == "text":
        sys.stdout.write(f"{text}\n")


def write_yaml(text: str) -> None:
    """A file to standard output: in UTF-8, whatever the terminal has."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8"))


def status(found: Sequence[Diagnostic]) -> int:
    """Exit status of a command that warnings do not fail."""
    return 1 if any(item.severity is Severity.ERROR for item in found) else 0


def wants_colour(stream: TextIO) -> bool:
    """Whether ``stream`` is a terminal that shows colour, and nobody said no (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def progress_line(steps: int) -> Callable[[str], None]:
    """What is being done, on one line of a terminal that is wiped by ""; silent for a few steps."""
    if steps < 3 or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return lambda text: None

    def show(text: str) -> None:
        width = os.get_terminal_size(sys.stderr.fileno()).columns or 80  # some terminals report 0 columns
        sys.stderr.write(f"\r\x1b[K{text[: width - 1]}")
        sys.stderr.flush()

    return show
