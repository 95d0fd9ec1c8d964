"""The tables of properties, methods and helpers say what PyTorch does."""

import math

import pytest
import torch

from mtcodegen.expr import DEVICE, DTYPE, DTYPES, HELPERS, TENSOR, Kind, Purpose, analyze, parse_expression, scope_for
from mtcodegen.expr.types import ValueType, members_of
from mtcodegen.pycode.expressions import to_python
from opschema import parse_schema

PYTHON = {
    Kind.INT: int,
    Kind.BOOL: bool,
    Kind.FLOAT: float,
    Kind.STR: str,
    Kind.DTYPE: torch.dtype,
    Kind.DEVICE: torch.device,
    Kind.TENSOR: torch.Tensor,
}
OWNERS = [(torch.ones(2, 3), TENSOR), (torch.float32, DTYPE), (torch.device("cpu"), DEVICE)]


def fits(value: object, type_: ValueType) -> bool:
    if type_.kind is Kind.LIST:
        return isinstance(value, tuple) and all(fits(item, type_.element) for item in value)
    if type_.kind is Kind.NUMBER:
        return type(value) in (int, float)
    return (type_.optional and value is None) or type(value) is PYTHON[type_.kind]


@pytest.mark.parametrize(("owner", "type_"), OWNERS)
def test_members(owner: object, type_: ValueType) -> None:
    for name, member in members_of(type_).items():
        value = getattr(owner, name)
        assert callable(value) is member.method, name
        if not member.method:
            assert fits(value, member.type), name
            continue
        if member.index:
            assert fits(value(0), member.type), name
        assert fits(value(), member.without_index or member.type), name


def test_dtypes() -> None:
    assert all(isinstance(getattr(torch, name), torch.dtype) for name in DTYPES)


# Expressions with their values for x of shape (2, 3) and dims [4, 5].
VALUES = [
    ("x.shape[:-1] + dims", (2, 4, 5)),
    ("dims == x.shape", False),
    ("[2, 3] == x.shape", True),
    ("dims + [1] == [4, 5, 1]", True),
    ("[1] * x.dim() + [*dims]", (1, 1, 4, 5)),
    ("broadcast_shapes(x.shape, [1, 3])", (2, 3)),
    ("promote_types(x.dtype, int64)", torch.float32),
    ("result_type(x, 1)", torch.float32),
    ("can_cast(x.dtype, int32)", False),
    ("sizeof(x) + sizeof(x.dtype)", 8),
    ("prod(dims) + sum(dims) + max(dims) + min(3, 2.5)", 36.5),
    ("abs(-2) ** 2 ** 3 // 3 % 7", 1),
    ("-2 ** 2", -4),
    ("sqrt(4) + exp(0) + log(1) + floor(2.5) + ceil(2.5)", 8.0),
    ("int(2.7) + float(1)", 3.0),
    ("len(dims) if x.dtype in [float16, float32] else 0", 2),
    ("1 < x.ndim <= 2 and not x.requires_grad", True),
    ("inf > 1 and pi < 3.2", True),
    ("x.stride(0) + x.size(-1) + x.stride()[1]", 7),
]


@pytest.mark.parametrize(("text", "expected"), VALUES)
def test_emitted_source_computes_the_value(text: str, expected: object) -> None:
    scope = scope_for(parse_schema("ns::f(Tensor x, int[] dims) -> Tensor"), Purpose.FAKE)
    checked = analyze(parse_expression(text), scope)
    assert not checked.errors
    value = eval(to_python(checked.expr), {"torch": torch, "math": math, "x": torch.ones(2, 3), "dims": [4, 5]})
    assert value == expected
    assert fits(value, checked.type)


def test_helpers_of_torch_exist() -> None:
    modules = {"torch": torch, "math": math}
    for name, helper in HELPERS.items():
        module, _, attribute = helper.python.rpartition(".")
        if module in modules:
            assert callable(getattr(modules[module], attribute)), name
