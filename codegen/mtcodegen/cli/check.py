"""``mtcodegen check``: is the output what the YAML says."""

from __future__ import annotations

import argparse
import sys

from mtcodegen.cli.common import report, say, status
from mtcodegen.cli.generate import configure, run_pipeline, wanted_changes
from mtcodegen.project.output import findings, unified_diff

__all__ = ["DESCRIPTION", "EXAMPLES", "configure", "run"]

DESCRIPTION = """\
Fail, with a diff, where the generated modules are not byte for byte what the YAML files say: stale, edited by hand,
missing, or made by no YAML file. Writes nothing; meant for CI."""
EXAMPLES = (
    ("mtcodegen check", "all that pyproject.toml lists"),
    ("mtcodegen check ops.yaml", "the modules of one file"),
    ("mtcodegen check --format github", "findings beside the line in a pull request"),
    ("mtcodegen check --format sarif > mtcodegen.sarif", "findings for code scanning"),
)


def run(options: argparse.Namespace) -> int:
    """Compare."""
    generated, found = run_pipeline(options)
    stale = wanted_changes(generated, found)
    if options.format == "text":
        sys.stdout.write(unified_diff(stale))
    found += findings(stale)
    report(options, found)
    if generated and not status(found):
        say(options, "everything is up to date")
    return status(found)
