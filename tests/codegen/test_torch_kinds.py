"""Operators for PyTorch with arguments and outputs of many kinds: values, gradients of both orders, compiled graphs."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tests.codegen.support import write
from tests.codegen.test_torch_form import made

# PyTorch's forward mode imports parts of its deprecated `torch.jit`; its `vmap` calls what has no rule in a loop.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning"),
]
TEXT = """\
namespace: codegen_kinds
ops:
- func: scaled(Tensor x, Tensor? w=None, int[]? dims=None, float? s=None) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, compute: '(x if w is None else x * w) * (1.0 if s is None else s)'}]
  backward:
    x: (grad if w is None else grad * w) * (1.0 if s is None else s)
    w: grad * x * (1.0 if s is None else s)
- func: joined(Tensor[] xs, int dim=0) -> Tensor
  kernels: [{compute: 'cat(xs, dim)'}]
- func: each(Tensor[] xs, float s) -> Tensor[]
  kernels: [{device: [cpu, meta], python: 'tests.codegen.test_torch_kinds:each'}]
  backward: {xs: 'each(grads[0], s)'}
- func: parts(Tensor x) -> (Tensor, Tensor, int)
  kernels: [{device: [cpu, meta], python: 'tests.codegen.test_torch_kinds:parts'}]
  backward: {x: 'grads[0] * 2 + grads[1] * 2 * x'}
- func: shifted(Tensor x, Scalar a, int n=2) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, compute: x * a + n}]
  backward: not_differentiable
- func: viewed(Tensor(a) x) -> Tensor(a)
  kernels: [{compute: 'x.view([-1])'}]
- func: chosen(Tensor x) -> Tensor
  fake: {like: x}
  kernels:
  - {device: cpu, compute: x * 2, dtypes: [float32, float64]}
  - {device: cpu, compute: x * 3, dtypes: [int64]}
  - {device: cpu, compute: x * 5, when: x.is_complex()}
  backward: {x: 'grad * (5 if x.is_complex() else 2)'}
- func: square(Tensor x) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, compute: x * x}]
  backward: {x: grad * 2 * x}
- func: one_sided(Tensor x, Tensor y) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, compute: x * y}]
  backward: {x: grad * y, y: not_implemented}
