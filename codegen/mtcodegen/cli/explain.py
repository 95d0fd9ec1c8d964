"""``mtcodegen explain``: what a code means."""

from __future__ import annotations

import argparse
import sys

from mtcodegen.findings.diagnostics import suggest
from mtcodegen.project.pyproject import UsageError

__all__ = ["DESCRIPTION", "EXAMPLES", "configure", "run"]

DESCRIPTION = (
    "Say what a diagnostic's code means, with a file that causes it and what is shown for it. Without a code, list all."
)
EXAMPLES = (
    ("mtcodegen explain MT204", "an unknown name"),
    ("mtcodegen explain MT805", "a rule of `mtcodegen lint`"),
    ("mtcodegen explain | grep kernel", "what there is on kernels"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("codes", nargs="*", metavar="CODE", help="such as MT204")


def run(options: argparse.Namespace) -> int:
    """Explain."""
    from mtcodegen.cli.explanations import explanation
    from mtcodegen.findings.codes import Code

    if not options.codes:
        sys.stdout.write("".join(f"{code}  {code.title}\n" for code in Code))
    texts = []
    for given in options.codes:
        code = Code.__members__.get(given.upper())
        if code is None:
            hint = suggest(given.upper(), Code.__members__) or "`mtcodegen explain` lists all"
            raise UsageError(f"there is no code {given}; {hint}")
        texts.append(explanation(code))
    sys.stdout.write("\n".join(texts))
    return 0
