"""YAML text as nodes, and back: read, formatted, edited."""
