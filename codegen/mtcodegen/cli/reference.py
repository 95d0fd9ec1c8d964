"""The text of docs/cli.md: ``python -m mtcodegen.cli.reference > docs/cli.md``."""

from __future__ import annotations

import sys

from mtcodegen.cli.codes import all_command_codes
from mtcodegen.cli.main import COMMANDS, command_parser, overview

__all__ = ["markdown"]


def markdown() -> str:
    """What every command's ``--help`` prints, and the codes of commands that are no generation."""
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
    lines += ["", "## Codes", "", "Those of generation are in [diagnostics.md](diagnostics.md)."]
    for code, about in all_command_codes().items():
        fix = f" `mtcodegen lint --fix` {about.fix}." if about.fix else ""
        lines += ["", f"**{code}: {about.title}.** {about.text}{fix}"]
    return "\n".join(lines) + "\n"


def _block(text: str) -> list[str]:
    return ["```text", *text.rstrip("\n").split("\n"), "```"]


if __name__ == "__main__":
    sys.stdout.write(markdown())
