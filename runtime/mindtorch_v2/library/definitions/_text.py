"""Symbols as the expressions that made them, for errors."""

from __future__ import annotations

from typing import Any

from ..._core import OpOverload
from ._symbols import DTYPES, Symbol

__all__ = ["names_of", "text_of"]

_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "eq": "==", "lt": "<", "le": "<=",
    "and": "and", "or": "or", "same_sizes": "==", "equal": "==", "concat": "+",
}  # fmt: skip
_FORMS = {
    "shape_of": "{}.shape", "dtype": "{}.dtype", "numel": "{}.numel()", "ndim": "{}.dim()", "size": "{}.size({})",
    "contiguous": "{}.contiguous()", "is_contiguous": "{}.is_contiguous()", "device": "{}.device",
    "same_shape": "{}.shape == {}.shape", "size_at": "{}[{}]", "count": "{}.numel()", "length": "{}.rank()",
    "is_none": "{} is None", "is_floating": "{}.is_floating_point", "not": "not ({})", "neg": "-{}", "fneg": "-{}",
    "to_float": "{}", "float": "{}", "ceildiv": "ceil_div({}, {})", "min": "minimum({}, {})", "max": "maximum({}, {})",
    "fmin": "minimum({}, {})", "fmax": "maximum({}, {})", "promote": "promote_types({}, {})", "like": "like({})",
    "like_as": "like({}, {})", "empty": "empty({}, {}, {})", "broadcast_like": "broadcast({}, {})",
}  # fmt: skip
_SHOWN_IN = ("and", "eq", "equal", "feq", "fle", "flt", "le", "lt", "not", "or", "same_sizes")  # by their operands


def text_of(value: Any) -> str:
    """The expression of a symbol."""
    if not isinstance(value, Symbol):
        return repr(value)
    step, operands = value.step, [text_of(a) for a in value.args]
    if step in ("arg", "grad", "output"):
        return str(value.what[0])
    if step == "const":
        return repr(value.what)
    if step == "default":
        return f"{value.what[1]}=..."
    sign = _SIGNS.get(step) or (_SIGNS.get(step[1:]) if step.startswith("f") else None)
    if sign is not None and len(operands) == 2:
        left, right = (f"({t})" if _is_composed(a) else t for t, a in zip(operands, value.args, strict=True))
        return f"{left} {sign} {right}"
    if step in _FORMS:
        return _FORMS[step].format(*operands)
    return _rare(value, operands)


def _rare(value: Symbol, operands: list[str]) -> str:
    step = value.step
    if step == "shape":
        return f"[{', '.join(operands)}]"
    if step == "slice":
        first, last = ("" if a is None else t for a, t in zip(value.args[1:], operands[1:], strict=True))
        return f"{operands[0]}[{first}:{last}]"
    if step == "item":
        return f"{operands[0]}[{value.what}]"
    if step == "on_device":
        return f"{operands[0]}.is_{('cpu', 'cuda', 'mps', 'npu', 'meta')[value.what]}"
    if step == "dtype_in":
        return f"one_of({', '.join([operands[0], *(repr(d) for d in DTYPES if value.what >> d.code & 1)])})"
    if isinstance(value.what, OpOverload):
        step = value.what._schema.name
    elif step == "python":
        step = getattr(value.what[0], "__name__", type(value.what[0]).__name__.lower())
    return f"{step}({', '.join(operands)})"


def _is_composed(value: Any) -> bool:
    return isinstance(value, Symbol) and (value.step in _SIGNS or value.step.removeprefix("f") in _SIGNS)


def names_of(condition: Symbol) -> list[Symbol]:
    """What an error about a condition shows the values of: its operands, down to what has a value of its own."""
    if condition.step == "same_shape":
        return [a.shape for a in condition.args if a is not None]  # type: ignore[attr-defined]
    if condition.step in _SHOWN_IN:
        return [name for a in condition.args if a is not None for name in names_of(a)]
    if condition.step in ("dtype_in", "is_floating", "on_device", "can_cast", "is_none", "to_float"):
        return [a for a in condition.args if a is not None]
    return [] if condition.step == "const" else [condition]
