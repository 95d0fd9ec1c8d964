"""Statements of Python as documents, broken where Black's style breaks them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from mtcodegen.pycode.literals import pieces, quoted
from mtcodegen.pycode.pretty import (
    SOFT,
    WIDTH,
    Doc,
    IfBreak,
    Line,
    Nest,
    OrParentheses,
    brackets,
    commas,
    group,
    join,
    listed,
)

__all__ = ["LONGEST", "statement"]

LONGEST = WIDTH - 9  # a literal that fits on a line of its own, as an argument in a function


def statement(code: str) -> Doc | None:
    """The document of a statement or of a compound statement's first line; None if it has no layout of its own."""
    if code.startswith("@"):
        return ("@", _decorator(ast.parse(code[1:], mode="eval").body))
    header, suite = code.endswith(":"), code.endswith(": ...")
    node = ast.parse(f"{code} ..." if header else code).body[0]
    if isinstance(node, ast.FunctionDef):
        return _function(node, ": ..." if suite else ":")
    if isinstance(node, ast.If):
        return ("if ", _right_hand_side(node.test), ":")
    if isinstance(node, ast.Return) and node.value is not None:
        return ("return ", _right_hand_side(node.value))
    if isinstance(node, ast.Raise) and node.exc is not None:
        return ("raise ", _right_hand_side(node.exc))
    if isinstance(node, ast.Assign):
        first, *others = node.targets
        targets = "".join(f"{_flat(target)} = " for target in others)
        return (_right_hand_side(first), f" = {targets}", _right_hand_side(node.value))
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        return (f"{_flat(node.target)}: {_flat(node.annotation)} = ", _right_hand_side(node.value))
    if isinstance(node, ast.Expr):
        return _right_hand_side(node.value)
    if isinstance(node, ast.ImportFrom):
        names = [alias.name if alias.asname is None else f"{alias.name} as {alias.asname}" for alias in node.names]
        return (f"from {'.' * node.level}{node.module or ''} import ", brackets("(", listed(names), ")"))
    return None


def _decorator(node: ast.expr) -> Doc:
    """A call whose arguments stand further to the left than those in a function: a text may be longer."""
    if not isinstance(node, ast.Call) or not node.args or not _is_text(node.args[0]):
        return _expression(node, False)
    whole = _whole(node.args[0])
    room = LONGEST + (4 if node.keywords else 5)  # alone it has no comma behind it
    parts = [whole] if len(whole) <= room else pieces(ast.literal_eval(whole), WIDTH - 5)
    items: list[Doc] = [
        group(*join(parts, Line())),
        *[_expression(arg, True) for arg in node.args[1:]],
        *[(f"{word.arg}=", _expression(word.value, True)) for word in node.keywords],
    ]
    return (_expression(node.func, False), brackets("(", group(commas(items)), ")"))


def _flat(node: ast.expr) -> str:
    """On one line, without the parentheses of a tuple that stands alone."""
    if isinstance(node, ast.Tuple) and len(node.elts) > 1:
        return ", ".join(_flat(item) for item in node.elts)
    return ast.unparse(node)


def _function(node: ast.FunctionDef, ending: str) -> Doc:
    parameters = node.args
    defaults: list[ast.expr | None] = [None] * (len(parameters.args) - len(parameters.defaults))
    items = [
        _parameter(arg, value) for arg, value in zip(parameters.args, [*defaults, *parameters.defaults], strict=True)
    ]
    if parameters.kwonlyargs:
        items.append("*")
    items += [_parameter(arg, value) for arg, value in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)]
    if parameters.kwarg is not None:
        items.append("**" + _parameter_text(parameters.kwarg))
    returns = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    # No comma may follow `**kwargs: Any` alone in older Pythons' grammar, but every version since 3.6 takes it.
    return (f"def {node.name}", brackets("(", group(listed(items)), ")"), f"{returns}{ending}")


def _parameter_text(arg: ast.arg) -> str:
    return arg.arg if arg.annotation is None else f"{arg.arg}: {ast.unparse(arg.annotation)}"


