"""``mtcodegen explain``: what a code means."""

from __future__ import annotations

import argparse
import sys

from mtcodegen.targets import UsageError

__all__ = ["DESCRIPTION", "EXAMPLES", "configure", "run"]

DESCRIPTION = "Say what a diagnostic's code means, with a file that causes it and what is shown for it."
EXAMPLES = (("mtcodegen explain MT204", "an unknown name"), ("mtcodegen explain MT805", "a rule of `mtcodegen lint`"))


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("code", metavar="CODE", help="such as MT204")


def run(options: argparse.Namespace) -> int:
    """Explain."""
    from mtcodegen.codes import explanation
    from mtcodegen.commands.codes import command_explanation

    code = options.code.upper()
    text = explanation(code) or command_explanation(code)
    if text is None:
        raise UsageError(f"there is no code {options.code}; docs/diagnostics.md and docs/cli.md list them")
    sys.stdout.write(text)
    return 0
