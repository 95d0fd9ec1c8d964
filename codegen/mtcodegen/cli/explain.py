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
    from mtcodegen.cli.codes import all_command_codes, command_explanation
    from mtcodegen.cli.explanations import explanation
    from mtcodegen.findings.codes import CODES

    titles = {code: about.title for code, about in (CODES | all_command_codes()).items()}
    if not options.codes:
        sys.stdout.write("".join(f"{code}  {titles[code]}\n" for code in sorted(titles)))
    texts = []
    for given in options.codes:
        text = explanation(given.upper()) or command_explanation(given.upper())
        if text is None:
            hint = suggest(given.upper(), titles) or "`mtcodegen explain` lists all"
            raise UsageError(f"there is no code {given}; {hint}")
        texts.append(text)
    sys.stdout.write("\n".join(texts))
    return 0
