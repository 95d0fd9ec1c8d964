"""The command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mtcodegen.diagnostics import FORMATS, Diagnostic
from mtcodegen.pipeline import Generated, Target, generate
from mtcodegen.targets import UsageError, find_targets

if TYPE_CHECKING:
    from mtcodegen.output import Change

__all__ = ["main"]

_COMMANDS = ("generate", "check", "diff", "explain", "schema")
_DESCRIPTION = """\
Generate Python modules from operator declarations in YAML.

  mtcodegen ops.yaml              write generated/ops.py and ops.pyi beside ops.yaml
  mtcodegen ops.yaml -o pkg       write them into pkg
  mtcodegen check ops.yaml        fail, with a diff, if they are not up to date
  mtcodegen diff ops.yaml         show what generating would change
  mtcodegen explain MT204         say what a code means
  mtcodegen schema                print the JSON Schema of the YAML files
"""
_EPILOGUE = """\
A folder stands for the *.yaml files in it. Without files, and for files it lists, the nearest pyproject.toml says what
goes where:

  [[tool.mtcodegen.target]]
  inputs = ["ops_yaml"]
  output = "generated/my_ops"

exit status: 0 fine, 1 something was found, 2 wrong usage
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; returns the exit status: 0 fine, 1 findings, 2 usage."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or (words[0] not in _COMMANDS and words[0] not in ("-h", "--help", "--version")):
        words.insert(0, "generate")
    try:
        options = _parser().parse_args(words)
        status: int = options.run(options)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    except UsageError as error:
        sys.stderr.write(f"mtcodegen: {error}\n")
        return 2
    except BrokenPipeError:  # the reader of a pipe has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("mtcodegen: interrupted; files are whole\n")
        return 130
    return status


def _parser() -> argparse.ArgumentParser:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("mtcodegen", description=_DESCRIPTION, epilog=_EPILOGUE, formatter_class=style)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, run, text in (
        ("generate", _generate, "write the modules (the default command)"),
        ("check", _check, "fail, with a diff, where output is stale, edited or orphaned"),
        ("diff", _diff, "show what generating would change"),
    ):
        command = commands.add_parser(name, help=text, description=text, epilog=_EPILOGUE, formatter_class=style)
        command.add_argument("files", nargs="*", metavar="FILE", help="YAML files, or folders of them")
        command.add_argument("-o", "--output", metavar="DIR", help="folder for the modules (default: generated)")
        command.add_argument("--format", choices=[*FORMATS], default="text", help="form of the findings")
        command.set_defaults(run=run)
    explain = commands.add_parser("explain", help="say what a diagnostic's code means")
    explain.add_argument("code", metavar="CODE", help="such as MT204")
    explain.set_defaults(run=_explain)
    schema = commands.add_parser("schema", help="print the JSON Schema of the YAML files")
    schema.set_defaults(run=_schema)
    return parser


# ---------------------------------------------------------------- commands


def _generate(options: argparse.Namespace) -> int:
    from mtcodegen.output import apply

    generated, found = _run(options)
    done, refused = apply(_changes(generated, found))
    found += refused
    for path in done:
        verb = "wrote" if path.exists() else "removed"
        _say(options, f"{verb} {os.path.relpath(path)}")
    _report(options, found)
    if generated and not done and not found:
        _say(options, "everything is up to date")
    return _status(found)


def _check(options: argparse.Namespace) -> int:
    from mtcodegen.output import findings, unified_diff

    generated, found = _run(options)
    stale = _changes(generated, found)
    if options.format == "text":
        sys.stdout.write(unified_diff(stale))
    _report(options, [*found, *findings(stale)])
    if generated and not stale:
        _say(options, "everything is up to date")
    return _status([*found, *findings(stale)])


def _diff(options: argparse.Namespace) -> int:
    from mtcodegen.output import unified_diff

    generated, found = _run(options)
    sys.stdout.write(unified_diff(_changes(generated, found)))
    _report(options, found)
    return _status(found)


def _explain(options: argparse.Namespace) -> int:
    from mtcodegen.codes import explanation

    text = explanation(options.code.upper())
    if text is None:
        raise UsageError(f"there is no code {options.code}; docs/diagnostics.md lists them")
    sys.stdout.write(text)
    return 0


def _schema(options: argparse.Namespace) -> int:
    from mtcodegen.paths import data_folder

    sys.stdout.write((data_folder("ops_yaml") / "ops.schema.json").read_text("utf-8"))
    return 0


# ---------------------------------------------------------------- running and reporting


def _run(options: argparse.Namespace) -> tuple[list[Generated], list[Diagnostic]]:
    targets = find_targets(options.files, options.output)
    progress = _progress(sum(len(target.inputs) for target in targets))
    try:
        return generate(targets, progress)
    finally:
        progress("")


def _changes(generated: Sequence[Generated], found: list[Diagnostic]) -> list[Change]:
    """What would have to change; what cannot be read is added to ``found``."""
    from mtcodegen.output import changes

    result = []
    for item in generated:
        try:
            result += changes(item.target.folder, item.files, _neighbours(item.target))
        except OSError as error:
            message = f"cannot be read: {error.strerror or error}"
            found.append(Diagnostic("MT503", message, None, path=str(error.filename or item.target.folder)))
    return result


def _neighbours(target: Target) -> set[str]:
    """YAML files beside the inputs that this run does not read."""
    read = {item.path.resolve() for item in target.inputs}
    folders = {path.parent for path in read}
    return {path.name for folder in folders for path in folder.glob("*.yaml") if path.resolve() not in read}


def _progress(files: int) -> Callable[[str], None]:
    """What is being done, on one line of a terminal that is wiped at the end; silent for a few files."""
    if files < 3 or not sys.stderr.isatty():
        return lambda text: None

    def show(text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text[:79]}")
        sys.stderr.flush()

    return show


def _report(options: argparse.Namespace, found: list[Diagnostic]) -> None:
    """Findings go to standard error as text, to standard output in the forms that programs read."""
    stream = sys.stderr if options.format == "text" else sys.stdout
    if options.format == "json" or found:
        stream.write(FORMATS[options.format](found, colour=_wants_colour()))
    if options.format == "text" and found:
        errors = sum(item.severity == "error" for item in found)
        stream.write(f"{errors} error{'' if errors == 1 else 's'}\n")


def _wants_colour() -> bool:
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _say(options: argparse.Namespace, text: str) -> None:
    if options.format == "text":
        sys.stdout.write(f"{text}\n")


def _status(found: Sequence[Diagnostic]) -> int:
    return 1 if any(item.severity == "error" for item in found) else 0


if __name__ == "__main__":
    sys.exit(main())
