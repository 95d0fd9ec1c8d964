"""Schemas of others: all that TorchScript registers, read and printed back; operators are declared more strictly."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opschema import SchemaError, parse_schema
from tests.opschema.foreign import parse_foreign

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def corpus() -> list[Any]:
    return list(torch._C._jit_get_all_schemas())


def test_every_schema_prints_back(corpus: list[Any]) -> None:
    texts = [str(schema) for schema in corpus]
    assert len(texts) >= 4374
    assert [str(parse_foreign(text)) for text in texts] == texts


def test_parts_agree_with_torch(corpus: list[Any]) -> None:
    for theirs in corpus:
        ours = parse_foreign(str(theirs))
        assert ours.qualname == f"{theirs.name}{'.' if theirs.overload_name else ''}{theirs.overload_name}"
        assert [(argument.name, argument.kwarg_only, argument.default is not None) for argument in ours.arguments] == [
            (argument.name, argument.kwarg_only, argument.has_default_value()) for argument in theirs.arguments
        ]
        assert [ret.name for ret in ours.returns] == [ret.name or None for ret in theirs.returns]
        writes = any(alias and alias.write for argument in ours.arguments for alias in argument.type.aliases)
        assert writes == theirs.is_mutable


def test_what_both_grammars_read_is_the_same(corpus: list[Any]) -> None:
    refused = 0
    for text in map(str, corpus):
        try:
            strict = parse_schema(text)
        except SchemaError:
            refused += 1
            continue
        loose = parse_foreign(text)
        assert strict.qualname == loose.qualname
        assert list(map(str, strict.arguments)) == list(map(str, loose.arguments))
        assert list(map(str, strict.returns)) == list(map(str, loose.returns))
    assert 400 <= refused < len(corpus) / 10


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("f(Any x) -> t", "unknown type specifier `Any`"),
        ("f(AnyEnumType x) -> ()", "unknown type specifier `AnyEnumType`"),
        ("f(Dict(str, t)(a!) self, t(c -> *) x) -> t(*)", "unknown type specifier `Dict`"),
        ("f((str, tVal)[] inputs) -> Dict(str, tVal)", "expected the type of an argument"),
        ("f(Future(t) x) -> ((str, t)[])", "unknown type specifier `Future`"),
        ("f(int n, ...) -> ...", "`...`"),
        ("f(int[](a!) x) -> ()", "an alias annotation in the wrong place"),
        ("f(Tensor x) -> Tensor(*)", "`(*)` is not an alias annotation"),
        ("f(ns.a.Klass? x, *, MemoryFormat m=0) -> ()", "unknown type specifier `ns.a.Klass`"),
        ("f_(Tensor x) -> ()", "`f_` is in-place by its name"),
    ],
)
def test_what_is_read_but_cannot_be_declared(text: str, refusal: str) -> None:
    assert str(parse_foreign(text)) == text
    with pytest.raises(SchemaError) as caught:
        parse_schema(text)
    assert refusal in caught.value.message


def test_a_type_has_its_parts() -> None:
    (argument,) = parse_foreign("f(Dict(str, (int, t)[])(a!)?[2](b|c -> *) x=None) -> ()").arguments
    assert (argument.type.name, argument.type.suffixes, argument.default) == ("Dict", ("?", "[2]"), "None")
    assert [str(alias or "") for alias in argument.type.aliases] == ["(a!)", "", "(b|c -> *)"]
    assert [str(parameter) for parameter in argument.type.parameters] == ["str", "(int, t)[]"]


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("«f»", "expected `namespace::name.overload(`"),
        ("f(int«)» -> int", "expected ` `"),
        ("f(int x«,»int y) -> int", "expected `, `"),
        ("f(Dict«[»str) -> int", "expected `(`"),
        ("f(int x=«)» -> int", "expected a default after `=`"),
        ("f(int x)«-»> int", "expected ` -> `"),
        ("f(int x) -> int«;»", "nothing may follow the returns"),
        ("f(" + "(" * 32 + "«(»", "types nested more than 32 deep"),
    ],
)
def test_faults_have_their_place(marked: str, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse_foreign(marked.replace("«", "").replace("»", ""))
    assert (caught.value.message, caught.value.offset) == (message, marked.index("«"))


_PIECES = st.sampled_from(
    [
        "f(",
        "(",
        ")",
        "Dict",
        "t",
        " ",
        "x",
        ", ",
        "*",
        "...",
        "?",
        "[]",
        "=",
        "1",
        "(a!)",
        "(*)",
        " -> ",
        "ns::",
        "é",
        "|",
    ]
)


@given(st.one_of(st.text(), st.lists(_PIECES, max_size=30).map("".join)))
def test_any_text_prints_back_or_is_refused(text: str) -> None:
    try:
        schema = parse_foreign(text)
    except SchemaError as error:
        place = error.offset
    else:
        assert str(schema) == text
        return
    assert 0 <= place <= len(text)
