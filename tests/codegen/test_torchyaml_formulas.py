"""C++ formulas: their trees, their text, and what they read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.torch_yaml import saved_values
from mtcodegen.expr import ExpressionError
from mtcodegen.importer.pytorch import NameKind, backward_scope, parse_formula, reads, to_cpp
from mtcodegen.importer.pytorch.lexer import tokenize
from mtcodegen.importer.pytorch.nodes import (
    Braces,
    Call,
    Cast,
    Comment,
    CppExpr,
    Infix,
    Lambda,
    Literal,
    Member,
    Name,
    Prefix,
    Qualified,
    Scoped,
    Subscript,
    Template,
    Ternary,
    walk,
)
from opschema import parse_schema

A, B, C = Name("a"), Name("b"), Name("c")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a + b * c", Infix("+", A, Infix("*", B, C))),
        ("a - b - c", Infix("-", Infix("-", A, B), C)),
        ("a < b == c", Infix("==", Infix("<", A, B), C)),
        ("a & b == c", Infix("&", A, Infix("==", B, C))),
        ("a | b ^ c & a", Infix("|", A, Infix("^", B, Infix("&", C, A)))),
        ("a || b && c", Infix("||", A, Infix("&&", B, C))),
        ("a << b + c", Infix("<<", A, Infix("+", B, C))),
        ("a >> b", Infix(">>", A, B)),
        ("a > b >> c", Infix(">", A, Infix(">>", B, C))),
        ("a ? b : c ? a : b", Ternary(A, B, Ternary(C, A, B))),
        ("!a.b", Prefix("!", Member(A, "b"))),
        ("-a * b", Infix("*", Prefix("-", A), B)),
        ("*a->b()", Prefix("*", Call(Member(A, "b", arrow=True), ()))),
        ("a[b](c)", Call(Subscript(A, B), (C,))),
        ("at::native::f(a)", Call(Scoped(("at", "native", "f")), (A,))),
        ("::std::nullopt", Scoped(("", "std", "nullopt"))),
        ("std::get<0>(a)", Call(Template(Scoped(("std", "get")), (Literal(0),)), (A,))),
        (
            "std::vector<std::optional<c10::SymInt>>(a, 0)",
            Call(
                Template(
                    Scoped(("std", "vector")),
                    (Template(Scoped(("std", "optional")), (Scoped(("c10", "SymInt")),)),),
                ),
                (A, Literal(0)),
            ),
        ),
        (
            "static_cast<const Tensor&>(a)",
            Call(Template(Name("static_cast"), (Qualified(("const",), Name("Tensor"), ("&",)),)), (A,)),
        ),
        ("(double) a * b", Infix("*", Cast(Name("double"), A), B)),
        ("{{1, 1}}", Braces(None, (Braces(None, (Literal(1), Literal(1))),))),
        ("IntArrayRef{a, b}", Braces(Name("IntArrayRef"), (A, B))),
        ("f(/*b=*/ true)", Call(Name("f"), (Comment("b=", Literal(True)),))),
        (
            "[](c10::SymInt i){return -i;}",
            Lambda("", ((Scoped(("c10", "SymInt")), "i"),), Prefix("-", Name("i"))),
        ),
        ("1.5f + 2L", Infix("+", Literal(1.5), Literal(2))),
        ("0x1F + 1e-3", Infix("+", Literal(31), Literal(0.001))),
        ("010 + 010.5", Infix("+", Literal(8), Literal(10.5))),
        # A comparison, since no call follows: as in C#, whose rule this is.
        ("f(a < b, c > a)", Call(Name("f"), (Infix("<", A, B), Infix(">", C, A)))),
    ],
)
def test_trees(text: str, tree: CppExpr) -> None:
    found = parse_formula(text)
    assert found == tree
    assert parse_formula(to_cpp(found)) == tree
    assert [token.text for token in tokenize(to_cpp(found))] == [token.text for token in tokenize(text)]


def test_nodes_know_their_place() -> None:
    text = "f( a.bc ,/* d */ g[ 0 ])"
    places = {type(node).__name__: text[node.offset : node.offset + node.length] for node in walk(parse_formula(text))}
    assert places == {
        "Call": text,
        "Member": "a.bc",
        "Comment": "/* d */ g[ 0 ]",
        "Subscript": "g[ 0 ]",
        "Name": "g",
        "Literal": "0",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("«»", "the formula is empty"),
        ("a +«»", "the formula ends too early"),
        ("f«(»a", "`(` is never closed"),
        ("a«)»", "`)` closes nothing"),
        ("f(a«]»", "expected `)` before `]`"),
        ("a ? b«»", "expected `:`"),
        ("a «=» b", "a formula assigns nothing"),
        ("a «b»", "`b` is not expected here"),
        ("a «b» $", "`b` is not expected here"),  # the first fault, though `$` is one, too
        ("a.«(»b)", "expected a name after `.`"),
        ("a::«(»b)", "expected a name"),
        ("«$»a", "`$` is not part of the language"),
        ("«'»a'", "`'` is not part of the language"),
        ('f(«"a)»', "a string without its closing quote"),
        ("a + «/*» b", "a comment without its closing `*/`"),
        ("«1.0q»", "`1.0q` is not a number"),
        ("«12__3»", "`12__3` is not a number"),
        ("«08»", "`08` is not a number"),
        ("[](int i){ «-»i; }", "expected `return`"),
        ("[](int i){ return i «}»", "expected `;`"),
        ("(a)«{»b}", "`{` follows something that is not a type"),
    ],
)
def test_faults_have_their_place(text: str, message: str) -> None:
    start, end = text.index("«"), text.index("»") - 1
    with pytest.raises(ExpressionError) as caught:
        parse_formula(text.replace("«", "").replace("»", ""))
    assert caught.value.message == message
    assert caught.value.offset == start
    assert caught.value.length == max(end - start, 1)


@pytest.mark.parametrize("text", ["(" * 500 + "a", "-" * 500 + "a", "a" + ".b" * 500, "a<" * 500 + "b", "{" * 500])
def test_nesting_is_bounded(text: str) -> None:
    with pytest.raises(ExpressionError, match=r"nested more than|never closed|MT20"):
        parse_formula(text)


@given(st.text('ab01.,:;<>()[]{}+-*/&|!?= "~^%->::' + "\n", max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_formula_or_a_fault(text: str) -> None:
    fault = None
    try:
        tree = parse_formula(text)
    except ExpressionError as error:
        fault = error
    if fault is None:
        assert parse_formula(to_cpp(tree)) == tree
    else:
        assert 0 <= fault.offset <= len(text)
        assert fault.length >= 1


# ---------------------------------------------------------------- what is read

SCOPE = backward_scope(
    parse_schema("f(Tensor self, Tensor? bias, Tensor other_self, int dim, str mode) -> (Tensor out, Tensor state)"),
    (True, True),
)


@pytest.mark.parametrize(
    ("text", "saved"),
    [
        ("grad * self", ["self"]),
        ("grad.expand(self.sym_sizes())", ["self_sym_sizes"]),
        ("f(bias->sym_sizes())", ["bias_sym_sizes_opt"]),
        ("self.sym_size(0) + self.sym_size(-2)", ["self_sym_argsize_0", "self_sym_argsize_minus_2"]),
        ("self.sym_size(dim)", ["self_sym_argsize_dim"]),
        ("self.sym_size(dim + 1)", ["dim", "self"]),
        ("zeros_like(self)", ["self_info"]),
        ("zeros_like(self, grad)", ["self"]),
        ("at::zeros_like(self)", ["self"]),
        ("TensorGeometry(self)", ["self_geometry"]),
        ("self.scalar_type() == self.scalar_type() ? grad : self", ["self", "self_scalar_type"]),
        ("out.options()", ["out_options"]),
        ("state", ["state"]),
        # Where text is searched for names, each of these saves one tensor too many.
        ("other_self.sym_sizes()", ["other_self_sym_sizes"]),
        ('not_implemented("self")', []),
        ("f(/*self=*/grad)", []),
        ("grad.dim()", []),
        ("at::self(grad)", []),
        ("fmap(grad, [](int self){return self;})", []),
    ],
)
def test_what_is_saved(text: str, saved: list[str]) -> None:
    values = saved_values(parse_formula(text), SCOPE)
    assert sorted(value.variable for value in values) == saved
    assert all((value.kind is NameKind.OUTPUT) == (value.name in ("out", "state")) for value in values)


def test_reads_are_in_the_order_of_the_text() -> None:
    assert [name for name, _, _ in reads(parse_formula("a ? b[c] : d.e(f) + {g}"))] == ["a", "b", "c", "d", "f", "g"]
