"""Tangents of declared operators, beside what PyTorch's own forward mode makes of the same computation."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2
from tests.codegen.support import load, write
from tests.codegen.test_torch_form import made

oracle = pytest.importorskip("torch")
# PyTorch's forward mode imports parts of its deprecated `torch.jit`.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")

OPS = """\
namespace: codegen_forward
ops:
- func: product(Tensor x, Tensor y, *, float scale=1.0) -> Tensor
  fake: {shape: 'broadcast_shapes(x.shape, y.shape)', dtype: x.dtype}
  kernels: [{device: cpu, compute: x * y * scale}]
  backward: {x: grad * y * scale, y: grad * x * scale}
  forward: {result: (x_t * y + x_p * y_t) * scale}
- func: shifted(Tensor x, Tensor? by=None) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, compute: x * 2 if by is None else x * 2 + by}]
  backward: {x: grad * 2, by: grad}
  forward: {result: x_t * 2 if by_t is None else x_t * 2 + by_t}
- func: linear(Tensor x, Tensor[] parts, Tensor index, *, float lambda=3.0) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, compute: '(x - parts[0] + parts[1]) * lambda'}]
  backward: {x: grad * lambda, parts: '[-grad * lambda, grad * lambda]', index: not_differentiable}
  forward: auto_linear
- func: curve(Tensor x, Tensor y) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, compute: x * x * y}]
  backward: {x: grad * 2 * x * y, y: grad * x * x}
  forward: auto_element_wise
- func: power_(Tensor(a!) self) -> Tensor(a!)
  kernels: [{device: cpu, compute: self * self * self}]
  backward: not_implemented
  forward: {result: 3 * self_t * self_p * self}
- func: double_(Tensor(a!) self) -> Tensor(a!)
  autogen: double
  kernels: [{device: cpu, compute: self * 2}]
  backward: {self: grad * 2}
  forward: auto_linear
- func: two(Tensor x) -> (Tensor total, Tensor rank, Tensor)
  fake: [{shape: [], dtype: x.dtype}, {shape: [], dtype: int64}, {like: x}]
  kernels: [{device: cpu, compute: [x.sum(), x.argmax(), x * x]}]
  output_differentiability: [true, false, true]
  backward: {x: '(grads[0] + zeros_like(x)) + grads[2] * 2 * x'}
  forward: {total: x_t.sum(), result2: x_t * 2 * x}
- func: refused(Tensor x) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, compute: x * 2}]
  backward: {x: grad * 2}
  forward: {result: not_implemented}
- func: by_hand(Tensor x) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, compute: x * 5}]
  backward: not_implemented
  forward: {function: 'tests.codegen.test_forward_run:by_hand_jvp'}
- func: like_ours(Tensor x, Tensor x_t, Tensor linear, Tensor out) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, compute: x * x_t * linear * out}]
  backward:
    x: grad * x_t * linear * out
    x_t: grad * x * linear * out
    linear: grad * x * x_t * out
    out: grad * x * x_t * linear
  forward: auto_element_wise
- func: beside(Tensor x_, Tensor x, Tensor out) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, compute: x_ * out}]
  backward: {x_: grad * out, x: not_differentiable, out: grad * x_}
  forward: {result: x__t * out + x_ * out_t + 0 * result}
- func: keyword(Tensor lambda, Tensor linear, *, float op=3.0) -> Tensor
  fake: {like: lambda}
  kernels: [{device: cpu, compute: lambda * op - linear}]
  backward: {lambda: grad * op, linear: -grad}
  forward: auto_linear
- func: second(Tensor x, Tensor x_) -> Tensor
  fake: {like: x_}
  kernels: [{device: cpu, compute: x_ * 2}]
  backward: {x: not_differentiable, x_: grad * 2}
