"""The commands, a file each; `mtcodegen.cli` imports the one that is run."""
