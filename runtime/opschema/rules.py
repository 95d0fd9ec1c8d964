"""Rules about a whole schema, which no single argument can break."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import SchemaError
from .types import ListType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .model import Argument, Return, Schema

_SCRATCH = "_scratch_"


def find_fault(schema: Schema) -> SchemaError | None:
    """The first rule that ``schema`` breaks, as an error that names the part; None for a sound schema."""
    fault = _overload_fault(schema) or _argument_fault(schema.arguments) or _return_fault(schema)
    if fault is not None:
        return fault
    if schema.is_inplace_name:
        return _inplace_fault(schema)
    return _out_fault(schema, schema.out_arguments) if schema.out_arguments else None


def _fault(message: str, kind: str, index: int, hint: str | None = None, other: int | None = None) -> SchemaError:
    """A fault of one part; ``other`` is the position of an earlier part of that kind, which it goes against."""
    return SchemaError(message, hint=hint, part=(kind, index), other=None if other is None else (kind, other))


def _first(parts: Sequence[Argument | Return], name: str | None) -> int:
    return next(i for i, part in enumerate(parts) if part.name == name)


def _overload_fault(schema: Schema) -> SchemaError | None:
    if schema.overload.startswith("__"):
        message = f"`{schema.overload}` is not a legal overload name"
        return _fault(message, "name", 0, "names that begin with `__` are Python's own")
    if schema.overload != "default":
        return None
    return _fault("`default` is the name of the overload without a name", "name", 0, f"write `{schema.name}`")


def _argument_fault(arguments: tuple[Argument, ...]) -> SchemaError | None:
    seen: set[str] = set()
    with_default: str | None = None
    keyword = out = False
    for i, argument in enumerate(arguments):
        name = argument.name
        if name in seen:
            return _fault(f"argument `{name}` is there twice", "argument", i, "rename one", _first(arguments, name))
        seen.add(name)
        if argument.kwarg_only:
            keyword = True
            if argument.is_write:
                out = True
            elif out:
                return _fault(f"`{name}` follows an out argument", "argument", i, "out arguments come last")
            continue
        if keyword:
            return _fault(f"positional argument `{name}` follows a keyword-only one", "argument", i)
        if argument.default is not None:
            with_default = name
        elif with_default is not None:
            hint = f"give `{name}` a default too, or move it before `{with_default}`"
            message = f"`{name}` has no default, but `{with_default}` before it has one"
            return _fault(message, "argument", i, hint, _first(arguments, with_default))
    return None


def _return_fault(schema: Schema) -> SchemaError | None:
    seen: set[str] = set()
    writes = bool(schema.returns) and schema.returns[0].is_write
    written = {argument.alias for argument in schema.arguments if argument.alias} if writes else set()
    for i, ret in enumerate(schema.returns):
        if ret.name is not None:
            if ret.name in seen:
                earlier = _first(schema.returns, ret.name)
                return _fault(f"return `{ret.name}` is there twice", "return", i, "rename one", earlier)
            seen.add(ret.name)
        if ret.is_write != writes:
            return _fault("either every return is a mutated argument or none is", "return", i)
        if writes and ret.alias not in written:
            return _fault(f"no argument is annotated {ret.alias}", "return", i)
    return None


def _inplace_fault(schema: Schema) -> SchemaError | None:
    if not schema.arguments or not schema.arguments[0].is_write:
        hint = "annotate it, as in `Tensor(a!) self`, or drop the `_` at the end of the name"
        return _fault(
            f"`{schema.name}` is in-place by its name, but does not write to its first argument", "name", 0, hint
        )
    first = schema.arguments[0]
    if isinstance(first.type, ListType):
        if not schema.returns:
            return None
        return _fault("an in-place operator on a list returns nothing", "return", 0, "write `-> ()`")
    if len(schema.returns) == 1 and schema.returns[0].alias == first.alias:
        return None
    if not schema.returns:  # as PyTorch takes it: who calls it has what it writes to
        return None
    return _fault(f"an in-place operator returns `{first.name}`", "return", 0, f"write `-> Tensor{first.alias}`")


def _out_fault(schema: Schema, outs: tuple[Argument, ...]) -> SchemaError | None:
    index = len(schema.arguments) - len(outs)
    if not schema.returns:
        return None
    if all(isinstance(out.type, ListType) for out in outs):
        return _fault("an operator with a list of outs returns nothing", "return", 0, "write `-> ()`")
    expected = [(i, out) for i, out in enumerate(outs, index) if not out.name.endswith(_SCRATCH)]
    for (i, out), ret in zip(expected, schema.returns, strict=False):
        if ret.alias != out.alias:
            return _fault(f"out argument `{out.name}` is not returned in its place", "argument", i)
    if len(expected) != len(schema.returns):
        message = f"{len(expected)} out arguments, but {len(schema.returns)} returns"
        return _fault(message, "return", 0, "an out operator returns its out arguments, or nothing")
    return None