def _parameter(arg: ast.arg, default: ast.expr | None) -> Doc:
    return _parameter_text(arg) if default is None else (_parameter_text(arg), " = ", _expression(default, True))


def _right_hand_side(node: ast.expr) -> Doc:
    """An expression that ends a statement: split in its own last brackets, or else inside added parentheses."""
    if isinstance(node, ast.Tuple) and len(node.elts) > 1:
        items = listed([_expression(item, True) for item in node.elts])
        return group(IfBreak("("), Nest((SOFT, items)), SOFT, IfBreak(")"))
    if isinstance(node, ast.List | ast.ListComp | ast.Dict | ast.Tuple | ast.Name | ast.Constant):
        return _expression(node, False)
    if isinstance(node, ast.Call | ast.Subscript) or _splits_in_brackets(node):
        return OrParentheses(_expression(node, False), _expression(node, True))
    return group(IfBreak("("), Nest((SOFT, _expression(node, True))), SOFT, IfBreak(")"))


def _splits_in_brackets(node: ast.expr) -> bool:
    """One operator, the loosest, where an operand has brackets at the very beginning or end to split in."""
    if isinstance(node, ast.UnaryOp):
        operand, least = node.operand, _UNARY[type(node.op)][1]
        return _ends_in_brackets(operand, least) and (_precedence(operand) < least or len(_chain(operand)) <= 2)
    chain, precedence = _chain(node), _precedence(node)
    begins, ends = _begins_in_brackets(chain[0][1], precedence), _ends_in_brackets(chain[-1][1], precedence + 1)
    return len(chain) == 2 and (begins or ends)


def _begins_in_brackets(node: ast.expr, least: int) -> bool:
    if _precedence(node) < least:
        return True
    return isinstance(node, ast.BinOp) and _begins_in_brackets(_chain(node)[0][1], _precedence(node))


def _ends_in_brackets(node: ast.expr, least: int) -> bool:
    if _precedence(node) < least:
        return True
    if isinstance(node, ast.BinOp):
        return _ends_in_brackets(_chain(node)[-1][1], _precedence(node) + 1)
    return isinstance(node, ast.Call) and bool(node.args or node.keywords)


# ---------------------------------------------------------------- expressions

_BINARY: dict[type[ast.operator], tuple[str, int]] = {
    ast.BitOr: ("|", 6),
    ast.BitXor: ("^", 7),
    ast.BitAnd: ("&", 8),
    ast.LShift: ("<<", 9),
    ast.RShift: (">>", 9),
    ast.Add: ("+", 10),
    ast.Sub: ("-", 10),
    ast.Mult: ("*", 11),
    ast.MatMult: ("@", 11),
    ast.Div: ("/", 11),
    ast.FloorDiv: ("//", 11),
    ast.Mod: ("%", 11),
    ast.Pow: ("**", 13),
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}
_UNARY: dict[type[ast.unaryop], tuple[str, int]] = {
    ast.Not: ("not ", 4),
    ast.USub: ("-", 12),
    ast.UAdd: ("+", 12),
    ast.Invert: ("~", 12),
}
_ATOM = 20


def _precedence(node: ast.expr) -> int:
    if isinstance(node, ast.IfExp):
        return 1
    if isinstance(node, ast.BoolOp):
        return 2 if isinstance(node.op, ast.Or) else 3
    if isinstance(node, ast.UnaryOp):
        return _UNARY[type(node.op)][1]
    if isinstance(node, ast.Compare):
        return 5
    return _BINARY[type(node.op)][1] if isinstance(node, ast.BinOp) else _ATOM


def _operand(node: ast.expr, least: int, inside: bool) -> Doc:
    """``node`` as an operand, in parentheses where it binds less than ``least``."""
    if _precedence(node) < least:
        return brackets("(", _expression(node, True), ")")
    return _expression(node, inside)


def _expression(node: ast.expr, inside: bool) -> Doc:
    """``inside``: within brackets, where a line may be broken at an operator."""
    build = _EXPRESSIONS.get(type(node))
    return ast.unparse(node) if build is None else build(node, inside)


