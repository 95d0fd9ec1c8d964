"""Text -> tree -> Python source."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtcodegen.expr import Expr, ExpressionError, parse_expression, walk
from mtcodegen.expr.nodes import (
    Attribute,
    Binary,
    BoolOp,
    Call,
    Compare,
    Conditional,
    Index,
    Keyword,
    ListExpr,
    Literal,
    Name,
    Slice,
    Starred,
    Unary,
)
from mtcodegen.expr.parser import MAX_DEPTH
from mtcodegen.findings.codes import Code
from mtcodegen.pycode.expressions import to_python

# (expression, the source it becomes; None where it is the same)
EMITTED = [
    ("x", None),
    ("a+b*c", "a + b * c"),
    ("(a+b)*c", "(a + b) * c"),
    ("a-(b-c)", "a - (b - c)"),
    ("(a-b)-c", "a - b - c"),
    ("a/(b*c)", "a / (b * c)"),
    ("((a))", "a"),
    ("-a**2", "-(a**2)"),
    ("(-a)**2", "(-a) ** 2"),
    ("a**-2", "a**-2"),
    ("2**3**4", None),
    ("'\\x07\\r'", '"\\x07\\r"'),
    ("2**f(x)**4", "2 ** f(x) ** 4"),
    ("f(x)**3**4", "f(x) ** 3**4"),
    ("(2**3)**4", "(2**3) ** 4"),
    ("f(x)**2", "f(x) ** 2"),
    ("x.y**2", "x.y**2"),
    ("not a == b", "not a == b"),
    ("(not a) == b", "(not a) == b"),
    ("a < b <= c", None),
    ("(a < b) == c", "(a < b) == c"),
    ("a and b or c", "(a and b) or c"),
    ("a and (b or c)", None),
    ("a or (b and c)", None),
    ("a if b else c if d else e", None),
    ("(a if b else c) if d else e", None),
    ("a if (b if c else d) else e", None),
    ("(a if b else c) + 1", None),
    ("x is not None and x not in [1,2]", "x is not None and x not in (1, 2)"),
    ("[a]", "(a,)"),
    ("()", "()"),
    ("(a,)", "(a,)"),
    ("[*a[1:], b]", "(*a[1:], b)"),
    ("x[1:,::2]", "x[1:, ::2]"),
    ("x[:, n-1:]", "x[:, n - 1 :]"),
    ("x[a+1:b+1:2]", "x[a + 1 : b + 1 : 2]"),
    ("x[::f(y)]", "x[:: f(y)]"),
    ("x[-1]", "x[-1]"),
    ("x[1,]", "x[1,]"),
    ("x.f(1,*y,k = 2)", "x.f(1, *y, k=2)"),
    ("(1).real", "(1).real"),
    ("(a + b).sum()", "(a + b).sum()"),
    ("(-a).sum()", "(-a).sum()"),
    ("-a.sum()", "-a.sum()"),
    (".5 + 1. + 1E5 + 0XfF", "0.5 + 1.0 + 1e5 + 0xFF"),
    ("'it\\'s' + 'a\"b' + \"c\"", '"it\'s" + \'a"b\' + "c"'),
    ("float32", "torch.float32"),
    ("inf", 'float("inf")'),
    ("ceil_div(a, 2)", "npu.ceil_div(a, 2)"),
    ("prod(x.shape)", "math.prod(x.shape)"),
    ("contiguous(x)", "x.contiguous()"),
    ("sizeof(a + b)", "(a + b).itemsize"),
    ("True and None", None),
]


@pytest.mark.parametrize(("text", "source"), EMITTED)
def test_emits(text: str, source: str | None) -> None:
    emitted = to_python(parse_expression(text))
    assert emitted == (source or text)
    ast.parse(emitted, mode="eval")
    assert to_python(parse_expression(emitted)) == emitted


def test_precedence_is_pythons() -> None:
    """Python's own parser reads our text and our emitted source alike."""
    for text, source in EMITTED:
        if source is None or any(word in source for word in ("torch", "npu", "math", "(", "float", '"')):
            continue
        assert ast.dump(ast.parse(text, mode="eval")) == ast.dump(ast.parse(source, mode="eval"))


