"""Gradients of declared operators whose arguments and outputs are not one tensor each, against numerical ones."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd import gradcheck, gradgradcheck
from tests.codegen.support import load

OPS = """\
namespace: codegen_gradients
ops:
- func: parts(Tensor[] xs, Tensor y, Tensor?[] zs) -> (Tensor total, Tensor[] each)
  fake: {python: 'tests.codegen.test_gradients_run:parts'}
  kernels: [{device: cpu, python: 'tests.codegen.test_gradients_run:parts'}]
  backward:
    xs: '[grads[0] * y + grads[1][0] * 2, grads[0] * y + grads[1][1] * 3]'
    y: grad_total * (xs[0] + xs[1])
    zs: '[None, grads[0]]'
- func: by_device(Tensor x) -> (int, Tensor, Tensor[] lists)
  kernels: [{compute: ['x.numel()', x * 2, '[x * 3]']}]
  backward: {x: {default: 'grads[1] * 2 + grads[2][0] * 3', npu: 'grads[1]'}}
- func: list_by_device(Tensor x) -> Tensor[]
  kernels: [{compute: '[x * 2, x * 3]'}]
  backward: {x: {default: 'grad[0] * 2 + grad[1] * 3', npu: 'grad[0]'}}
- func: some(Tensor[]? xs, Tensor[]? ys, Tensor z, int xs_count, int xs_given) -> Tensor
  kernels: [{compute: '(z if xs is None else z * xs[0]) + (0 * z if ys is None else ys[0] * xs_count * xs_given)'}]
  backward:
    xs: 'None if xs is None else [grad * z]'
    ys: 'None if ys is None else [grad * xs_count * xs_given + 0 * ys[0]]'
    z: 'grad if xs is None else grad * xs[0]'
- func: named_so(Tensor grad, Tensor grads) -> (Tensor, Tensor)
  kernels: [{compute: [grad * 2, grads * 3]}]
  backward: {grad: 'grads[0] * 2', grads: 'grads[1] * 3'}
- func: spelled(Tensor _, Tensor class, *, float class_, Tensor lambda) -> Tensor
  check: [class_ > 0 and _.shape == class.shape]
  kernels: [{compute: _ * class * lambda * class_}]
  backward: {_: grad * class * lambda * class_, class: grad * _ * lambda * class_, lambda: grad * _ * class * class_}
- func: read_back(Tensor x) -> Tensor
  kernels: [{compute: x.exp()}]
  backward: {x: grad * result}
- func: one_read_back(Tensor x, bool twice) -> (Tensor whole, Tensor half)
  kernels:
  - {when: twice, compute: [x.exp(), x * 2]}
  - {compute: ['x.exp() * 1', x + x]}
  backward: {x: 'grads[0] * whole + grads[1] * 2'}
- func: constants(Tensor x) -> (Tensor, Tensor[], int)
  kernels: [{compute: [x * 2, '[x * 3, x * 4]', x.numel()]}]
  backward: not_differentiable
- func: constant_list(Tensor x) -> Tensor[]
  kernels: [{compute: '[x * 3, x * 4]'}]
  backward: not_differentiable
- func: partly(Tensor x) -> (Tensor, Tensor[])
  kernels: [{compute: [x * 2, '[x * 3, x * 4]']}]
  backward: {x: 'grads[0] * 2'}
  output_differentiability: [true, false]
- func: number(Tensor x) -> int
  kernels: [{compute: x.numel()}]
  backward: not_differentiable
- func: nothing(Tensor(a!) x, Tensor y) -> ()
  kernels: [{device: cpu, python: 'tests.codegen.test_gradients_run:write'}]
  backward: not_differentiable
"""


def parts(xs: Any, y: Any, zs: Any) -> Any:
    """The kernel of ``parts``."""
    return (xs[0] + xs[1]) * y + zs[1], [xs[0] * 2, xs[1] * 3]


def write(x: Any, y: Any) -> None:
    """The kernel of ``nothing``."""
    x.copy_(y.detach())


@pytest.fixture(scope="module")
def ops(tmp_path_factory):
    return load(tmp_path_factory.mktemp("gradients"), OPS)


def leaf() -> Any:
    return torch.randn(3, dtype=torch.float64).requires_grad_()


CASES = {
    "lists of tensors, of optional ones, and an output that is a list": (
        4,
        lambda ops, a, b, y, z: (lambda total, each: (total, *each))(*ops.parts([a, b], y, [None, z])),
    ),
    "by device, with outputs that are no tensors": (1, lambda ops, x: (ops.by_device(x)[1], ops.by_device(x)[2][0])),
    "by device, of a list": (1, lambda ops, x: tuple(ops.list_by_device(x))),
    "arguments named as gradients are": (2, lambda ops, x, y: ops.named_so(x, y)),
    "arguments whose names cannot be those of parameters": (
        3,
        lambda ops, x, y, z: ops.spelled(x, y, class_=2.0, **{"lambda": z}),
    ),
    "composed, with a gradient that reads the output": (1, lambda ops, x: ops.read_back(x)),
    "composed in two ways, with a gradient that reads an output": (
        2,
        lambda ops, x, y: (*ops.one_read_back(x, True), *ops.one_read_back(y, False)),
    ),
    "optional lists that are not there": (1, lambda ops, z: ops.some(None, None, z, 5, 7)),
    "one optional list": (2, lambda ops, x, z: ops.some([x], None, z, 5, 7)),
    "the other optional list": (2, lambda ops, y, z: ops.some(None, [y], z, 5, 7)),
    "optional lists, and arguments named as what is saved of them": (
        3,
        lambda ops, x, y, z: ops.some([x], [y], z, 5, 7),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_the_numerical_ones(ops, name):
    count, call = CASES[name]
    inputs = [leaf() for _ in range(count)]
    assert gradcheck(lambda *given: call(ops, *given), inputs, check_forward_ad=True)
    assert gradgradcheck(lambda *given: call(ops, *given), inputs)


def test_outputs_without_a_gradient(ops):
    first, rest, count = ops.constants(leaf())
    assert [x.requires_grad for x in (first, *rest, *ops.constant_list(leaf()))] == [False] * 5
    assert count == ops.number(leaf()) == 3
    x = leaf()
    first, rest = ops.partly(x)
    assert (first.requires_grad, [item.requires_grad for item in rest]) == (True, [False, False])
    first.sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_an_operator_without_outputs(ops):
    target, source = torch.zeros(3, dtype=torch.float64), leaf()
    ops.nothing(target, source)
    assert target.tolist() == source.tolist()