def _constant(node: ast.Constant, inside: bool) -> Doc:
    if not isinstance(node.value, str):
        return ast.unparse(node)
    literal = quoted(node.value)
    if not inside or len(literal) <= LONGEST:
        return literal
    return group(*join(pieces(node.value, WIDTH - 16), Line()))


def _starred(node: ast.Starred, inside: bool) -> Doc:
    return ("*", _operand(node.value, 6, inside))


def _attribute(node: ast.Attribute, inside: bool) -> Doc:
    return (_operand(node.value, _ATOM, inside), f".{node.attr}")


def _call(node: ast.Call, inside: bool) -> Doc:
    items: list[Doc] = [_expression(arg, True) for arg in node.args]
    items += [(f"{word.arg}=" if word.arg else "**", _keyword_value(word)) for word in node.keywords]
    function = _operand(node.func, _ATOM, inside)
    return (function, brackets("(", group(commas(items)), ")") if items else "()")


def _keyword_value(word: ast.keyword) -> Doc:
    """What is passed by name: a text that does not fit beside the name stands in parentheses."""
    if not _is_text(word.value):
        return _expression(word.value, True)
    whole = _whole(word.value)
    if len(whole) < LONGEST - len(word.arg or ""):
        return whole
    return brackets("(", group(*join([whole] if len(whole) <= _IN_PARENTHESES else _lines(word.value), Line())), ")")