def test_renames() -> None:
    expr = parse_expression("ceil_div(scale, 2) * scale ** 2 + x.scale")
    assert to_python(expr, {"scale": "ctx.scale"}) == "npu.ceil_div(ctx.scale, 2) * ctx.scale**2 + x.scale"


# (expression with the fault between « and », message, part of the hint, code)
FAULTS = [
    ("«»", "the expression is empty", "", "MT200"),
    ("a +«»", "the expression ends too early", "", "MT200"),
    ("f«(»a, b", "`(` is never closed", "", "MT200"),
    ("x«[»1", "`[` is never closed", "", "MT200"),
    ("f(a«]»", "expected `)` before `]`", "", "MT200"),
    ("a «b»", "`b` is not expected here", "", "MT200"),
    ("a «=» b", "`=` is not a comparison", "write `==`", "MT200"),
    ("f(a.b«=»1)", "`=` is not a comparison", "write `==`", "MT200"),
    ("«*» a", "expected a value before `*`", "", "MT200"),
    ("a if b«»", "expected `else`", "write `a if condition else b`", "MT200"),
    ("a not «b»", "expected `in` after `not`", "", "MT200"),
    ("a«.1»", "`.1` is not expected here", "", "MT200"),
    ("f(fused«::»op)", "`::` is not part of the language", "fused.op(x)", "MT201"),
    ("x«[]»", "an index is missing", "", "MT200"),
    ("f(a=1, «b»)", "a positional argument follows a keyword one", "", "MT200"),
    ("fused«::»op(x)", "`::` is not part of the language", "fused.op(x)", "MT201"),
    ("a «&&» b", "`&&` is not part of the language", "write `and`", "MT201"),
    ("«!»a", "`!` is not part of the language", "write `not`", "MT201"),
    ("a «?» b : c", "`?` is not part of the language", "if condition else", "MT201"),
    ("«1.5f» * x", "`1.5f` is not a number", "suffixes", "MT225"),
    ("«9x»", "`9x` is not a number", "", "MT225"),
    ("«007»", "`007` starts with a zero", "write `7`", "MT225"),
    ("«18446744073709551616»", "`18446744073709551616` does not fit in 64 bits", "", "MT226"),
    ("«'abc»", "a string without its closing quote", "", "MT227"),
    ("«'a\\x'»", "`\\x` is not an escape", "", "MT228"),
    ("«é»", "`é` is not part of the language", "", "MT201"),
    ("«#»", "`#` is not part of the language", "", "MT201"),
]


@pytest.mark.parametrize(("marked", "message", "hint", "code"), FAULTS)
def test_fault(marked: str, message: str, hint: str, code: str) -> None:
    start, end = marked.index("«"), marked.index("»") - 1
    with pytest.raises(ExpressionError) as caught:
        parse_expression(marked.replace("«", "").replace("»", ""))
    error = caught.value
    assert (error.message, error.code.name) == (message, code)
    assert (error.offset, error.length) == (start, max(end - start, 1))
    assert hint in (error.hint or "")


@pytest.mark.parametrize(
    "text",
    [
        *("(" * 5000, "-" * 5000 + "x", "x" + ".a" * 5000, "+".join("x" * 5000), "f(" * 5000, "x" + "[0]" * 5000),
        *("a if b else " * 5000, "2 **" * 5000 + "2", "not " * 5000 + "x"),
    ],
    ids=["parens", "signs", "attributes", "sum", "calls", "indices", "conditionals", "powers", "nots"],
)
def test_deep_input_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_expression(text)
    assert caught.value.code is Code.MT202