"""


def each(xs: list[Any], s: float) -> list[Any]:
    return [x * s for x in xs]


def parts(x: Any) -> tuple[Any, Any, int]:
    return x * 2, x * x, x.dim()


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    folder: Path = tmp_path_factory.mktemp("kinds")
    files, shown = made(folder, TEXT)
    assert "error" not in shown
    write(folder / "codegen_kinds_torch", files)
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("codegen_kinds_torch.ops")
    finally:
        sys.path.remove(str(folder))


def drawn(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(shape, dtype=dtype, requires_grad=True)


CASES = {
    "optional, given": lambda ops: (lambda x, w: ops.scaled(x, w, None, 2.0), [drawn(3), drawn(3)]),
    "optional, left out": lambda ops: (lambda x: ops.scaled(x), [drawn(3)]),
    "optional, broadcast": lambda ops: (ops.scaled, [drawn(2, 3), drawn(3)]),
    "list": lambda ops: (lambda *xs: ops.joined(list(xs)), [drawn(2), drawn(3)]),
    "list of outputs": lambda ops: (lambda *xs: tuple(ops.each(list(xs), 3.0)), [drawn(2), drawn(3)]),
    "several outputs": lambda ops: (lambda x: ops.parts(x)[:2], [drawn(2)]),
    "a view": lambda ops: (ops.viewed, [drawn(2, 2)]),
    "by dtype": lambda ops: (ops.chosen, [drawn(2)]),
    "complex": lambda ops: (ops.chosen, [drawn(2, dtype=torch.complex128)]),
    "no dimensions": lambda ops: (ops.square, [drawn()]),
    "no elements": lambda ops: (ops.square, [drawn(0)]),
    "not contiguous": lambda ops: (lambda x: ops.square(x.t()), [drawn(2, 3)]),
    "of one argument": lambda ops: (lambda x: ops.one_sided(x, torch.full((2,), 3.0, dtype=x.dtype)), [drawn(2)]),
}


@pytest.mark.parametrize("title", CASES)
def test_gradients_of_both_orders(ops: ModuleType, title: str) -> None:
    function, inputs = CASES[title](ops)
    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(function, inputs)


def test_values(ops: ModuleType) -> None:
    x = torch.tensor([1.0, 2.0])
    assert ops.parts(x)[2] == 1
    assert ops.viewed(x)._base is x
    assert ops.shifted(torch.tensor([1, 2]), 3).tolist() == [5, 8]
    assert ops.shifted(torch.tensor([1 + 1j]), 2j, n=0).tolist() == [-2 + 2j]
    assert [ops.chosen(torch.ones(1, dtype=d)).item() for d in (torch.float32, torch.int64, torch.complex64)] == [
        2,
        3,
        5,
    ]
    with pytest.raises(NotImplementedError, match=r"x.dtype to be torch.int64; .*, got x.dtype = torch.int32"):
        ops.chosen(torch.ones(1, dtype=torch.int32))
    with pytest.raises(NotImplementedError, match="one_sided: the gradient for `y` is not implemented"):
        ops.one_sided(drawn(2), drawn(2)).sum().backward()


def test_without_data(ops: ModuleType) -> None:
    with FakeTensorMode():
        x = torch.empty(3, 4)
        found = [ops.square(x), ops.viewed(x), ops.joined([x, x]), ops.each([x], 2.0)[0], ops.parts(x)[1]]
    assert [tuple(item.shape) for item in found] == [(3, 4), (12,), (6, 4), (3, 4), (3, 4)]


@pytest.mark.parametrize("title", ["optional, given", "list", "list of outputs", "a view", "by dtype"])
def test_a_compiled_graph(ops: ModuleType, title: str) -> None:
    function, inputs = CASES[title](ops)

    def total(*xs: torch.Tensor) -> torch.Tensor:
        result = function(*xs)
        return sum((item * item).sum() for item in (result if isinstance(result, tuple) else (result,)))

    torch._dynamo.reset()
    compiled = torch.compile(total, fullgraph=True, backend="aot_eager")
    expected, found = total(*inputs), compiled(*inputs)
    assert torch.equal(found, expected)
    for ours, theirs in zip(torch.autograd.grad(found, inputs), torch.autograd.grad(expected, inputs), strict=True):
        assert torch.allclose(ours, theirs)


def test_a_batch(ops: ModuleType) -> None:
    x = torch.arange(6.0).reshape(3, 2)
    assert torch.equal(torch.func.vmap(ops.square)(x), x * x)
    assert torch.equal(torch.func.vmap(lambda x: ops.scaled(x, None, None, 2.0))(x), x * 2)


def test_composed_operators_are_batched_and_differentiated_through_their_parts(ops: ModuleType) -> None:
    """A list of tensors is what PyTorch's own fallback for `vmap` refuses."""
    x, y = torch.randn(3, 2), torch.randn(4, 2)
    expected = torch.stack([torch.stack([torch.cat([row, other]) for other in y]) for row in x])
    found = torch.func.vmap(lambda row: torch.func.vmap(lambda other: ops.joined([row, other]))(y))(x)
    assert torch.equal(found, expected)
    assert torch.equal(torch.func.vmap(lambda row: ops.joined([row, y[0]]))(x), expected[:, 0])
    assert torch.equal(torch.func.vmap(ops.viewed)(torch.ones(3, 2, 2)), torch.ones(3, 4))
    weights = torch.arange(4.0)
    found = torch.func.vmap(torch.func.grad(lambda row: (ops.joined([row, row]) * weights).sum()))(x)
    assert torch.equal(found, torch.tensor([[2.0, 4.0]]).expand(3, 2))
