"""Expressions over the symbols of definitions: `all_of(a, b)` where `a and b` would ask a symbol for its truth."""

from __future__ import annotations

from collections.abc import Mapping

from mtcodegen.expr.nodes import (
    Attribute,
    BoolOp,
    Call,
    Compare,
    Expr,
    ListExpr,
    Literal,
    Name,
    Operator,
    Starred,
    Unary,
    walk,
)
from mtcodegen.expr.parser import AND, ATOM, COMPARISON, NOT, OR, POSTFIX, PRODUCT, SUM
from mtcodegen.expr.types import C_TYPES, DTYPES
from mtcodegen.pycode.expressions import Emitter
from mtcodegen.pycode.imports import Imports

__all__ = ["DEFINITIONS", "DefinitionEmitter"]

DEFINITIONS = "mindtorch_v2.library.definitions"
_EXTREMA = {"min": "minimum", "max": "maximum"}
_SAME = (
    "align_up", "broadcast_shapes", "can_cast", "ceil_div", "dim_bits", "promote_types", "reduced_shape", "result_type",
)  # fmt: skip
_FLOATS = {"inf": "inf", "nan": "nan", "pi": "pi"}
_OF_NUMBERS = {
    "abs": "absolute", "ceil": "ceil", "exp": "exp", "float": "to_float", "floor": "floor", "int": "to_int",
    "log": "log", "sqrt": "sqrt", "sum": "total",
}  # fmt: skip
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class DefinitionEmitter(Emitter):
    """Prints expressions over symbols; ``imports`` collects what the text needs, ``read`` the names that it reads."""

    def __init__(self, imports: Imports, rename: Mapping[str, str]) -> None:
        super().__init__(rename, "torch.ops.aten")
        self.imports = imports
        self.read: set[str] = set()

    def text(self, expr: Expr) -> str:
        """An expression on one line."""
        return self.emit(expr, 0)

    def helper(self, name: str) -> str:
        """How a function of the language is spelled."""
        return self.imports.name(DEFINITIONS, name)

    def torch(self) -> str:
        """How the runtime is spelled."""
        return self.imports.module("mindtorch_v2", "torch")

    def _emit(self, node: Expr) -> tuple[str, int]:
        match node:
            case Call(function=Name(id=name)) if name not in self.rename:
                return self._helper_call(node, name)
            case Compare():
                return self._comparison(node)
            case BoolOp(op=op, values=values):
                return self._joined(op, values)
            case Unary(op="not", operand=operand):
                if _tests_none(operand):
                    return f"not {self.emit(operand, NOT)}", NOT
                return f"{self.helper('none_of')}({self.text(operand)})", POSTFIX
            case ListExpr(items=items):
                return self._list(items)
        return super()._emit(node)

    # ---- names
    def _name(self, name: str) -> str:
        if name in self.rename:
            self.read.add(name)
            return self.rename[name]
        if name in DTYPES:
            return f"{self.torch()}.{name}"
        if name in _FLOATS:
            return f"{self.imports.module('math')}.{_FLOATS[name]}"
        return name

    def _operator(self, node: Operator) -> str:
        self.torch()
        return super()._operator(node)

    # ---- calls
    def _helper_call(self, node: Call, name: str) -> tuple[str, int]:
        arguments = node.arguments
        if name in _EXTREMA:
            items = arguments[0].items if len(arguments) == 1 and isinstance(arguments[0], ListExpr) else arguments
            return self._folded(_EXTREMA[name], items), POSTFIX
        if name in _SAME:
            return self._called(name, arguments), POSTFIX
        if name == "tuple":  # shapes compare with lists in definitions: no tuple is needed
            return self._emit(arguments[0])
        if name in C_TYPES:
            return self._called("bool_" if name == "bool" else name, arguments), POSTFIX
        if name == "prod":
            if isinstance(arguments[0], ListExpr):
                return " * ".join(self.emit(item, PRODUCT + 1) for item in arguments[0].items), PRODUCT
            return f"{self._base(arguments[0])}.numel()", POSTFIX
        if name == "len":
            return f"{self._base(arguments[0])}.rank()", POSTFIX
        if name in _OF_NUMBERS:
            return self._called(_OF_NUMBERS[name], arguments), POSTFIX
        return super()._call(node), POSTFIX

    def _list(self, items: tuple[Expr, ...]) -> tuple[str, int]:
        """A list; shapes of unknown length that are unpacked in it are joined with ``+``."""
        parts: list[str] = []
        run: list[str] = []
        for item in (*items, None):
            if item is not None and not isinstance(item, Starred):
                run.append(self.text(item))
                continue
            if run or (item is None and not parts):
                parts.append(f"[{', '.join(run)}]")
                run = []
            if isinstance(item, Starred):
                parts.append(self.emit(item.value, SUM))
        if len(parts) > 1:
            self.imports.exempt("RUF005")  # which asks for unpacking: a shape of unknown length has none
        return " + ".join(parts), ATOM if len(parts) == 1 else SUM

    def _called(self, name: str, arguments: tuple[Expr, ...]) -> str:
        return f"{self.helper(name)}({', '.join(map(self.text, arguments))})"

    def _folded(self, name: str, items: tuple[Expr, ...]) -> str:
        """A function of two arguments, nested until it takes all items."""
        text = self.text(items[0]) if len(items) > 1 else self._called(name, items)
        for item in items[1:]:
            text = f"{self.helper(name)}({text}, {self.text(item)})"
        return text

    # ---- conditions
    def _comparison(self, node: Compare) -> tuple[str, int]:
        if len(node.rest) > 1:
            firsts = (node.first, *(operand for _, operand in node.rest))
            parts = [Compare(a, (pair,)) for a, pair in zip(firsts, node.rest, strict=False)]
            return f"{self.helper('all_of')}({', '.join(map(self.text, parts))})", POSTFIX
        op, second = node.rest[0]
        match node.first, op, second:
            case Attribute(value=Attribute(value=of, name="device"), name="type"), "==", Literal(value=str() as kind):
                return f"{self._base(of)}.is_{kind}", POSTFIX
            case first, "is" | "is not", Literal(value=None) if not isinstance(first, Name):
                self.imports.exempt("E711")  # `is None` holds for arguments only: other values are symbols
                return f"{self.emit(first, COMPARISON + 1)} {'==' if op == 'is' else '!='} None", COMPARISON
            case first, "in" | "not in", ListExpr(items=items):
                text = self._membership(first, items)
                return (text if op == "in" else f"{self.helper('none_of')}({text})"), POSTFIX
        first = node.first
        if op in _MIRRORED and _is_number(first) and not _is_number(second):  # linters want the constant on the right
            first, op, second = second, _MIRRORED[op], first
        return f"{self.emit(first, COMPARISON + 1)} {op} {self.emit(second, COMPARISON + 1)}", COMPARISON

    def _membership(self, value: Expr, items: tuple[Expr, ...]) -> str:
        if all(isinstance(item, Name) and item.id in DTYPES for item in items):
            return self._called("one_of", (value, *items))
        equal = tuple(Compare(value, (("==", item),)) for item in items)
        return self._called("any_of", equal)

    def _joined(self, op: str, values: tuple[Expr, ...]) -> tuple[str, int]:
        """As one condition; a test for a missing argument keeps ``and`` and ``or``, which stop at the first answer."""
        if any(map(_tests_none, values)):
            return f" {op} ".join(self.emit(value, NOT) for value in values), AND if op == "and" else OR
        return self._called("all_of" if op == "and" else "any_of", values), POSTFIX


def _is_number(expr: Expr) -> bool:
    return isinstance(expr, Literal) or (isinstance(expr, Unary) and _is_number(expr.operand))


def _tests_none(expr: Expr) -> bool:
    """Whether an optional argument may be missing in an expression."""
    return any(
        isinstance(node, Compare) and any(isinstance(v, Literal) and v.value is None for _, v in node.rest)
        for node in walk(expr)
    )
