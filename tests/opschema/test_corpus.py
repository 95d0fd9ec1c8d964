"""PyTorch's own schemas: the reference corpus."""

from collections import Counter
from pathlib import Path

import pytest
import yaml

from opschema import Identifier, Schema, SchemaKind, base_of, parse_schema

torchgen = pytest.importorskip("torchgen")


@pytest.fixture(scope="module")
def corpus() -> list[str]:
    path = Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml"
    with path.open() as file:
        return [entry["func"] for entry in yaml.load(file, yaml.CSafeLoader)]


@pytest.fixture(scope="module")
def schemas(corpus: list[str]) -> list[Schema]:
    return [parse_schema(text) for text in corpus]


def test_every_schema_prints_back(corpus: list[str], schemas: list[Schema]) -> None:
    assert len(corpus) == 2584
    assert [str(schema) for schema in schemas] == corpus


def test_kinds_agree_with_torchgen(corpus: list[str], schemas: list[Schema]) -> None:
    from torchgen.model import FunctionSchema

    differing = {
        schema.name: (schema.kind.value, theirs)
        for text, schema in zip(corpus, schemas, strict=True)
        if (theirs := FunctionSchema.parse(text).kind().name) != schema.kind.value
    }
    # torchgen does not count a write to `self` where the name does not say in-place.
    assert differing == dict.fromkeys(("set_data", "retain_grad", "record_stream"), ("mutable", "functional"))


def test_arguments_agree_with_torchgen(corpus: list[str], schemas: list[Schema]) -> None:
    from torchgen.model import FunctionSchema

    for text, schema in zip(corpus, schemas, strict=True):
        theirs = FunctionSchema.parse(text)
        flat = [*theirs.arguments.flat_non_out, *theirs.arguments.out]
        assert [argument.name for argument in schema.arguments] == [argument.name for argument in flat]
        assert [str(argument.type) for argument in schema.arguments] == [str(argument.type) for argument in flat]
        assert [argument.default for argument in schema.arguments] == [argument.default for argument in flat]
        assert [argument.is_write for argument in schema.arguments] == [argument.is_write for argument in flat]
        assert len(schema.kwarg_only) == len(theirs.arguments.flat_kwarg_only) + len(theirs.arguments.out)
        assert [ret.name for ret in schema.returns] == [ret.name for ret in theirs.returns]
        assert schema.overload == theirs.name.overload_name


def test_base_types_have_the_counts_of_the_corpus(schemas: list[Schema]) -> None:
    counts = Counter(base_of(argument.type).name for schema in schemas for argument in schema.arguments)
    assert counts["Tensor"] == 5102
    assert counts["SymInt"] == 647
    assert counts["MemoryFormat"] == 33


def test_every_default_has_a_value(schemas: list[Schema]) -> None:
    values = [
        (str(argument.type), argument.default, argument.default_value)
        for schema in schemas
        for argument in schema.arguments
        if argument.has_default
    ]
    assert sum(text == "None" for _, text, _ in values) == sum(value is None for _, _, value in values) == 1112
    assert {value.name for _, _, value in values if isinstance(value, Identifier)} == {
        "Mean",
        "int64",
        "contiguous_format",
    }


def test_defaults_agree_with_torch(corpus: list[str], schemas: list[Schema]) -> None:
    import torch

    compared = 0
    for text, schema in zip(corpus, schemas, strict=True):
        for ours, theirs in zip(schema.arguments, torch._C.parse_schema(text).arguments, strict=True):
            assert ours.has_default == theirs.has_default_value()
            if not ours.has_default:
                continue
            assert ours.default_value == theirs.default_value, (text, ours)
            compared += 1
    assert compared > 2150


def test_kinds() -> None:
    assert parse_schema("f(Tensor x) -> Tensor").kind is SchemaKind.FUNCTIONAL
    assert parse_schema("f_(Tensor(a!) x) -> Tensor(a!)").kind is SchemaKind.INPLACE
    assert parse_schema("__iadd__(Tensor(a!) x) -> Tensor(a!)").kind is SchemaKind.INPLACE
    assert parse_schema("__and__(Tensor x) -> Tensor").kind is SchemaKind.FUNCTIONAL
    assert parse_schema("f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)").kind is SchemaKind.OUT
    assert parse_schema("f(Tensor x, Tensor(a!) y) -> Tensor").kind is SchemaKind.MUTABLE
