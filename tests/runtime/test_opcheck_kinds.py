"""Each kind of wrong operator that PyTorch's `opcheck` catches, by the test that catches it, under both libraries.

A call of an operator whose kernel lies about aliases or mutation is an error here in any case: of those only
``test_schema`` is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2
from tests.runtime.both import agree, fresh_namespace

Build = Callable[[Any], tuple[str, dict[str, Any], tuple[Any, ...]]]


def passes(torch: Any, build: Build, test: str) -> bool:
    """Whether the operator that `build` describes by schema, kernels and sample arguments passes one test."""
    schema, kernels, args = build(torch)
    lib = torch.library.Library(fresh_namespace(), "FRAGMENT")
    name = f"{lib.ns}::{lib.define(f'op{schema}')}"
    backward, setup = kernels.pop("backward", None), kernels.pop("setup", None)
    for key, kernel in kernels.items():
        if key == "fake":
            torch.library.register_fake(name, kernel, lib=lib)
        else:
            lib.impl("op", kernel, key)
    if backward is not None:
        torch.library.register_autograd(name, backward, setup_context=setup, lib=lib)
    op = getattr(torch.ops, lib.ns).op.default
    found = torch.library.opcheck(op, args, test_utils=test, raise_exception=False)
    return bool(found[test] == "SUCCESS")


def then(change: Any, result: Any) -> Any:
    """``result``, after a change."""
    return result


# ---------------------------------------------------------------- test_schema

SCHEMA: dict[str, tuple[bool, Build]] = {
    "right": (True, lambda t: ("(Tensor x) -> Tensor", {"CPU": lambda x: x * 2}, (t.ones(2),))),
    "right: several outputs": (
        True, lambda t: ("(Tensor x) -> (Tensor, Tensor)", {"CPU": lambda x: (x * 2, x + 1)}, (t.ones(2),))),
    "right: a declared mutation": (
        True, lambda t: ("(Tensor(a!) x) -> ()", {"CPU": lambda x: then(x.add_(1), None)}, (t.ones(2),))),
    "right: a declared alias": (
        True, lambda t: ("(Tensor(a) x) -> Tensor(a)", {"CPU": lambda x: x.view(-1)}, (t.ones(2, 2),))),
    "right: in-place that returns its argument": (
        True, lambda t: ("(Tensor(a!) x) -> Tensor(a!)", {"CPU": lambda x: x.add_(1)}, (t.ones(2),))),
    "right: NaN in, NaN stays": (
        True, lambda t: ("(Tensor x) -> Tensor", {"CPU": lambda x: x * 2}, (t.tensor([float("nan")]),))),
    "writes to an argument": (
        False, lambda t: ("(Tensor x) -> Tensor", {"CPU": lambda x: then(x.add_(1), x * 2)}, (t.ones(2),))),
    "writes to the second argument": (
        False,
        lambda t: ("(Tensor x, Tensor y) -> Tensor", {"CPU": lambda x, y: then(y.add_(1), x * 2)},
                   (t.ones(2), t.ones(2)))),
    "writes to an optional argument": (
        False,
        lambda t: ("(Tensor x, Tensor? y=None) -> Tensor", {"CPU": lambda x, y=None: then(y.zero_(), x * 2)},
                   (t.ones(2), t.ones(2)))),
    "writes to a tensor of a list": (
        False,
        lambda t: ("(Tensor[] xs) -> Tensor", {"CPU": lambda xs: then(xs[1].add_(1), xs[0] * 2)},
                   ([t.ones(2), t.ones(2)],))),
    "writes through a view": (
        False, lambda t: ("(Tensor x) -> Tensor", {"CPU": lambda x: then(x[0].fill_(7), x * 2)}, (t.ones(2, 2),))),
    "writes to another than it declares": (
        False,
        lambda t: ("(Tensor(a!) x, Tensor y) -> ()", {"CPU": lambda x, y: then(y.add_(1), None)},
                   (t.ones(2), t.ones(2)))),
    "returns an argument": (False, lambda t: ("(Tensor x) -> Tensor", {"CPU": lambda x: x}, (t.ones(2),))),
    "returns a view": (False, lambda t: ("(Tensor x) -> Tensor", {"CPU": lambda x: x.view(-1)}, (t.ones(2),))),
    "returns a slice": (False, lambda t: ("(Tensor x) -> Tensor", {"CPU": lambda x: x[1:]}, (t.ones(3),))),
    "returns what detach gives": (
        False, lambda t: ("(Tensor x) -> Tensor", {"CPU": lambda x: x.detach()}, (t.ones(2),))),
    "the second output is an argument": (
        False, lambda t: ("(Tensor x) -> (Tensor, Tensor)", {"CPU": lambda x: (x * 2, x)}, (t.ones(2),))),
    "a list of outputs holds an argument": (
        False, lambda t: ("(Tensor x) -> Tensor[]", {"CPU": lambda x: [x * 2, x]}, (t.ones(2),))),
    "returns a tensor of a list": (
        False, lambda t: ("(Tensor[] xs) -> Tensor", {"CPU": lambda xs: xs[0]}, ([t.ones(2)],))),
    "outputs share memory": (
        False,
        lambda t: ("(Tensor x) -> (Tensor, Tensor)", {"CPU": lambda x: (lambda y: (y, y.view(-1)))(x * 2)},
                   (t.ones(2),))),
    "one output twice": (
        False, lambda t: ("(Tensor x) -> (Tensor, Tensor)", {"CPU": lambda x: (x * 2,) * 2}, (t.ones(2),))),
    "an alias of another argument than declared": (
        False,
        lambda t: ("(Tensor(a) x, Tensor y) -> Tensor(a)", {"CPU": lambda x, y: y.view(-1)}, (t.ones(2), t.ones(2)))),
}  # fmt: skip


# ---------------------------------------------------------------- test_autograd_registration


def with_function(torch: Any) -> Any:
    """A kernel that records its own gradient, which only a kernel at an autograd key may."""

    class F(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    return F.apply


def sample(torch: Any) -> Any:
    return (torch.ones(2, requires_grad=True),)


GRADIENT: dict[str, tuple[bool, Build]] = {
    "right: register_autograd": (
        True,
        lambda t: ("(Tensor x) -> Tensor", {"CPU": lambda x: x * 2, "backward": lambda ctx, g: g * 2}, sample(t))),
    "right: at Autograd": (
        True, lambda t: ("(Tensor x) -> Tensor", {"CPU": lambda x: x * 2, "Autograd": with_function(t)}, sample(t))),
    "right: at AutogradCPU": (
        True, lambda t: ("(Tensor x) -> Tensor", {"CPU": lambda x: x * 2, "AutogradCPU": with_function(t)}, sample(t))),
    "right: composite": (
        True, lambda t: ("(Tensor x) -> Tensor", {"CompositeImplicitAutograd": lambda x: x * 2}, sample(t))),
    "right: nothing requires grad": (
        True, lambda t: ("(Tensor x) -> Tensor", {"CPU": lambda x: x * 2}, (t.ones(2),))),
    "right: an integer output": (
        True,
        lambda t: ("(Tensor x) -> Tensor", {"CPU": lambda x: (x > 0).long(), "backward": lambda ctx, g: None},
                   sample(t))),
    "a gradient inside the backend's kernel": (
        False, lambda t: ("(Tensor x) -> Tensor", {"CPU": with_function(t)}, sample(t))),
    "a differentiable kernel at the backend": (
        False, lambda t: ("(Tensor x) -> Tensor", {"CPU": lambda x: x.sin() * 2}, sample(t))),
    "composite, but explicit": (
        False, lambda t: ("(Tensor x) -> Tensor", {"CompositeExplicitAutograd": lambda x: x.sin() * 2}, sample(t))),
    "of a list": (
        False,
        lambda t: ("(Tensor[] xs) -> Tensor", {"CPU": lambda xs: xs[0] * xs[1]}, ([*sample(t), *sample(t)],))),
}  # fmt: skip


# ---------------------------------------------------------------- test_faketensor


def fake(rule: Callable[[Any, Any], Any], kernel: Any = None) -> Build:
    return lambda t: (
        "(Tensor x) -> Tensor", {"CPU": kernel or (lambda x: x * 2), "fake": lambda x: rule(t, x)}, (t.ones(3, 2),)
    )  # fmt: skip


def pair(rule: Callable[[Any, Any], Any]) -> Build:
    return lambda t: (
        "(Tensor x) -> (Tensor, Tensor)", {"CPU": lambda x: (x * 2, x.sum(0)), "fake": lambda x: rule(t, x)},
        (t.ones(3, 2),),
    )  # fmt: skip


def several(rule: Callable[[Any, Any], Any]) -> Build:
    return lambda t: (
        "(Tensor x) -> Tensor[]", {"CPU": lambda x: [x * 2, x + 1], "fake": lambda x: rule(t, x)}, (t.ones(3, 2),)
    )  # fmt: skip


FAKE: dict[str, tuple[bool, Build]] = {
    "right": (True, fake(lambda t, x: t.empty_like(x))),
    "right: another shape": (True, fake(lambda t, x: x.new_empty(2), lambda x: x.sum(0))),
    "right: another dtype": (True, fake(lambda t, x: x.new_empty(3, 2, dtype=t.int64), lambda x: x.long())),
    "right: other strides": (
        True, fake(lambda t, x: x.new_empty(2, 3).t(), lambda x: (x * 2).t().contiguous().t())),
    "right: two outputs": (True, pair(lambda t, x: (t.empty_like(x), x.new_empty(2)))),
    "right: a list": (True, several(lambda t, x: [t.empty_like(x), t.empty_like(x)])),
    "right: a transposed input": (
        True, lambda t: ("(Tensor x) -> Tensor", {"CPU": lambda x: x.contiguous() * 2,
                                                  "fake": lambda x: x.new_empty(x.shape)}, (t.ones(3, 2).t(),))),
    "none": (False, lambda t: ("(Tensor x) -> Tensor", {"CPU": lambda x: x * 2}, (t.ones(3, 2),))),
    "another shape": (False, fake(lambda t, x: x.new_empty(2, 2))),
    "a dimension more": (False, fake(lambda t, x: x.new_empty(1, 3, 2))),
    "another dtype": (False, fake(lambda t, x: x.new_empty(3, 2, dtype=t.float64))),
    "other strides": (False, fake(lambda t, x: x.new_empty(2, 3).t())),
    "another device": (False, fake(lambda t, x: t.empty(3, 2, device="meta"))),
    "raises": (False, fake(lambda t, x: x.nothing)),
    "no tensor": (False, fake(lambda t, x: 3)),
    "reads the data": (False, fake(lambda t, x: x.new_empty(int(x.sum().item())))),
    "asks whether the data is true": (False, fake(lambda t, x: x.new_empty(3, 2) if x.sum() > 0 else x)),
    "an output too few": (False, pair(lambda t, x: t.empty_like(x))),
    "the second output's shape": (False, pair(lambda t, x: (t.empty_like(x), x.new_empty(3)))),
    "a list of another length": (False, several(lambda t, x: [t.empty_like(x)])),
    "ignores that the input is transposed": (
        False, lambda t: ("(Tensor x) -> Tensor", {"CPU": lambda x: x.contiguous() * 2,
                                                   "fake": lambda x: x.new_empty(3, 2).t()}, (t.ones(3, 2).t(),))),
}  # fmt: skip


TABLE = {
    (test, name): case
    for test, cases in (
        ("test_schema", SCHEMA), ("test_autograd_registration", GRADIENT), ("test_faketensor", FAKE)
    )
    for name, case in cases.items()
}  # fmt: skip


@pytest.mark.parametrize(("test", "name"), TABLE)
def test_a_kind_of_operator(test: str, name: str) -> None:
    """Both libraries give the verdict that the table says."""
    expected, build = TABLE[test, name]
    agree(lambda torch: (passes(torch, build, test), expected))
    assert passes(mindtorch_v2, build, test) == expected


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(pair(lambda t, x: (t.empty_like(x),) * 3), id="an output too many"),  # PyTorch crashes
        pytest.param(fake(lambda t, x: None), id="nothing"),  # silent in PyTorch
    ],
)
def test_ours_alone(build: Build) -> None:
    assert not passes(mindtorch_v2, build, "test_faketensor")
