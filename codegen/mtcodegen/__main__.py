"""``python -m mtcodegen``."""

from mtcodegen.cli import program

program()
