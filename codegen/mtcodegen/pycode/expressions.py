"""Syntax tree -> Python source on one line, with the fewest parentheses."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping

from mtcodegen.expr.functions import HELPERS
from mtcodegen.expr.nodes import (
    Attribute,
    Binary,
    BoolOp,
    Call,
    Compare,
    Conditional,
    Expr,
    Index,
    Keyword,
    ListExpr,
    Literal,
    Name,
    Operator,
    Slice,
    Starred,
    Unary,
    Unread,
)
from mtcodegen.expr.parser import AND, ATOM, BINARY, COMPARISON, CONDITIONAL, NOT, OR, POSTFIX, POWER, SIGN
from mtcodegen.expr.types import C_TYPES, DTYPES
from mtcodegen.pycode.literals import quoted
from mtcodegen.pycode.names import KEYWORDS

__all__ = ["Emitter", "attribute", "by_name", "to_python"]

_CONSTANTS = {"inf": 'float("inf")', "nan": 'float("nan")', "pi": "math.pi"}
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_NUMBER = re.compile(r"-?(?:\d[\w.]*|0x\w+)")


def to_python(
    expr: Expr,
    rename: Mapping[str, str] | None = None,
    builtin: str = "torch",
) -> str:
    """Python source for a checked and resolved expression.

    ``rename`` says how names are spelled (``scale`` -> ``ctx.scale``). Operators become ``<builtin>.<name>``, or
    ``torch.ops.<namespace>.<name>`` outside the built-in namespace.
    """
    return Emitter(rename or {}, builtin).emit(expr, 0)


class Emitter:
    """Prints syntax trees as Python; subclasses spell some nodes differently."""

    def __init__(self, rename: Mapping[str, str], builtin: str) -> None:
        self.rename = rename
        self.builtin = builtin

    def emit(self, node: Expr, minimum: int) -> str:
        """``node`` in a place where an operator that binds less than ``minimum`` needs parentheses."""
        text, binding = self._emit(node)
        return text if binding >= minimum else f"({text})"

    def _emit(self, node: Expr) -> tuple[str, int]:
        match node:
            case Name(id=name):
                return self._name(name), ATOM
            case Call():
                return self._call(node), POSTFIX
            case Attribute(value=value, name=name):
                return f"{self._base(value)}.{name}", POSTFIX
            case Operator():
                return self._operator(node), ATOM
            case Unread():
                return "...", ATOM  # only messages show it: a file with such a node has errors
            case Literal():
                return _literal(node), ATOM
            case ListExpr(items=items):
                return self._tuple(items), ATOM
            case Starred(value=value):
                return f"*{self.emit(value, COMPARISON + 1)}", ATOM
            case Keyword(name=name, value=value):
                return by_name(name, self.emit(value, 0)), ATOM
            case Unary(op=op, operand=operand):
                if op == "not":
                    return f"not {self.emit(operand, NOT)}", NOT
                # `-(a**2)`: formatters add these parentheses.
                power = isinstance(operand, Binary) and operand.op == "**"
                return f"{op}{self.emit(operand, ATOM if power else SIGN)}", SIGN
            case Binary():
                return self._binary(node)
            case Compare(first=first, rest=rest):
                parts = [self.emit(first, COMPARISON + 1)]
                parts += [f"{op} {self.emit(operand, COMPARISON + 1)}" for op, operand in rest]
                return " ".join(parts), COMPARISON
            case BoolOp(op=op, values=values):
                binding = AND if op == "and" else OR
                # `(a and b) or c`: the parentheses are there for the reader.
                return f" {op} ".join(self.emit(value, NOT) for value in values), binding
            case Conditional(condition=condition, body=body, orelse=orelse):
                text = f"{self.emit(body, OR)} if {self.emit(condition, OR)} else {self.emit(orelse, CONDITIONAL)}"
                return text, CONDITIONAL
            case Slice():
                return self._slice(node), ATOM
            case Index(value=value, index=index):
                return f"{self._base(value)}[{self._subscript(index)}]", POSTFIX

    def _name(self, name: str) -> str:
        if name in self.rename:
            return self.rename[name]
        return f"torch.{name}" if name in DTYPES else _CONSTANTS.get(name, name)

    def _operator(self, node: Operator) -> str:
        if node.namespace == "aten" and not node.overload:
            return attribute(self.builtin, node.name)
        return attribute("torch.ops", node.namespace, node.name, *([node.overload] if node.overload else []))

    def _tuple(self, items: tuple[Expr, ...]) -> str:
        texts = [self.emit(item, 0) for item in items]
        return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"

    def _base(self, node: Expr) -> str:
        text = self.emit(node, POSTFIX)
        return f"({text})" if _NUMBER.fullmatch(text) else text

    def _binary(self, node: Binary) -> tuple[str, int]:
        binding = BINARY[node.op]
        if node.op != "**":
            return f"{self.emit(node.left, binding)} {node.op} {self.emit(node.right, binding + 1)}", binding
        left, right = self.emit(node.left, POWER + 1), self.emit(node.right, SIGN)
        nearest = right.partition("**")[0].rstrip() if isinstance(node.right, Binary) else right
        simple = all(_DOTTED.fullmatch(side) or _NUMBER.fullmatch(side) for side in (left, nearest))
        return f"{left}**{right}" if simple else f"{left} ** {right}", binding

    def _subscript(self, index: Expr) -> str:
        if not isinstance(index, ListExpr) or not index.items or any(isinstance(i, Starred) for i in index.items):
            return self.emit(index, 0)
        texts = [self.emit(item, 0) for item in index.items]
        return f"{texts[0]}," if len(texts) == 1 else ", ".join(texts)

    def _slice(self, node: Slice) -> str:
        """Spaces around the colons where a bound is more than a name or a number, as formatters leave it."""
        bounds = [node.lower, node.upper] + ([node.step] if node.step is not None else [])
        texts = ["" if bound is None else self.emit(bound, 0) for bound in bounds]
        if all(bound is None or self._is_simple(bound) for bound in bounds):
            return ":".join(texts)
        result = texts[0]
        for text in texts[1:]:
            result += f"{' ' if result and not result.endswith(':') else ''}:{' ' if text else ''}{text}"
        return result

    def _is_simple(self, node: Expr) -> bool:
        if isinstance(node, Unary):
            return node.op != "not" and self._is_simple(node.operand)
        return isinstance(node, Literal) or (isinstance(node, Name) and self._name(node.id).isidentifier())

    def _call(self, node: Call) -> str:
        function = node.function
        if isinstance(function, Name) and function.id not in self.rename:
            spelled = self._function(function.id)
            if spelled.startswith(".") and len(node.arguments) == 1:
                return f"{self._base(node.arguments[0])}{spelled}"
        else:
            spelled = self._base(function)
        arguments = ", ".join(self.emit(argument, 0) for argument in (*node.arguments, *node.keywords))
        return f"{spelled}({arguments})"

    def _function(self, name: str) -> str:
        if name in HELPERS:
            return HELPERS[name].python
        if name in C_TYPES:
            return "npu.bool_" if name == "bool" else f"npu.{name}"
        return name


def by_name(name: str, value: str) -> str:
    """An argument that is passed by name; a keyword of Python is passed as ``**{"lambda": value}``."""
    return f'**{{"{name}": {value}}}' if name in KEYWORDS else f"{name}={value}"


def attribute(value: str, *names: str) -> str:
    """``value.a.b``; with ``getattr`` for names that are keywords of Python, as ``lambda`` and ``None``."""
    for name in names:
        value = f'getattr({value}, "{name}")' if keyword.iskeyword(name) else f"{value}.{name}"
    return value


def _literal(node: Literal) -> str:
    value = node.value
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return str(value)
    return _number(node.text) if node.text else repr(value)


def _number(text: str) -> str:
    """A number as formatters write it: ``.5`` -> ``0.5``, ``1.`` -> ``1.0``, ``0Xff`` -> ``0xFF``."""
    text = text.lower()
    if text.startswith("0x"):
        return f"0x{text[2:].upper()}"
    if text.isdigit():
        return str(int(text))
    mantissa, e, exponent = text.partition("e")
    whole, point, fraction = mantissa.partition(".")
    if point:
        mantissa = f"{whole or '0'}.{fraction or '0'}"
    return f"{mantissa}{e}{exponent}"
