"""The command line, and its commands, a file each; ``main`` imports the one that is run."""

from mtcodegen.cli.main import program

__all__ = ["program"]