def test_deepest_and_longest_input() -> None:
    deep = "-" * (MAX_DEPTH - 1) + "x"
    assert to_python(parse_expression(deep)) == deep
    long = parse_expression(f"[{', '.join(['x'] * 100_000)}]")
    assert sum(1 for _ in walk(long)) == 100_001
    with pytest.raises(ExpressionError, match="too many digits"):
        parse_expression("1" * 1_000_000)
    with pytest.raises(ExpressionError, match="closing quote"):
        parse_expression("'" + "\\" * 1_000_001)


# ---------------------------------------------------------------- properties

_NAMES = st.sampled_from(["x", "grad", "scale", "n", "float32x"])
_LEAVES = st.one_of(
    st.builds(Name, _NAMES),
    st.builds(Literal, st.one_of(st.integers(0, 2**63), st.floats(0, 1e300), st.booleans(), st.none(), st.text())),
)


def _grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    some = st.lists(inner, min_size=2, max_size=3).map(tuple)
    comparison = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"])
    bound = st.one_of(st.none(), inner)
    return st.one_of(
        st.builds(Unary, st.sampled_from(["-", "+", "not"]), inner),
        st.builds(Binary, st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "@"]), inner, inner),
        st.builds(Compare, inner, st.lists(st.tuples(comparison, inner), min_size=1, max_size=2).map(tuple)),
        st.builds(BoolOp, st.sampled_from(["and", "or"]), some),
        st.builds(Conditional, inner, inner, inner),
        st.builds(ListExpr, st.lists(st.one_of(inner, st.builds(Starred, inner)), max_size=3).map(tuple)),
        st.builds(Index, inner, st.one_of(inner, st.builds(Slice, bound, bound, bound))),
        st.builds(Attribute, inner, _NAMES),
        st.builds(
            Call,
            st.builds(Name, _NAMES),
            st.lists(inner, max_size=2).map(tuple),
            st.lists(st.builds(Keyword, _NAMES, inner), max_size=1).map(tuple),
        ),
    )


@given(st.recursive(_LEAVES, _grow, max_leaves=12))
def test_what_is_emitted_parses_to_the_same(tree: Expr) -> None:
    source = to_python(tree)
    parsed = parse_expression(source)
    assert parsed == tree
    assert to_python(parsed) == source
    ast.parse(source, mode="eval")


_PIECES = [
    "x",
    "grad",
    " ",
    "(",
    ")",
    "[",
    "]",
    "1",
    ".5",
    "+",
    "**",
    "*",
    "==",
    "not ",
    " in ",
    " is ",
    " if ",
    " else ",
]
_MORE = [",", ":", ".", "'", '"', "\\", "=", "f32", "None", "-", "é", "\n", "@", "and", "0x", "e9"]


@given(st.one_of(st.text(), st.lists(st.sampled_from([*_PIECES, *_MORE]), max_size=30).map("".join)))
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        tree = parse_expression(text)
    except ExpressionError as error:
        place = (error.offset, error.offset + error.length)
    else:
        place = (tree.offset, tree.offset + tree.length)
        assert parse_expression(to_python(tree)) == tree
    assert 0 <= place[0] <= len(text)
    assert place[0] < place[1] <= len(text) + 1


def test_spans() -> None:
    text = "f(a.b + 1, k=[x, *y])[1:] if not c else -d"
    spans = {text[node.offset : node.offset + node.length] for node in walk(parse_expression(text))}
    assert spans >= {text, "f(a.b + 1, k=[x, *y])[1:]", "f(a.b + 1, k=[x, *y])", "a.b + 1", "k=[x, *y]", "*y", "1:"}
    assert spans >= {"not c", "-d", "[x, *y]", "a.b"}


def test_formatters_leave_emitted_source_alone() -> None:
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent))
    if ruff is None:
        pytest.skip("ruff is not installed")
    lines = "".join(f"{source or text}\n" for text, source in EMITTED)
    command = [ruff, "format", "--isolated", "--line-length", "120", "-"]
    formatted = subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout
    assert formatted.splitlines() == lines.splitlines()
