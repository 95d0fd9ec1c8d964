"""Schemas that are cut at their commas are what the parser makes of them; what it refuses is not taken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import opschema
from opschema.parse import _Parser, _usual

SCHEMAS = [
    "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
    "split(Tensor(a -> *) self, SymInt[] sizes, int dim=0) -> Tensor(a)[]",
    "my::f_(Tensor(a!) self, str s='a, b', int[2] x=[1, 2], *, Device? d=None) -> Tensor(a!)",
    "g(Tensor? x=None) -> (Tensor a, Tensor[] b)",
    "h() -> ()",
]
PIECES = st.sampled_from([*"(),*=[]?! 'a1", ", ", "->", " -> ", "Tensor", "*, ", "=None", "(a!)", "[]"])


def _parsed(text: str) -> opschema.Schema | None:
    try:
        return _Parser(text).schema()
    except opschema.SchemaError:
        return None


def test_the_usual_ones_are_taken() -> None:
    assert [_usual(text) is not None for text in SCHEMAS] == [True, True, False, True, True]


@pytest.mark.parametrize(
    "text",
    [
        "f(Tensor a, *) -> Tensor",
        "f(*) -> ()",
        "f(*, int a, *, int b) -> ()",
        "f(Tensor a, ) -> Tensor",
        "f(Tensor a,Tensor b) -> Tensor",
        "f( Tensor a) -> Tensor",
        "f(Tensor a) -> (Tensor, )",
        "f(Tensor a) -> (Tensor)",
        "f(Tensor a) -> Tensor ",
        "f.default(Tensor a) -> Tensor",
    ],
)
def test_odd_ones(text: str) -> None:
    assert _usual(text) == _parsed(text)


@given(st.sampled_from(SCHEMAS), st.lists(st.tuples(st.integers(0, 90), st.integers(0, 3), PIECES), max_size=3))
def test_both_ways_agree(text: str, changes: list[tuple[int, int, str]]) -> None:
    for start, length, piece in changes:
        text = text[:start] + piece + text[start + length :]
    quick = _usual(text)
    assert quick is None or quick == _parsed(text)