"""


def by_hand_jvp(inputs: tuple[Any, ...], tangents: tuple[Any, ...], output: Any) -> Any:
    assert (len(inputs), len(tangents)) == (1, 1)
    return tangents[0] * (output / inputs[0])


@pytest.fixture(scope="module")
def ops(tmp_path_factory):
    return load(tmp_path_factory.mktemp("forward"), OPS)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """The same for PyTorch."""
    folder = tmp_path_factory.mktemp("forward_torch")
    files, shown = made(folder, OPS)
    assert "error" not in shown
    assert "forward" not in shown.replace("codegen_forward", "")
    write(folder / "codegen_forward_torch", files)
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("codegen_forward_torch.ops")
    finally:
        sys.path.remove(str(folder))


X, Y, V, W = (
    [[1.5, -2.0], [0.5, 3.0]],
    [[2.0, 4.0], [-1.0, 0.25]],
    [[1.0, 0.5], [2.0, -3.0]],
    [[0.125, 1.0], [2.0, 4.0]],
)


def tangents(torch: Any, function: Callable[..., Any], values: list[Any], given: list[Any]) -> list[Any]:
    """The outputs and their tangents, where ``given`` has one for each of ``values`` or None."""
    with torch.autograd.forward_ad.dual_level():
        tensors = [torch.tensor(value) for value in values]
        duals = [
            value if tangent is None else torch.autograd.forward_ad.make_dual(value, torch.tensor(tangent))
            for value, tangent in zip(tensors, given, strict=True)
        ]
        results = function(*duals)
        found = []
        for result in results if isinstance(results, tuple) else (results,):
            primal, tangent = torch.autograd.forward_ad.unpack_dual(result)
            found += [primal.tolist(), None if tangent is None else tangent.tolist()]
        return found


# name, values, tangents, the same in PyTorch
CASES = [
    ("product", (X, Y), (V, W), lambda x, y: x * y * 1.5, {"scale": 1.5}),
    ("product", (X, Y), (V, None), lambda x, y: x * y, {}),
    ("product", (X, Y), (None, W), lambda x, y: x * y, {}),
    ("product", (X, Y[0]), (V, W[0]), lambda x, y: x * y, {}),
    ("shifted", (X,), (V,), lambda x: x * 2, {}),
    ("shifted", (X, Y), (V, W), lambda x, by: x * 2 + by, {}),
    ("shifted", (X, Y), (None, W), lambda x, by: x * 2 + by, {}),
    ("curve", (X, Y), (V, W), lambda x, y: x * x * y, {}),
    ("curve", (X, Y), (None, W), lambda x, y: x * x * y, {}),
    ("double", (X,), (V,), lambda x: x * 2, {}),
    ("by_hand", (X,), (V,), lambda x: x * 5, {}),
    ("like_ours", (X, Y, V, W), (V, None, None, None), lambda x, y, z, w: x * y * z * w, {}),
    ("like_ours", (X, Y, V, W), (None, W, X, Y), lambda x, y, z, w: x * y * z * w, {}),
    ("beside", (X, Y, W), (V, None, Y), lambda x, y, z: x * z, {}),
    ("keyword", (X, Y), (V, W), lambda x, y: x * 3 - y, {}),
    ("second", (X, Y), (None, W), lambda x, y: y * 2, {}),
    ("two", (X,), (V,), lambda x: (x.sum(), x.argmax(), x * x), {}),
]


@pytest.mark.parametrize(("name", "values", "given", "same", "keywords"), CASES)
def test_tangents_are_pytorchs(ops, name, values, given, same, keywords):
    def declared(*args):
        return getattr(ops, name)(*args, **keywords)

    ours = tangents(mindtorch_v2, declared, list(values), list(given))
    assert ours == tangents(oracle, same, list(values), list(given))
    assert any(item is not None for item in ours[1::2])


@pytest.mark.parametrize(("name", "values", "given", "same", "keywords"), [c for c in CASES if c[0] != "second"])
def test_tangents_in_pytorch(theirs, name, values, given, same, keywords):
    def declared(*args):
        return getattr(theirs, name)(*args, **keywords)

    assert tangents(oracle, declared, list(values), list(given)) == tangents(oracle, same, list(values), list(given))


def test_in_pytorch_what_has_no_rule_refuses_tangents(theirs):
    with pytest.raises(
        NotImplementedError, match="codegen_forward::second: an argument has a tangent, and there is no"
    ):
        tangents(oracle, theirs.second, [X, Y], [None, W])
    with pytest.raises(NotImplementedError, match="refused: the tangent of `result` is not implemented"):
        tangents(oracle, theirs.refused, [X], [V])
    x, b = (oracle.tensor(value) for value in (X, V))
    assert tangents(oracle, lambda a: theirs.linear(x, [a, b], oracle.tensor(0)), [Y], [W]) == tangents(
        oracle, lambda a: (x - a + b) * 3, [Y], [W]
    )


@pytest.mark.parametrize(("name", "same"), [("power_", lambda x: x**3), ("double_", lambda x: x * 2)])
def test_in_place_in_pytorch(theirs, name, same):
    def in_place(x):
        x = x.clone()
        result = getattr(theirs, name)(x)
        assert result is x
        return result

    assert tangents(oracle, in_place, [X], [V]) == tangents(oracle, same, [X], [V])


@pytest.mark.parametrize("given", [(V, None, None), (None, W, None), (V, W, W)])
def test_a_list_of_tensors_has_a_tangent_each(ops, given):
    def declared(x, first, second):
        return ops.linear(x, [first, second], mindtorch_v2.tensor(0))

    ours = tangents(mindtorch_v2, declared, [X, Y, V], list(given))
    assert ours == tangents(oracle, lambda x, a, b: (x - a + b) * 3, [X, Y, V], list(given))


@pytest.mark.parametrize(("name", "same"), [("power_", lambda x: x**3), ("double_", lambda x: x * 2)])
def test_in_place(ops, name, same):
    """The rule reads the value from before, and the tangent that was given stays what it was."""
    given = mindtorch_v2.tensor(V)
    with mindtorch_v2.autograd.forward_ad.dual_level():
        dual = mindtorch_v2.autograd.forward_ad.make_dual(mindtorch_v2.tensor(X), given)
        result = getattr(ops, name)(dual.clone())
        primal, tangent = mindtorch_v2.autograd.forward_ad.unpack_dual(result)
    assert given.tolist() == V
    assert [primal.tolist(), tangent.tolist()] == tangents(oracle, same, [X], [V])


def test_what_is_not_implemented_says_so(ops):
    with pytest.raises(
        NotImplementedError, match="codegen_forward::refused: the tangent of `result` is not implemented"
    ):
        tangents(mindtorch_v2, ops.refused, [X], [V])


def test_a_tangent_can_be_differentiated_again(ops, theirs):
    """Reverse over forward: the gradient of the tangent."""

    def nested(torch, function):
        x = torch.tensor(X, requires_grad=True)
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x, torch.tensor(V))
            tangent = torch.autograd.forward_ad.unpack_dual(function(dual, torch.tensor(Y))).tangent
            (gradient,) = torch.autograd.grad(tangent.sum(), x)
        return gradient.tolist()

    expected = nested(oracle, lambda x, y: x * x * y)
    assert nested(mindtorch_v2, ops.curve) == nested(oracle, theirs.curve) == expected
