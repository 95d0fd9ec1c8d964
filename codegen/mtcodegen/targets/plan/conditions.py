"""What a condition says: its text, its opposite, what was evaluated on the way, and what it expects as a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from mtcodegen.entries.model import Formula
from mtcodegen.expr import DTYPES, Expr, Literal, Name, walk
from mtcodegen.expr.nodes import Attribute, BoolOp, Call, Compare, Conditional, ListExpr, Unary

__all__ = ["clauses", "expectation", "negated", "operands", "written"]

_OPPOSITES = {"==": "!=", "!=": "==", "in": "not in", "not in": "in", "is": "is not", "is not": "is"}
_ORDER = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}  # the opposites of these, but for NaN
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_WORDS = {
    "==": "to equal {}",
    "!=": "to differ from {}",
    "<": "to be less than {}",
    "<=": "to be at most {}",
    ">": "to be greater than {}",
    ">=": "to be at least {}",
    "in": "to be one of {}",
    "not in": "to be none of {}",
    "is": "to be {}",
    "is not": "not to be {}",
}
_ALIKE = ("shape", "dtype", "device")  # properties that two tensors are compared by

Text = Callable[[Expr], str]


def written(formula: Formula, expr: Expr) -> str:
    """The part of a formula's text that ``expr`` was read from, on one line."""
    return " ".join(formula.node.value[expr.offset : expr.offset + expr.length].split())


def clauses(expr: Expr) -> Iterator[Expr]:
    """``a and b`` is two conditions: the message is about the one that fails, after the ones that do not."""
    if isinstance(expr, BoolOp) and expr.op == "and":
        for value in expr.values:
            yield from clauses(value)
    else:
        yield expr


def negated(expr: Expr) -> Expr:
    """The opposite condition, without a ``not`` where there is a word for it."""
    if isinstance(expr, Compare) and len(expr.rest) == 1 and expr.rest[0][0] in _OPPOSITES:
        op, operand = expr.rest[0]
        return replace(expr, rest=((_OPPOSITES[op], operand),))
    if isinstance(expr, Unary) and expr.op == "not":
        return expr.operand
    return Unary("not", expr)


def operands(expr: Expr, outcome: bool) -> Iterator[Expr]:
    """What was evaluated on the way to ``outcome``, without constants."""
    match expr:
        case BoolOp(op=op, values=values):
            for value in values if (op == "and") is outcome else values[:1]:
                yield from operands(value, outcome)
        case Unary(op="not", operand=operand):
            yield from operands(operand, not outcome)
        case Conditional(condition=condition):
            yield condition
        case Compare(rest=((_, Literal(value=None)), *_)):
            yield expr
        case Compare(first=first, rest=rest):
            yield from (part for part in (first, *(operand for _, operand in rest)) if not _is_constant(part))
        case _:
            yield expr


def _is_constant(expr: Expr) -> bool:
    return all(node.id in DTYPES for node in walk(expr) if isinstance(node, Name))


# ---------------------------------------------------------------- sentences


def expectation(expr: Expr, text: Text) -> str:
    """What a condition expects, to be read after "expected": ``x.dim() == 2`` is "x to have 2 dimensions".

    ``text`` gives the text of a part.
    """
    said = _said(expr, text)
    subjects = list(dict.fromkeys(subject for subject, _ in said))
    if len(subjects) == 1:
        return f"{subjects[0]} {' or '.join(predicate for _, predicate in said)}"
    return ", or ".join(" ".join(filter(None, pair)) for pair in said)


def _said(expr: Expr, text: Text) -> list[tuple[str, str]]:
    """Subjects and predicates, of which one is to hold."""
    match expr:
        case BoolOp(op="or", values=values):
            return [pair for value in values for pair in _said(value, text)]
        case BoolOp(values=values):
            return [(" and ".join(expectation(value, text) for value in values), "")]
        case Unary(op="not", operand=Compare(first=first, rest=((op, second),))) if op in _OPPOSITES or op in _ORDER:
            return [_compared(first, {**_OPPOSITES, **_ORDER}[op], second, text)]
        case Unary(op="not", operand=operand):
            return [(text(operand), "to be False")]
        case Compare(first=first, rest=((op, second),)):
            return [_compared(first, op, second, text)]
        case Compare(first=low, rest=((op, middle), (last_op, high))) if op in _MIRRORED and last_op in _MIRRORED:
            predicate = f"{_WORDS[_MIRRORED[op]].format(text(low))} and {_WORDS[last_op].format(text(high))}"
            return [(text(middle), predicate)]
    return [(text(expr), "to be True")]


def _compared(first: Expr, op: str, second: Expr, text: Text) -> tuple[str, str]:
    if isinstance(second, Literal) and second.value is None:
        return text(first), "to be None" if op in ("==", "is") else "to be given"
    if op == "==":
        return _equal(first, second, text)
    if op == "!=" and isinstance(second, Literal):
        return text(first), f"not to be {text(second)}"
    choices = _choices(second, text) if op in ("in", "not in") else text(second)
    return text(first), _WORDS[op].format(choices)


def _equal(first: Expr, second: Expr, text: Text) -> tuple[str, str]:
    match first, second:
        case Attribute(value=one, name=name), Attribute(value=other, name=same) if name == same and name in _ALIKE:
            return f"{text(one)} and {text(other)}", f"to have the same {name}"
        case Call(function=Attribute(value=tensor, name="dim"), arguments=()), Literal(value=int() as count):
            return text(tensor), f"to have {text(second)} dimension{'' if count == 1 else 's'}"
    constant = isinstance(second, Literal) or _is_constant(second)
    return text(first), f"to be {text(second)}" if constant else f"to equal {text(second)}"


def _choices(expr: Expr, text: Text) -> str:
    return ", ".join(map(text, expr.items)) if isinstance(expr, ListExpr) and expr.items else text(expr)
