"""Python text: expressions, names, literals, and lines broken as `ruff format` breaks them."""
