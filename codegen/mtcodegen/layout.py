"""Line breaking: what ``ruff format`` would make of the lines of a rendered module that are too long.

Templates write a statement on one line. Lines that fit are left as they are; a longer one is parsed and laid out again
with the usual pretty-printing algebra (text, line, indent, group), by the rules of Black's style.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

__all__ = ["WIDTH", "bracketed", "conditional", "pieces", "quoted", "strings", "wrap"]

WIDTH = 120
_INDENT = 4
_LONGEST = WIDTH - 9  # a literal that fits on a line of its own, as an argument in a function


def quoted(text: str) -> str:
    """A string literal in the quotes that the formatter prefers."""
    literal = repr(text)
    if literal[0] == "'" and text.count('"') <= text.count("'"):
        return '"' + literal[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'
    return literal


def strings(values: Sequence[str]) -> str:
    """A tuple of string literals."""
    return _strings(tuple(values))


@functools.lru_cache(maxsize=1024)  # operators have few different sets of tags
def _strings(values: tuple[str, ...]) -> str:
    items = [quoted(value) for value in values]
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def pieces(text: str, room: int) -> list[str]:
    """Literals that together make ``text``, each at most ``room`` wide where there are spaces to break at."""
    if quoted(text) == f'"{text}"':  # and so is each part of it
        return [f'"{part}"' for part in _cut(text, room - 2)]
    found: list[str] = []
    current = ""
    for word in re.findall(r"[^ \n]*(?:\n|[ ]|$)", text):
        if current and (len(quoted(current + word)) > room or current.endswith("\n")):
            found.append(quoted(current))
            current = ""
        current += word
    return [*found, quoted(current)] if current else found


def _cut(text: str, room: int) -> Iterator[str]:
    """Parts of ``text``, each up to the last space that there is room for."""
    start = 0
    while len(text) - start > room:
        end = text.rfind(" ", start, start + room) + 1 or text.find(" ", start) + 1 or len(text)
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def bracketed(head: str, items: Sequence[str], tail: str = "", indent: int = 0) -> str:
    """``head(items)tail`` as `wrap` would leave it, which would have to find the items again."""
    text = ", ".join(items)
    line = f"{' ' * indent}{head}({text}){tail}"
    if len(line) <= WIDTH:
        return line
    return _broken(f"{head}(", text, items, f"){tail}", indent) or line


def conditional(target: str, value: str, condition: str, otherwise: str, indent: int) -> list[str]:
    """The lines of ``target = value if condition else otherwise`` as `wrap` would leave them, where it need not."""
    choice = f"{value} if {condition} else {otherwise}"
    line = f"{target} = {choice}"
    if indent + len(line) <= WIDTH:
        return [line]
    room = WIDTH - indent - _INDENT
    parts = [choice] if len(choice) <= room else [value, f"if {condition}", f"else {otherwise}"]
    if max(map(len, [*parts, target])) > room:
        return [line]
    return [f"{target} = (", *[f"{' ' * _INDENT}{part}" for part in parts], ")"]


def wrap(text: str) -> str:
    """``text`` with each statement that is too long for its line laid out over several."""
    return "\n".join([_wrap_line(line) if len(line) > WIDTH else line for line in text.split("\n")])


def _wrap_line(line: str) -> str:
    code = line.lstrip(" ")
    indent = len(line) - len(code)
    if code.startswith(("#", '"')):
        return line
    simple = _one_bracket(code, indent)
    if simple is not None:
        return simple
    doc = _statement(code)
    return line if doc is None else " " * indent + _render(doc, indent)


# Most long lines have one pair of brackets to break in, and items between them that fit on a line each: a function's
# signature, a call, a list of names. They need no parser, which would take twenty times as long.
_PLAIN_TEXT = r"""[^()'"\\{}=]"""
_OPENING = re.compile(
    rf"(?:def \w+|(?:@|return |raise )?(?:\w+(?:, \w+)*(?:: {_PLAIN_TEXT}+)? = )?[\w.]+)\(|__all__ = \[", re.ASCII
)
_CLOSING = re.compile(rf"[)\]]|\) -> {_PLAIN_TEXT}+:(?: \.\.\.)?")
_MORE_THAN_COMMAS = re.compile(r"""[()'"\\{}]|\[[^\]]*,""")
_MARK = re.compile(rf""""[^"\\]{{0,{_LONGEST - 2}}}"|(\w?)([(\[{{])|[)\]}}'"\\]|, """, re.ASCII)


def _one_bracket(code: str, indent: int) -> str | None:
    """The items on a line of their own, or each on one; None where there is more to it."""
    opening = _OPENING.match(code)
    if opening is None or indent + opening.end() > WIDTH:
        return None
    start, end = opening.end(), max(code.rfind(")"), code.rfind("]")) if code[-1] in ")]" else code.rfind(")")
    items = _items(code[start:end]) if _CLOSING.fullmatch(code, max(end, 0)) else None
    return _broken(code[:start], code[start:end], items, code[end:], indent) if items else None


def _broken(opening: str, text: str, items: Sequence[str], closing: str, indent: int) -> str | None:
    """``text``, which is ``items`` with commas between, on one line or each on one; None where that is too long."""
    room = WIDTH - indent - _INDENT
    inner = "\n" + " " * (indent + _INDENT)
    if opening[-1] != "(" or len(text) > room:
        if max(map(len, items)) >= room:
            return None
        text = f",{inner}".join(items) + ","
    return f"{' ' * indent}{opening}{inner}{text}\n{' ' * indent}{closing}"


def _items(text: str) -> list[str] | None:
    """What stands between the commas; None where brackets do not match, or some could go."""
    if _MORE_THAN_COMMAS.search(text) is None:  # most signatures
        return text.split(", ")
    found: list[str] = []
    start = 0
    open_: list[tuple[str, bool]] = []  # the brackets around, and whether there has to be a comma in them
    for mark in _MARK.finditer(text):
        word = mark[0]
        if mark[2]:
            open_.append((_CLOSERS[mark[2]], mark[2] == "(" and not mark[1]))
        elif word == ", ":
            if open_:
                open_[-1] = open_[-1][0], False
            else:
                found.append(text[start : mark.start()])
                start = mark.end()
        elif word in ")]}":
            if not open_ or open_.pop() != (word, False):
                return None
        elif len(word) == 1:  # a quote or a backslash
            return None
    return None if open_ else [*found, text[start:]]


_CLOSERS = {"(": ")", "[": "]", "{": "}"}


# ---------------------------------------------------------------- the algebra


@dataclass(frozen=True, eq=False)
class _Line:
    """A place to break: nothing (``flat`` empty) or a space where the group fits on one line."""

    flat: str = " "


@dataclass(frozen=True, eq=False)
class _IfBreak:
    """Text that is there only where the enclosing group is broken."""

    text: str


@dataclass(frozen=True, eq=False)
class _Nest:
    body: _Doc


@dataclass(frozen=True, eq=False)
class _Group:
    """``width`` is that of all in it on one line."""

    body: _Doc
    width: int


@dataclass(frozen=True, eq=False)
class _OrParentheses:
    """``bare``, or ``inside`` parentheses where not even what stands before its first break would fit."""

    bare: _Doc
    inside: _Doc


_Doc = str | _Line | _IfBreak | _Nest | _Group | _OrParentheses | tuple["_Doc", ...]
_SOFT = _Line("")
_Item = tuple[int, bool, _Doc]  # indentation, broken, document


def _render(doc: _Doc, indent: int) -> str:
    out: list[str] = []
    column = indent
    stack: list[_Item] = [(indent, True, doc)]
    while stack:
        level, broken, item = stack.pop()
        if isinstance(item, str):
            out.append(item)
            column += len(item)
        elif isinstance(item, tuple):
            stack += [(level, broken, part) for part in reversed(item)]
        elif isinstance(item, _Nest):
            stack.append((level + _INDENT, broken, item.body))
        elif isinstance(item, _Group):
            stack.append((level, not _fits(item.width, stack, WIDTH - column), item.body))
        elif isinstance(item, _OrParentheses):
            width, breaks = _before_break(item.bare)
            fits = _fits(width, [] if breaks else stack, WIDTH - column)
            stack.append((level, broken, item.bare if fits else ("(", _Nest((_SOFT, item.inside)), _SOFT, ")")))
        elif isinstance(item, _IfBreak):
            stack.append((level, broken, item.text if broken else ""))
        elif broken:
            out.append("\n" + " " * level)
            column = level
        else:
            stack.append((level, broken, item.flat))
    return "".join(out)


def _fits(width: int, rest: Sequence[_Item], room: int) -> bool:
    """Whether something and what stands before the next line break behind it fit in ``room`` columns."""
    room -= width
    for _, broken, item in reversed(rest):
        if room < 0:
            return False
        width, breaks = _before_break(item) if broken else (_width(item), False)
        room -= width
        if breaks:
            break
    return room >= 0


def _width(doc: _Doc) -> int:
    """The width of a document on one line."""
    if isinstance(doc, str):
        return len(doc)
    if isinstance(doc, tuple):
        return sum(map(_width, doc))
    if isinstance(doc, _Group):
        return doc.width
    if isinstance(doc, _Nest):
        return _width(doc.body)
    if isinstance(doc, _OrParentheses):
        return _width(doc.bare)
    return len(doc.flat) if isinstance(doc, _Line) else 0


def _before_break(doc: _Doc) -> tuple[int, bool]:
    """The width of what stands before the first place to break, and whether there is one."""
    if isinstance(doc, tuple):
        total = 0
        for part in doc:
            width, breaks = _before_break(part)
            total += width
            if breaks:
                return total, True
        return total, False
    if isinstance(doc, _Nest | _Group):
        return _before_break(doc.body)
    if isinstance(doc, _Line | _OrParentheses):
        return int(isinstance(doc, _OrParentheses)), True
    return len(doc.text if isinstance(doc, _IfBreak) else doc), False


def _group(*body: _Doc) -> _Group:
    return _Group(body, _width(body))


def _join(items: Iterable[_Doc], separator: _Doc) -> tuple[_Doc, ...]:
    result: list[_Doc] = []
    for item in items:
        result += [separator, item] if result else [item]
    return tuple(result)


def _listed(items: Sequence[_Doc]) -> _Doc:
    """Items on one line, or one a line with a comma after the last."""
    return (*_join(items, (",", _Line())), _IfBreak(","))


def _commas(items: Sequence[_Doc]) -> _Doc:
    """As `_listed`, but one alone has no comma, in a call as in a list."""
    return items[0] if len(items) == 1 else _listed(items)


def _brackets(opening: str, body: _Doc, closing: str) -> _Doc:
    return _group(opening, _Nest((_SOFT, body)), _SOFT, closing)


# ---------------------------------------------------------------- statements


def _statement(code: str) -> _Doc | None:
    """The document of a statement or of a compound statement's first line; None if it has no layout of its own."""
    if code.startswith("@"):
        return ("@", _expression(ast.parse(code[1:], mode="eval").body, False))
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
        names = [alias.name for alias in node.names]
        return (f"from {'.' * node.level}{node.module or ''} import ", _brackets("(", _listed(names), ")"))
    return None


def _flat(node: ast.expr) -> str:
    """On one line, without the parentheses of a tuple that stands alone."""
    if isinstance(node, ast.Tuple) and len(node.elts) > 1:
        return ", ".join(_flat(item) for item in node.elts)
    return ast.unparse(node)


def _function(node: ast.FunctionDef, ending: str) -> _Doc:
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
    return (f"def {node.name}", _brackets("(", _group(_listed(items)), ")"), f"{returns}{ending}")


def _parameter_text(arg: ast.arg) -> str:
    return arg.arg if arg.annotation is None else f"{arg.arg}: {_annotation(arg.annotation)}"


def _annotation(node: ast.expr) -> str:
    """As ``ast.unparse``, which takes long for what most annotations are."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=None):
            return "None"
        case ast.Subscript(value=value, slice=ast.Name(id=name)):
            return f"{_annotation(value)}[{name}]"
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Name() | ast.Constant() | ast.Subscript() as right):
            return f"{_annotation(left)} | {_annotation(right)}"
    return ast.unparse(node)


def _parameter(arg: ast.arg, default: ast.expr | None) -> _Doc:
    return _parameter_text(arg) if default is None else (_parameter_text(arg), " = ", _expression(default, True))


def _right_hand_side(node: ast.expr) -> _Doc:
    """An expression that ends a statement: split in its own last brackets, or else inside added parentheses."""
    if isinstance(node, ast.Tuple) and len(node.elts) > 1:
        items = _listed([_expression(item, True) for item in node.elts])
        return _group(_IfBreak("("), _Nest((_SOFT, items)), _SOFT, _IfBreak(")"))
    if isinstance(node, ast.List | ast.ListComp | ast.Dict | ast.Tuple | ast.Name | ast.Constant):
        return _expression(node, False)
    if isinstance(node, ast.Call | ast.Subscript) or _splits_in_brackets(node):
        return _OrParentheses(_expression(node, False), _expression(node, True))
    return _group(_IfBreak("("), _Nest((_SOFT, _expression(node, True))), _SOFT, _IfBreak(")"))


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


def _operand(node: ast.expr, least: int, inside: bool) -> _Doc:
    """``node`` as an operand, in parentheses where it binds less than ``least``."""
    if _precedence(node) < least:
        return _brackets("(", _expression(node, True), ")")
    return _expression(node, inside)


def _expression(node: ast.expr, inside: bool) -> _Doc:
    """``inside``: within brackets, where a line may be broken at an operator."""
    build = _EXPRESSIONS.get(type(node))
    return ast.unparse(node) if build is None else build(node, inside)


def _constant(node: ast.Constant, inside: bool) -> _Doc:
    if not isinstance(node.value, str):
        return ast.unparse(node)
    literal = quoted(node.value)
    if not inside or len(literal) <= _LONGEST:
        return literal
    return _group(*_join(pieces(node.value, WIDTH - 16), _Line()))


def _starred(node: ast.Starred, inside: bool) -> _Doc:
    return ("*", _operand(node.value, 6, inside))


def _attribute(node: ast.Attribute, inside: bool) -> _Doc:
    return (_operand(node.value, _ATOM, inside), f".{node.attr}")


def _call(node: ast.Call, inside: bool) -> _Doc:
    items: list[_Doc] = [_expression(arg, True) for arg in node.args]
    items += [(f"{word.arg}=" if word.arg else "**", _expression(word.value, True)) for word in node.keywords]
    function = _operand(node.func, _ATOM, inside)
    return (function, _brackets("(", _group(_commas(items)), ")") if items else "()")


def _subscript(node: ast.Subscript, inside: bool) -> _Doc:
    value = _operand(node.value, _ATOM, inside)
    if isinstance(node.slice, ast.Slice):
        return (value, f"[{_slice(node.slice)}]")
    if isinstance(node.slice, ast.Tuple):
        items = [_slice(item) if isinstance(item, ast.Slice) else ast.unparse(item) for item in node.slice.elts]
        return (value, f"[{', '.join(items)}{',' if len(items) == 1 else ''}]")
    return (value, _brackets("[", _expression(node.slice, True), "]"))


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


def _binary(node: ast.BinOp, inside: bool) -> _Doc:
    if isinstance(node.op, ast.Pow):
        return ast.unparse(node)
    parts: list[_Doc] = []
    for operator, operand in _chain(node):
        parts += [_Line() if inside else " ", f"{operator} "] if parts else []
        parts.append(_operand(operand, _precedence(node) + (1 if operator else 0), inside))
    return _group(*parts) if inside else tuple(parts)


def _chain(node: ast.expr) -> list[tuple[str, ast.expr]]:
    """The operands of operators that bind alike, each with the operator before it; any other node is one operand."""
    operands: list[tuple[str, ast.expr]] = []
    left = node
    while isinstance(left, ast.BinOp) and _precedence(left) == _precedence(node):
        operands.append((_BINARY[type(left.op)][0], left.right))
        left = left.left
    return [("", left), *reversed(operands)]


def _compare(node: ast.Compare, inside: bool) -> _Doc:
    parts: list[_Doc] = [_operand(node.left, 6, inside)]
    for operator, operand in zip(node.ops, node.comparators, strict=True):
        parts += [_Line() if inside else " ", f"{_COMPARE[type(operator)]} ", _operand(operand, 6, inside)]
    return _group(*parts) if inside else tuple(parts)


def _boolean(node: ast.BoolOp, inside: bool) -> _Doc:
    word = "or" if isinstance(node.op, ast.Or) else "and"
    items = [_operand(value, _UNARY[ast.Not][1], inside) for value in node.values]
    parts = _join(items, (_Line() if inside else " ", f"{word} "))
    return _group(*parts) if inside else parts


def _unary(node: ast.UnaryOp, inside: bool) -> _Doc:
    operator, precedence = _UNARY[type(node.op)]
    return (operator, _operand(node.operand, precedence, inside))


def _conditional(node: ast.IfExp, inside: bool) -> _Doc:
    """``a if b else c``, and what another one behind the ``else`` has, on lines of one indentation."""
    line: _Doc = _Line() if inside else " "
    parts: list[_Doc] = []
    last: ast.expr = node
    while isinstance(last, ast.IfExp):
        parts += [_operand(last.body, 2, inside), line, "if ", _operand(last.test, 2, inside), line, "else "]
        last = last.orelse
    parts.append(_expression(last, inside))
    return _group(*parts) if inside else tuple(parts)


def _collection(opening: str, closing: str) -> Callable[..., _Doc]:
    def build(node: ast.List | ast.Tuple | ast.Set, inside: bool) -> _Doc:
        items = [_expression(item, True) for item in node.elts]
        if isinstance(node, ast.Tuple) and len(items) == 1:
            return _brackets(opening, (items[0], ","), closing)
        return _brackets(opening, _commas(items), closing) if items else f"{opening}{closing}"

    return build


def _comprehension(node: ast.ListComp, inside: bool) -> _Doc:
    """``[item for name in values]``, the clauses on lines of their own where they do not fit on one."""
    parts: list[_Doc] = [_expression(node.elt, True)]
    for clause in node.generators:
        parts += [_Line(), f"for {_flat(clause.target)} in ", _operand(clause.iter, 2, True)]
    return _brackets("[", _group(*parts), "]")


def _dict(node: ast.Dict, inside: bool) -> _Doc:
    if any(key is None for key in node.keys) or not node.keys:
        return ast.unparse(node)
    pairs = zip(node.keys, node.values, strict=True)
    items = [(_expression(key, True), ": ", _expression(value, True)) for key, value in pairs if key is not None]
    return _brackets("{", _commas(items), "}")


_EXPRESSIONS: dict[type[ast.expr], Callable[..., _Doc]] = {
    ast.Constant: _constant,
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
