"""`Tensor.grad_dtype`: the dtype that a leaf's gradient has, beside PyTorch's."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import mindtorch_v2 as torch
from tests.runtime.both import agree, agree_or_raise


def doubling(t: Any) -> Any:
    """A function whose gradient is float64, whatever came."""

    class Doubling(t.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad.double()

    return Doubling.apply


def leaf(t: Any, dtype: str | None = "float64", *shape: int) -> Any:
    x = t.arange(3.0) if not shape else t.ones(shape)
    x.requires_grad_()
    x.grad_dtype = None if dtype is None else getattr(t, dtype)
    return x


def stepped(t: Any) -> Any:
    x = leaf(t)
    (x * 2).sum().backward()
    t.optim.SGD([x], lr=0.1, momentum=0.9).step()
    return x, x.grad


def hooked(t: Any) -> Any:
    x, seen = leaf(t, "bfloat16"), []
    x.register_hook(lambda g: seen.append(str(g.dtype)))
    x.register_post_accumulate_grad_hook(lambda p: seen.append(str(p.grad.dtype)))
    (x * 2).sum().backward()
    return seen


def assigned(t: Any, dtype: str | None) -> Any:
    x = leaf(t, dtype)
    x.grad = t.ones(3, dtype=t.float16)
    return x.grad, str(x.grad_dtype)


def set_beside_a_gradient(t: Any, dtype: str | None) -> Any:
    x = t.arange(3.0).requires_grad_()
    x.sum().backward()
    x.grad_dtype = None if dtype is None else getattr(t, dtype)
    return str(x.grad_dtype)


def set_on_its_way(t: Any) -> Any:
    x = t.arange(3.0).requires_grad_()
    y = x * 2
    x.grad_dtype = t.float64
    y.sum().backward()
    first, x.grad = x.grad, None
    y = x * 3
    x.grad_dtype = t.float32
    y.sum().backward()
    return first, x.grad


def of_others(t: Any) -> Any:
    x = leaf(t)
    changed = t.ones(3)
    changed.grad_dtype = t.float64
    changed.mul_(x)
    seen = [x.detach().grad_dtype, x.grad_dtype, changed.detach_().grad_dtype, t.ones(2).half().grad_dtype]
    x.requires_grad_(False)
    seen += [x.grad_dtype, copy.deepcopy(x).grad_dtype, pickle.loads(pickle.dumps(x)).grad_dtype]
    x.data = x.data.half()
    seen.append(x.grad_dtype)
    plain = t.ones(2)
    plain.data = plain.data.half()
    return [*map(str, seen), str(plain.grad_dtype)]


def swapped(t: Any) -> Any:
    x, y = leaf(t), t.ones(3, requires_grad=True)
    t.utils.swap_tensors(x, y)
    return str(x.grad_dtype), str(y.grad_dtype)


CASES = {
    "float64": lambda t: [x := leaf(t), (x * 2).sum().backward(), (x * 2).sum().backward(), x.grad][-1],
    "bfloat16": lambda t: [x := leaf(t, "bfloat16"), (x / 3).sum().backward(), x.grad][-1],
    "complex": lambda t: [x := leaf(t, "complex64"), (x * 2).sum().backward(), x.grad][-1],
    "any": lambda t: [x := leaf(t, None), (x * 2).sum().backward(), x.grad, str(x.grad_dtype)][2:],
    "any, of float64": lambda t: [x := leaf(t, None), doubling(t)(x).sum().backward(), x.grad][-1],
    "any, both": lambda t: [
        x := leaf(t, None), doubling(t)(x).sum().backward(), (x * 2).sum().backward(), x.grad,
    ][-1],
    "its own, of float64": lambda t: [x := t.ones(3, requires_grad=True), doubling(t)(x).sum().backward(), x.grad][-1],
    "a root": lambda t: [x := leaf(t), x.backward(t.ones(3)), x.grad][-1],
    "a root, any": lambda t: [x := leaf(t, None, 1), x.backward(), x.grad][-1],
    "autograd.grad": lambda t: t.autograd.grad((leaf(t) * 2).sum(), [leaf(t)], allow_unused=True),
    "grad of it": lambda t: [x := leaf(t), t.autograd.grad(x.sin().sum(), x, create_graph=True)[0].dtype == t.float64],
    "func.grad": lambda t: t.func.grad(lambda x: x.sum())(leaf(t)).dtype == t.float32,
    "steps": stepped,
    "hooks": hooked,
    "on its way": set_on_its_way,
    "others": of_others,
    "swapped": swapped,
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_of_it(name: str) -> None:
    agree(CASES[name])


@pytest.mark.parametrize(
    "case",
    [
        lambda t: str((leaf(t) * 2).grad_dtype),
        lambda t: setattr(leaf(t) * 2, "grad_dtype", t.float64),
        lambda t: setattr(t.ones(2), "grad_dtype", "float64"),
        lambda t: assigned(t, "float32"),
        lambda t: assigned(t, "float16"),
        lambda t: assigned(t, None),
        lambda t: set_beside_a_gradient(t, "float64"),
        lambda t: set_beside_a_gradient(t, "float32"),
        lambda t: set_beside_a_gradient(t, None),
    ],
)
def test_what_is_refused(case: Any) -> None:
    agree_or_raise(case)


def test_no_gradient_is_of_integers() -> None:
    with pytest.raises(RuntimeError, match=r"must be a floating point or complex dtype, or None, got torch\.int32"):
        leaf(torch, "int32")
    with pytest.raises(RuntimeError, match="cannot delete grad_dtype"):
        del torch.ones(2).grad_dtype
