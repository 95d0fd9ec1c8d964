"""``torch.return_types``: what functions and methods with several results return, tuples whose parts have names.

A type is named after its function: ``torch.return_types.max`` has the parts ``values`` and ``indices``;
with ``out=`` it is ``max_out``.
"""

from __future__ import annotations

from typing import Any

from opschema import Schema, SchemaKind

from ._core import named_result_type

__all__ = ["all_return_types", "result_type_of"]

all_return_types: list[type[tuple[Any, ...]]] = []
_known: dict[tuple[str, tuple[str, ...]], type[tuple[Any, ...]]] = {}


def result_type_of(schema: Schema) -> type[tuple[Any, ...]] | None:
    """The type of what an operator's function returns; None where it returns one result, or results without names."""
    fields = tuple(output.name for output in schema.returns if output.name)
    if len(fields) < 2:
        return None
    name = f"{schema.name}_out" if schema.kind is SchemaKind.OUT else schema.name
    known = _known.get((name, fields))
    if known is None:
        known = _known[name, fields] = named_result_type(f"{__name__}.{name}", fields)
        known.__repr__ = _repr  # type: ignore[method-assign]
        all_return_types.append(known)
        globals().setdefault(name, known)
    return known


def _repr(self: Any) -> str:
    kind = type(self)
    parts = ",\n".join(f"{name}={part!r}" for name, part in zip(kind.__match_args__, self, strict=True))
    return f"torch.return_types.{kind.__name__}(\n{parts})"
