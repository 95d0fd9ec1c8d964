"""Transforms of `torch.func` one inside another, over functions with views, changes in place, constants and captures.

Each function runs under each composition with PyTorch and with mindtorch_v2: the values are the same, or both raise,
and ours is PyTorch's class.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

import mindtorch_v2
from tests.runtime.both import close, outcome

Function = Callable[[Any, Any], Any]


def values(t: Any) -> Any:
    return t.tensor([[0.1, 0.4, -0.3], [0.7, 0.2, 0.5]])


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        tree = list(tree.values())
    return [leaf for item in tree for leaf in leaves(item)] if isinstance(tree, (tuple, list)) else [tree]


def mapped(change: Callable[[Any], Any], tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: mapped(change, value) for key, value in tree.items()}
    return type(tree)(mapped(change, v) for v in tree) if isinstance(tree, (tuple, list)) else change(tree)


# ---------------------------------------------------------------- transforms: each makes of a function of x another one


def scalar(f: Any) -> Any:
    return lambda x: sum((1.5 * leaf + leaf * leaf).sum() for leaf in leaves(f(x)))


def by_vjp(t: Any, f: Any) -> Any:
    def both(x: Any) -> Any:
        output, pull_back = t.func.vjp(f, x)
        return output, pull_back(mapped(lambda leaf: t.ones_like(leaf) * 0.5, output))[0]

    return both


def by_backward(t: Any, f: Any) -> Any:
    def both(x: Any) -> Any:
        x = x.detach().requires_grad_()
        output = [leaf for leaf in leaves(f(x)) if leaf.requires_grad]
        if not output:
            return t.zeros_like(x)
        return t.autograd.grad(scalar(lambda _: output)(x), x, materialize_grads=True)[0]

    return both


TRANSFORMS: dict[str, Callable[[Any, Any], Any]] = {
    "vmap": lambda t, f: lambda x: t.func.vmap(f)(t.stack([x, x * 2])),
    "grad": lambda t, f: t.func.grad(scalar(f)),
    "vjp": by_vjp,
    "jvp": lambda t, f: lambda x: t.func.jvp(f, (x,), (t.full_like(x, 0.5),)),
    "jacrev": lambda t, f: t.func.jacrev(f),
    "jacfwd": lambda t, f: t.func.jacfwd(f),
    "functionalize": lambda t, f: t.func.functionalize(f),
    "backward": by_backward,
}
CHAINS = [(), ("hessian",), *itertools.product(TRANSFORMS), *itertools.product(TRANSFORMS, list(TRANSFORMS)[:-1])]
TRANSFORMS["hessian"] = lambda t, f: t.func.hessian(scalar(f))

# ---------------------------------------------------------------- functions

FUNCTIONS: dict[str, Function] = {}


def function(f: Function) -> Function:
    FUNCTIONS[f.__name__] = f
    return f


@function
def sine(t: Any, x: Any) -> Any:
    return x.sin()


@function
def copied_into_a_view(t: Any, x: Any) -> Any:
    y = x.clone()
    v = y[0]
    v.copy_(x[1] * 3)
    return y, v


@function
def copied_under_a_view(t: Any, x: Any) -> Any:
    y = x.clone()
    v = y[0]
    y.copy_(x * 3)
    return y, v


@function
def filled_view(t: Any, x: Any) -> Any:
    y = x.clone()
    v = y[0]
    v.fill_(3.0)
    return y, v


@function
def base_changed_after_its_view(t: Any, x: Any) -> Any:
    y = x + x
    z = y.view(-1)
    y.add_(1)
    return z


@function
def zeros_of_the_size_filled_by_rows(t: Any, x: Any) -> Any:
    y = x.new_zeros(2, 3)
    y[0] = x[0]
    return y


@function
def zeros_filled_through_a_view(t: Any, x: Any) -> Any:
    y = t.zeros_like(x)
    y.view(-1).copy_(x.reshape(-1))
    return y * x


@function
def zeros_added_to_through_a_transpose(t: Any, x: Any) -> Any:
    y = t.zeros_like(x)
    y.t().add_(x.t())
    return y


@function
def base_and_view_after_a_change(t: Any, x: Any) -> Any:
    y = x.clone()
    z = y.view(6)
    y.sin_()
    return y, z


@function
def changed_by_another_row(t: Any, x: Any) -> Any:
    y = x.clone()
    y[0].mul_(x[1])
    return y


@function
def changed_through_two_views(t: Any, x: Any) -> Any:
    y = x * 1
    a, b = y[0], y[:, 0]
    a.mul_(x[1])
    b.add_(x[:, 2])
    return a, b, y


@function
def changed_through_a_chain_of_views(t: Any, x: Any) -> Any:
    y = x * 1
    v = y.view(3, 2)[1:].t()
    v.add_(x.sum())
    y.mul_(2)
    return v, y


@function
def swapped_rows(t: Any, x: Any) -> Any:
    y = x.clone()
    first = y[0].clone()
    y[0] = y[1]
    y[1] = first
    return y


@function
def argument_changed(t: Any, x: Any) -> Any:
    x = x * 1
    x.mul_(2)
    return x.sin()


@function
def argument_as_it_is(t: Any, x: Any) -> Any:
    return x, x


@function
def views_of_the_argument(t: Any, x: Any) -> Any:
    return x[0], x.view(-1)


@function
def strided(t: Any, x: Any) -> Any:
    return (x * 2).as_strided((3,), (2,)) * 3


@function
def detached(t: Any, x: Any) -> Any:
    return x.detach() * x


@function
def constant_beside_a_value(t: Any, x: Any) -> Any:
    return t.ones(3), x * 2


@function
def integers(t: Any, x: Any) -> Any:
    return (x * 10).to(t.int64), x * 2


@function
def another_dtype(t: Any, x: Any) -> Any:
    return x.double().exp()


@function
def nested_results(t: Any, x: Any) -> Any:
    return {"a": x * 2, "b": [x.sum(), (x * x,)]}


@function
def several_views_multiplied(t: Any, x: Any) -> Any:
    a, b = x.unbind(0)
    return a * b


@function
def one_of_several_views_changed(t: Any, x: Any) -> Any:
    y = x * 1
    a, _ = y.unbind(0)
    a.mul_(2)
    return y


@function
def filled_with_an_element(t: Any, x: Any) -> Any:
    y = x * 1
    z = y[0]
    y.fill_(x[0, 0])
    return y, z


@function
def written_at_indices(t: Any, x: Any) -> Any:
    y = x.clone()
    y[t.tensor([0, 1]), t.tensor([1, 2])] = x[0, 0] * 2
    return y


@function
def masked(t: Any, x: Any) -> Any:
    return x.clone().masked_fill_(x > 0.2, 7.0)


@function
def part_of_it_without_grad(t: Any, x: Any) -> Any:
    with t.no_grad():
        y = x * 2
    return y * x


@function
def requires_grad_is_asked_for(t: Any, x: Any) -> Any:
    return (x * 2).requires_grad_()


@function
def grad_is_retained(t: Any, x: Any) -> Any:
    y = x * 2
    y.retain_grad()
    return y


@function
def saved_tensors_are_hooked(t: Any, x: Any) -> Any:
    with t.autograd.graph.saved_tensors_hooks(lambda a: a, lambda a: a):
        return x.sin()


@function
def backward_is_called(t: Any, x: Any) -> Any:
    x.exp().sum().backward()
    return x


@function
def captured_changed_by_the_argument(t: Any, x: Any) -> Any:
    y = x * 1
    return t.func.grad(lambda a: y.mul_(a).sum())(x * 2)


@function
def captured_changed_by_itself(t: Any, x: Any) -> Any:
    y = x * 1

    def changes(a: Any) -> Any:
        y.mul_(2)
        return (a * y).sum()

    return t.func.jvp(changes, (x * 2,), (x,)), y


@function
def view_of_captured_changed(t: Any, x: Any) -> Any:
    y = x * 1

    def changes(a: Any) -> Any:
        y[0].mul_(2)
        return (a * y).sum()

    return t.func.grad(changes)(x * 2), y


@function
def captured_changed_in_vmap(t: Any, x: Any) -> Any:
    y = x[0] * 1

    def changes(a: Any) -> Any:
        y.mul_(2)
        return (a * y).sum()

    return t.func.vmap(changes)(x * 2), y


@function
def view_of_a_sample_changed(t: Any, x: Any) -> Any:
    y = x * 1

    def changes(a: Any) -> Any:
        a[0].mul_(2)
        return a

    return t.func.vmap(changes)(y), y


@function
def captured_by_an_inner_gradient(t: Any, x: Any) -> Any:
    return t.func.grad(lambda a: (a * x).sum())(x * 2)


@function
def gradient_where_grad_is_off(t: Any, x: Any) -> Any:
    with t.no_grad():
        return t.func.grad(lambda a: a.sin().sum())(x)


@function
def vjp_where_grad_is_off(t: Any, x: Any) -> Any:
    with t.no_grad():
        output, pull_back = t.func.vjp(lambda a: a.sin(), x)
    return output, pull_back(t.ones_like(output))[0]


@function
def jvp_where_grad_is_off(t: Any, x: Any) -> Any:
    with t.no_grad():
        return t.func.jvp(lambda a: a.sin(), (x,), (t.ones_like(x),))


# What PyTorch itself cannot do: an internal error, memory that was never allocated, an operator without a derivative.
NOT_IN_PYTORCH = (
    "INTERNAL ASSERT", "unallocated storage", "ZeroTensors are immutable", "derivative for aten::copy",
    "use forward AD with aten::copy", "derivative for aten::detach_copy", "cannot be represented as a SymInt",
)  # fmt: skip


def run(t: Any, name: str, chain: tuple[str, ...]) -> Any:
    f = functools.partial(FUNCTIONS[name], t)
    for transform in reversed(chain):
        f = TRANSFORMS[transform](t, f)
    return f(values(t))


def without_flags(value: Any) -> Any:
    """Without ``requires_grad``: PyTorch's is True of every tangent of a recorded call, constants included."""
    if isinstance(value, tuple) and len(value) == 4 and isinstance(value[3], bool):
        return value[:3]
    if isinstance(value, (tuple, list)):
        return [without_flags(v) for v in value]
    return {k: without_flags(v) for k, v in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("name", FUNCTIONS)
def test_compositions(name: str) -> None:
    compared, differences = 0, []
    for chain in CHAINS:
        theirs, ours = (outcome(t, lambda t, chain=chain: run(t, name, chain)) for t in (torch, mindtorch_v2))
        if any(part in str(theirs.error) for part in NOT_IN_PYTORCH):
            continue
        compared += 1
        if theirs.error is None and ours.error is None:
            alike = close(without_flags(ours.value), without_flags(theirs.value))
        else:
            alike = theirs.error is not None and isinstance(ours.error, type(theirs.error))
        if not alike:
            differences.append((chain, theirs, ours))
    assert not differences, "\n".join(f"{' of '.join(c)}: PyTorch {t}, mindtorch_v2 {o}" for c, t, o in differences)
    assert compared > len(CHAINS) / 2