_IN_PARENTHESES = WIDTH - 12  # the room for a literal in parentheses, as an argument in a function


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _whole(node: ast.expr) -> str:
    """A string, formatted or not, as one literal."""
    if isinstance(node, ast.JoinedStr):
        return _formatted("".join(word for part in node.values for word in _words(part)))
    return quoted(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _lines(node: ast.expr) -> list[str]:
    """A string as literals that each fit on a line."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return pieces(node.value, WIDTH - 16)
    lines = [""]
    for word in [word for part in node.values for word in _words(part)] if isinstance(node, ast.JoinedStr) else ():
        if lines[-1] and len(lines[-1]) + len(word) > WIDTH - 19:
            lines.append("")
        lines[-1] += word
    return [_formatted(line) for line in lines]


def _words(part: ast.expr) -> list[str]:
    """The parts of a formatted string that stay together."""
    if isinstance(part, ast.FormattedValue):
        return [f"{{{ast.unparse(part.value)}}}"]
    text = quoted(f"'{part.value}")[2:-1] if isinstance(part, ast.Constant) and isinstance(part.value, str) else ""
    return re.findall(r"[^ ]* ?", text.replace("{", "{{").replace("}", "}}"))[:-1]


def _formatted(text: str) -> str:
    plain = text.replace("{{", "").replace("}}", "")
    return f'f"{text}"' if "{" in plain else '"' + text.replace("{{", "{").replace("}}", "}") + '"'


def _joined_string(node: ast.JoinedStr, inside: bool) -> Doc:
    whole = _whole(node)
    return whole if not inside or len(whole) <= LONGEST else group(*join(_lines(node), Line()))


def _subscript(node: ast.Subscript, inside: bool) -> Doc:
    value = _operand(node.value, _ATOM, inside)
    if isinstance(node.slice, ast.Slice):
        return (value, f"[{_slice(node.slice)}]")
    if isinstance(node.slice, ast.Tuple):
        items = [_slice(item) if isinstance(item, ast.Slice) else ast.unparse(item) for item in node.slice.elts]
        return (value, f"[{', '.join(items)}{',' if len(items) == 1 else ''}]")
    return (value, brackets("[", _expression(node.slice, True), "]"))


def _slice(node: ast.Slice) -> str:
    """``[a:b]``, with spaces around the colon where a bound is more than a name or a number."""
    bounds = [node.lower, node.upper, *([node.step] if node.step is not None else [])]
    texts = ["" if bound is None else ast.unparse(bound) for bound in bounds]
    if all(text.lstrip("-").isidentifier() or text.lstrip("-").isdigit() or not text for text in texts):
        return ":".join(texts)
    result = texts[0]
    for text in texts[1:]:
        result += f"{' ' if result and not result.endswith(':') else ''}:{' ' if text else ''}{text}"
    return result


def _binary(node: ast.BinOp, inside: bool) -> Doc:
    if isinstance(node.op, ast.Pow):
        return ast.unparse(node)
    parts: list[Doc] = []
    for operator, operand in _chain(node):
        parts += [Line() if inside else " ", f"{operator} "] if parts else []
        parts.append(_operand(operand, _precedence(node) + (1 if operator else 0), inside))
    return group(*parts) if inside else tuple(parts)


def _chain(node: ast.expr) -> list[tuple[str, ast.expr]]:
    """The operands of operators that bind alike, each with the operator before it; any other node is one operand."""
    operands: list[tuple[str, ast.expr]] = []
    left = node
    while isinstance(left, ast.BinOp) and _precedence(left) == _precedence(node):
        operands.append((_BINARY[type(left.op)][0], left.right))
        left = left.left
    return [("", left), *reversed(operands)]


def _compare(node: ast.Compare, inside: bool) -> Doc:
    parts: list[Doc] = [_operand(node.left, 6, inside)]
    for operator, operand in zip(node.ops, node.comparators, strict=True):
        parts += [Line() if inside else " ", f"{_COMPARE[type(operator)]} ", _operand(operand, 6, inside)]
    return group(*parts) if inside else tuple(parts)


def _boolean(node: ast.BoolOp, inside: bool) -> Doc:
    word = "or" if isinstance(node.op, ast.Or) else "and"
    items = [_operand(value, _UNARY[ast.Not][1], inside) for value in node.values]
    parts = join(items, (Line() if inside else " ", f"{word} "))
    return group(*parts) if inside else parts


def _unary(node: ast.UnaryOp, inside: bool) -> Doc:
    operator, precedence = _UNARY[type(node.op)]
    return (operator, _operand(node.operand, precedence, inside))


def _conditional(node: ast.IfExp, inside: bool) -> Doc:
    """``a if b else c``, and what another one behind the ``else`` has, on lines of one indentation."""
    line: Doc = Line() if inside else " "
    parts: list[Doc] = []
    last: ast.expr = node
    while isinstance(last, ast.IfExp):
        parts += [_operand(last.body, 2, inside), line, "if ", _operand(last.test, 2, inside), line, "else "]
        last = last.orelse
    parts.append(_expression(last, inside))
    return group(*parts) if inside else tuple(parts)


def _collection(opening: str, closing: str) -> Callable[..., Doc]:
    def build(node: ast.List | ast.Tuple | ast.Set, inside: bool) -> Doc:
        items = [_expression(item, True) for item in node.elts]
        if isinstance(node, ast.Tuple) and len(items) == 1:
            return brackets(opening, (items[0], ","), closing)
        return brackets(opening, commas(items), closing) if items else f"{opening}{closing}"

    return build


def _comprehension(node: ast.ListComp, inside: bool) -> Doc:
    """``[item for name in values]``, the clauses on lines of their own where they do not fit on one."""
    parts: list[Doc] = [_expression(node.elt, True)]
    for clause in node.generators:
        parts += [Line(), f"for {_flat(clause.target)} in ", _operand(clause.iter, 2, True)]
    return brackets("[", group(*parts), "]")


def _dict(node: ast.Dict, inside: bool) -> Doc:
    if any(key is None for key in node.keys) or not node.keys:
        return ast.unparse(node)
    pairs = zip(node.keys, node.values, strict=True)
    items = [(_expression(key, True), ": ", _expression(value, True)) for key, value in pairs if key is not None]
    return brackets("{", commas(items), "}")


_EXPRESSIONS: dict[type[ast.expr], Callable[..., Doc]] = {
    ast.Constant: _constant,
    ast.JoinedStr: _joined_string,
    ast.Starred: _starred,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.IfExp: _conditional,
    ast.List: _collection("[", "]"),
    ast.ListComp: _comprehension,
    ast.Tuple: _collection("(", ")"),
    ast.Set: _collection("{", "}"),
    ast.Dict: _dict,
}
