"""The text of docs/cli.md: ``python -m mtcodegen.cli.reference > docs/cli.md``."""

from __future__ import annotations

import sys

from mtcodegen.cli.main import COMMANDS, command_parser, overview

__all__ = ["markdown"]


def markdown() -> str:
    """What every command's ``--help`` prints."""
    lines = [
        "# Commands",
        "",
        "What `mtcodegen --help` and `mtcodegen COMMAND --help` print. This file is generated from the parsers:",
        "`python -m mtcodegen.cli.reference > docs/cli.md`; a test says so where it is not up to date.",
        "",
        *_block(overview()),
        "",
        "Findings go to standard error as text, and to standard output with `--format json`, `github` (workflow",
        "commands) or `sarif` (SARIF 2.1.0). Colour and the progress line appear on a terminal only; `NO_COLOR` turns",
        "colour off.",
    ]
    for name in COMMANDS:
        lines += ["", f"## {name}", "", *_block(command_parser(name).format_help())]
    lines += ["", "What `mtcodegen` finds has codes: [diagnostics.md](diagnostics.md)."]
    return "\n".join(lines) + "\n"


def _block(text: str) -> list[str]:
    return ["```text", *text.rstrip("\n").split("\n"), "```"]


if __name__ == "__main__":
    sys.stdout.write(markdown())
