"""``mtcodegen diff``: what generating would change."""

from __future__ import annotations

import argparse
import sys

from mtcodegen.cli.common import report, status
from mtcodegen.cli.generate import configure, run_pipeline, wanted_changes
from mtcodegen.project.output import unified_diff

__all__ = ["DESCRIPTION", "EXAMPLES", "configure", "run"]

DESCRIPTION = """\
Show, as a unified diff, what `mtcodegen` would change in the output folder. Differences are no failure: `check` is the
command that fails."""
EXAMPLES = (
    ("mtcodegen diff ops.yaml", "what would change"),
    ("mtcodegen diff | less", "for all that pyproject.toml lists"),
)


def run(options: argparse.Namespace) -> int:
    """Show."""
    generated, found = run_pipeline(options)
    difference = unified_diff(wanted_changes(generated, found))
    if options.format == "text":
        sys.stdout.write(difference)
    report(options, found)
    return status(found)
