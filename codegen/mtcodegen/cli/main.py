"""The command line: which command, its options, and what the exit status says."""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import io
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

__all__ = ["COMMANDS", "command_parser", "main", "overview", "program"]

# A command is a module of this folder, imported when it is run: DESCRIPTION, EXAMPLES, configure(parser) and
# run(options) -> exit status. What stands here is all that `mtcodegen --help` needs.
COMMANDS = {
    "generate": "write the modules (the default command)",
    "check": "fail, with a diff, where output is stale, edited or orphaned",
    "diff": "show what generating would change",
    "fmt": "format YAML files, comments and all",
    "lint": "find what is right but could be better; --fix mends what is safe to mend",
    "breaking": "say which schema changes break callers or saved programs",
    "list": "list the operators of files",
    "show": "show all about one operator",
    "watch": "generate again whenever a file changes",
    "import": "write our YAML from PyTorch's, ExecuTorch's or op-plugin's",
    "init": "start a project: kernels, YAML, Makefile, test, CI",
    "explain": "say what a diagnostic's code means",
    "schema": "print the JSON Schema of the YAML files",
    "completion": "print a shell's completion script",
}
_DESCRIPTION = """\
Generate Python modules from operator declarations in YAML.

  mtcodegen ops.yaml              write generated/ops.py and ops.pyi beside ops.yaml
  mtcodegen ops.yaml -o pkg       write them into pkg
  mtcodegen check ops.yaml        fail, with a diff, if they are not up to date
  mtcodegen init demo             start a project in a new folder
"""
_EPILOGUE = """\
A folder stands for the *.yaml files in it. Without files, and for files it lists, the nearest pyproject.toml says what
goes where:

  [[tool.mtcodegen.generate]]
  inputs = ["ops_yaml"]
  output = "generated/my_ops"

`mtcodegen COMMAND --help` has each command's options and examples.
exit status: 0 fine, 1 something was found, 2 wrong usage
"""


def program() -> NoReturn:
    """``main`` as a process of its own, which ends without taking its trees of values apart: that takes long."""
    gc.disable()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a file's name may not be encodable there
    kept = argparse.Namespace()  # keeps a command's trees alive, so that they are not freed one by one
    status = main(options=kept)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # a closed pipe or a full disk: there is nowhere to report it
            stream.flush()
    os._exit(status)


def main(arguments: Sequence[str] | None = None, options: argparse.Namespace | None = None) -> int:
    """Run the tool, with ``options`` to fill in; returns the exit status: 0 fine, 1 findings, 2 usage."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the parent process started this one with it closed
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, PTH123  (open until the process ends)
    if words and words[0] in ("-h", "--help"):
        sys.stdout.write(overview())
        return 0
    if words and words[0] == "help" and not os.path.exists("help"):  # noqa: PTH110  (it may be a folder of files)
        if words[1:] and words[1] in COMMANDS:
            return _guarded([words[1], "--help"], options)
        sys.stdout.write(overview())
        return 0
    if words and words[0] in ("-V", "--version"):
        sys.stdout.write(f"mtcodegen {_version()}\n")
        return 0
    return _guarded(words, options)


def _guarded(words: list[str], options: argparse.Namespace | None) -> int:
    from mtcodegen.project.pyproject import UsageError
    from mtcodegen.system.collector import without_collector

    try:
        name = _command_of(words)
        options = command_parser(name).parse_args(words, options)
        with without_collector():
            status: int = _module(name).run(options)
        sys.stdout.flush()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    except UsageError as error:
        sys.stderr.write(f"mtcodegen: {error}\n")
        return 2
    except BrokenPipeError:  # as in `mtcodegen list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # a full disk beneath standard output, a folder that vanishes
        place = f"{error.filename}: " if error.filename else ""
        _complain(f"{place}{error.strerror or error}")
        return 2
    except MemoryError:
        status = -1  # reported below: inside this block the traceback still keeps all memory alive
    except KeyboardInterrupt:
        sys.stderr.write("mtcodegen: interrupted; files are whole\n")
        return 130
    if status < 0:
        _complain("there is not enough memory for these files")
        return 2
    return status


def _complain(message: str) -> None:
    with contextlib.suppress(OSError):  # standard error may be a file on a full disk
        sys.stderr.write(f"mtcodegen: {message}\n")


def _command_of(words: list[str]) -> str:
    """The command that the words ask for, which is taken off them; `generate` where they begin with a file."""
    if not words or words[0] in COMMANDS:
        return words.pop(0) if words else "generate"
    first = words[0]
    if first.isidentifier() and not os.path.exists(first):  # noqa: PTH110  (pathlib refuses some words)
        from mtcodegen.findings.diagnostics import nearest
        from mtcodegen.project.pyproject import UsageError

        near = nearest(first, COMMANDS)
        if near is not None:
            raise UsageError(f"{first}: no such command or file; did you mean `{near}`?")
    return "generate"


def _module(name: str) -> Any:
    return importlib.import_module(f"mtcodegen.cli.{name}_" if name == "import" else f"mtcodegen.cli.{name}")


class _Parser(argparse.ArgumentParser):
    """One that knows which option was meant."""

    def error(self, message: str) -> NoReturn:
        from mtcodegen.findings.diagnostics import nearest

        wrong, _, names = message.partition(": ")
        known: list[str] = [name for action in self._actions for name in action.option_strings]
        given = names.split()[0].partition("=")[0] if wrong == "unrecognized arguments" else ""
        if invalid := re.match(r"argument .*: invalid choice: '(.*?)' ", message):
            given = invalid[1]
            known = [str(choice) for action in self._actions for choice in action.choices or ()]
        near = nearest(given, known) if given else None
        super().error(f"{message}; did you mean `{near}`?" if near else message)


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help of the same width everywhere: docs/cli.md shows it, too."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=110)


def command_parser(name: str) -> argparse.ArgumentParser:
    """The parser of one command; ``name`` is a key of COMMANDS."""
    module = _module(name)
    width = max(len(line) for line, _ in module.EXAMPLES) + 3
    examples = "".join(f"  {line:{width}}{text}\n" for line, text in module.EXAMPLES)
    parser = _Parser(
        f"mtcodegen {name}",
        description=module.DESCRIPTION,
        epilog=f"examples:\n{examples}\nexit status: 0 fine, 1 something was found, 2 wrong usage\n",
        formatter_class=_Help,
        allow_abbrev=False,
    )
    module.configure(parser)
    return parser


def overview() -> str:
    """What `mtcodegen --help` prints."""
    commands = "".join(f"  {name:12}{text}\n" for name, text in COMMANDS.items())
    usage = "usage: mtcodegen [COMMAND] [FILE ...] [options]\n       mtcodegen --help | --version\n"
    return f"{usage}\n{_DESCRIPTION}\ncommands:\n{commands}\n{_EPILOGUE}"


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("mtcodegen")
    except metadata.PackageNotFoundError:
        return "(from a source tree)"
