"""``mtcodegen schema``: the JSON Schema of the YAML files, for editors."""

from __future__ import annotations

import argparse
import sys

from mtcodegen.system.paths import data_folder

__all__ = ["DESCRIPTION", "EXAMPLES", "configure", "run"]

DESCRIPTION = """\
Print the JSON Schema of the YAML files. With `# yaml-language-server: $schema=ops.schema.json` in a file's first line,
editors complete and check it."""
EXAMPLES = (("mtcodegen schema > ops.schema.json", "put it beside the YAML files"),)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare no options."""
    del parser


def run(options: argparse.Namespace) -> int:
    """Print."""
    del options
    sys.stdout.write((data_folder("ops_yaml") / "ops.schema.json").read_text("utf-8"))
    return 0
