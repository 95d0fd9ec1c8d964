"""C++ formulas -> our expression language, where it has a form of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable

from mtcodegen.importer.pytorch.nodes import (
    Braces,
    Call,
    Comment,
    CppExpr,
    Group,
    Infix,
    Literal,
    Member,
    Name,
    Prefix,
    Scoped,
    Subscript,
    Template,
    Ternary,
    unwrapped,
    walk,
)
from mtcodegen.importer.pytorch.printer import to_cpp
from mtcodegen.importer.pytorch.vocabulary import HELPERS

__all__ = ["ConversionError", "to_expression"]

_OPERATORS = {"&&": "and", "||": "or"} | {op: op for op in ("+", "-", "*", "/", "==", "!=", "<", ">", "<=", ">=")}
_NAMES = {"M_PI": "pi", "nullptr": "None"} | {
    "M_E": repr(math.e),
    "M_LN2": repr(math.log(2)),
    "M_LN10": repr(math.log(10)),
    "M_PI_2": repr(math.pi / 2),
    "M_SQRT1_2": repr(math.sqrt(0.5)),
    "M_SQRT2": repr(math.sqrt(2)),
}
# Members of C++ and what reads the same in Python: properties, methods with arguments, and members of wrappers.
_PROPERTIES = {"sym_sizes": "shape", "sizes": "shape", "scalar_type": "dtype", "dtype": "dtype", "device": "device"}
_METHODS = {"sym_size": "size", "sym_numel": "numel", "sym_strides": "stride", "sym_stride": "stride"}
_UNWRAPPED = frozenset({"value", "toDouble", "toFloat", "toInt", "toLong", "toSymInt"})
_KEPT = frozenset({"dim", "numel", "size", "stride", "is_contiguous"})
# Members that are integers, without an argument and with one, and those that are lists of them.
_COUNTS = frozenset({"dim", "ndimension", "numel", "sym_numel", "element_size", "toInt", "toLong", "toSymInt"})
_SIZES = frozenset({"size", "sym_size", "stride", "sym_stride"})
_LISTS_OF_SIZES = frozenset({"sizes", "sym_sizes", "strides", "sym_strides"})
_PRESENT = frozenset({"defined", "has_value"})


class ConversionError(Exception):
    """What our language has no form of: ``reason`` says what, ``node`` where."""

    def __init__(self, reason: str, node: CppExpr) -> None:
        super().__init__(reason)
        self.reason = reason
        self.node = node


def to_expression(formula: CppExpr, integers: Collection[str] = ()) -> str:
    """``formula`` in our language, where ``integers`` are its names of integers. They are not checked otherwise.

    Raises ConversionError, also for a division of integers, which cuts off what ours does not.
    """
    for node in walk(formula) if integers else ():
        if isinstance(node, Infix):
            _check_division(node, integers)
    return _text(_simplified(unwrapped(formula)))


def _simplified(node: CppExpr) -> CppExpr:
    """``node`` without the two choices that a generated backward makes itself: is there a gradient, is one recorded."""
    if not isinstance(node, Ternary):
        return node
    match node:
        case Ternary(condition=Call(function=Member(value=Name(id="grad"), name="defined")), body=body):
            return _simplified(unwrapped(body))
        case Ternary(condition=Call(function=Scoped(parts=("GradMode", "is_enabled"))), body=body):
            return _simplified(unwrapped(body))  # right whether or not the condition holds
    return node


def _text(node: CppExpr) -> str:
    match node:
        case Name(id=name):
            return _NAMES.get(name, name)
        case Call(function=function, arguments=arguments):
            return _call(node, function, arguments)
        case Literal():
            return _literal(node)
        case Group(value=value):
            return f"({_text(_simplified(value))})"
        case Comment(value=value):
            return _text(value)
        case Infix(op=op, left=left, right=right):
            if op not in _OPERATORS:
                raise ConversionError("a remainder" if op == "%" else f"`{op}` works on bits", node)
            _check_division(node)
            return f"{_operand(left)} {_OPERATORS[op]} {_operand(right)}"
        case Prefix(op="-" | "+" as op, operand=operand):
            return f"{op}{_operand(operand)}"
        case Prefix(op="!", operand=operand):
            return f"(not {_operand(operand)})"
        case Prefix(op="*", operand=operand):  # an optional's value
            return _text(operand)
        case Ternary(condition=condition, body=body, orelse=orelse):
            return f"{_operand(body)} if {_operand(condition)} else {_text(orelse)}"
        case Subscript(value=value, index=index):
            return f"{_operand(value)}[{_text(index)}]"
        case Braces(type=None, items=items):
            return f"[{_listed(items)}]"
    raise ConversionError(f"`{to_cpp(node)[:60]}` is C++", node)


def _literal(node: Literal) -> str:
    if isinstance(node.value, bool):
        return str(node.value)
    if isinstance(node.value, float):
        return repr(node.value)
    return node.text if isinstance(node.value, str) else str(node.value)


def _check_division(node: Infix, integers: Collection[str] = ()) -> None:
    if node.op == "/" and _is_integer(node.left, integers) and _is_integer(node.right, integers):
        raise ConversionError("a division of integers", node)


def _is_integer(node: CppExpr, integers: Collection[str]) -> bool:
    """Whether a value is an integer by what is written: a literal, an argument, a size, or made of these."""
    match unwrapped(node):
        case Literal(value=value):
            return isinstance(value, int)
        case Name(id=name):
            return name in integers
        case Prefix(op="-" | "+" | "*", operand=operand):
            return _is_integer(operand, integers)
        case Infix(op="+" | "-" | "*" | "/" | "%", left=left, right=right):
            return _is_integer(left, integers) and _is_integer(right, integers)
        case Call(function=Member(value=optional, name="value"), arguments=()):
            return _is_integer(optional, integers)
        case Call(function=Member(name=name), arguments=arguments):
            return name in (_COUNTS if not arguments else _SIZES)
        case Subscript(value=Call(function=Member(name=name), arguments=())):
            return name in _LISTS_OF_SIZES
    return False


def _operand(node: CppExpr) -> str:
    """As a part of something that binds tighter than a conditional or a comparison."""
    text = _text(node)
    loose = isinstance(node, Ternary) or (isinstance(node, Infix) and node.op in ("==", "!=", "<", ">", "<=", ">="))
    return f"({text})" if loose else text


def _listed(nodes: Iterable[CppExpr]) -> str:
    return ", ".join(_text(_simplified(node)) for node in nodes)


def _call(node: CppExpr, function: CppExpr, arguments: tuple[CppExpr, ...]) -> str:
    match function:
        case Member(value=value, name=name):
            return _method(value, name, arguments)
        case Name(id=name) | Scoped(parts=("at", name)):
            special = _FUNCTIONS.get(name)
            if special is not None:
                return special(node, arguments)
            if name in HELPERS:
                raise ConversionError(f"`{name}` is a helper that PyTorch has in C++", node)
            return f"{name.removesuffix('_symint')}({_listed(arguments)})"
        case Template(name=Scoped(parts=("std", "get")), arguments=(Literal(value=int(index)),)):
            return f"{_operand(arguments[0])}[{index}]"
        case Template(name=Scoped(parts=("std", "optional" | "vector") | ("at" | "c10", _))) if len(arguments) == 1:
            return _text(arguments[0])
    raise ConversionError(f"`{to_cpp(function)[:60]}` is C++", node)


def _method(value: CppExpr, name: str, arguments: tuple[CppExpr, ...]) -> str:
    receiver = _receiver(value)
    if name in _PROPERTIES and not arguments:
        return f"{receiver}.{_PROPERTIES[name]}"
    if name in _PRESENT:
        return f"({receiver} is not None)"
    if name in _UNWRAPPED:
        return receiver
    if name in _METHODS or name in _KEPT:
        return f"{receiver}.{_METHODS.get(name, name)}({_listed(arguments)})"
    return f"{receiver}.{name.removesuffix('_symint')}({_listed(arguments)})"


def _receiver(value: CppExpr) -> str:
    text = _operand(value)
    return f"({text})" if isinstance(value, (Prefix, Infix)) and not text.startswith("(") else text


def _maybe_multiply(node: CppExpr, arguments: tuple[CppExpr, ...]) -> str:
    """``maybe_multiply(t, s)`` leaves out a multiplication by one."""
    if len(arguments) != 2:
        raise ConversionError("`maybe_multiply` takes two arguments", node)
    left, right = ((f"({_text(item)})" if isinstance(item, (Infix, Ternary)) else _text(item)) for item in arguments)
    return f"{left} * {right}"


def _not_implemented(node: CppExpr, arguments: tuple[CppExpr, ...]) -> str:
    del node, arguments
    return "not_implemented"


_FUNCTIONS: dict[str, Callable[[CppExpr, tuple[CppExpr, ...]], str]] = {
    "maybe_multiply": _maybe_multiply,
    "not_implemented": _not_implemented,
    "not_implemented_list": _not_implemented,
}
