"""``python -m benchmarks.coverage``: writes ``docs/coverage.md``, which operators are declared, from ``ops_yaml/``."""

from __future__ import annotations

import textwrap
from pathlib import Path

from mtcodegen.document.load import read
from mtcodegen.entries.front import declared_schemas

__all__ = ["PAGE", "text"]

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "coverage.md"
HEAD = """\
# What is there

The built-in operators by the file that declares them, each with its variants and other names: `(_)` stands behind those
that there are in place, too. They are functions of `torch`, methods of `Tensor`, or both, as the file says; names that
begin with `special_` and `linalg_` are those of `torch.special` and `torch.linalg`. `python -m benchmarks.coverage`
writes this page from `ops_yaml/`; `python -m benchmarks.conformance --absent` says what PyTorch's own tests miss.
"""


def text() -> str:
    """The page."""
    parts = [HEAD]
    total = 0
    for path in sorted((ROOT / "ops_yaml").glob("*.yaml")):
        source, _ = read(path, path.name)
        schemas = [] if source is None else declared_schemas(source)
        names = sorted({schema.name for schema in schemas if not schema.is_inplace_name})
        in_place = {schema.name for schema in schemas if schema.is_inplace_name}
        shown = [f"{name}{'(_)' if f'{name}_' in in_place else ''}" for name in names]
        shown += sorted(name for name in in_place if name.removesuffix("_") not in names)
        total += len(schemas)
        listed = "\n".join(textwrap.wrap(" ".join(f"`{name}`" for name in shown), 120, break_on_hyphens=False))
        parts.append(f"## {path.stem}\n\n{len(schemas)} overloads of {len(shown)} names.\n\n{listed}\n")
    parts.insert(1, f"{total} overloads in all.\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(text(), "utf-8")
