"""`opcheck` beside PyTorch's: right operators pass, each kind of wrong one is caught by the same test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2
from tests.runtime.both import agree, fresh_namespace

TESTS = ("test_schema", "test_autograd_registration", "test_faketensor")


def double(x: Any) -> Any:
    return x * 2


def operator(torch: Any, schema: str, **kernels: Callable[..., Any]) -> tuple[Any, Any]:
    """The default overload of an operator with these kernels, and the library that keeps it."""
    lib = torch.library.Library(fresh_namespace(), "FRAGMENT")
    name = lib.define(f"op{schema}")
    for key, kernel in kernels.items():
        lib.impl(name, kernel, key)
    return getattr(torch.ops, lib.ns).op.default, lib


def verdicts(torch: Any, op: Any, args: tuple[Any, ...]) -> dict[str, str]:
    found = torch.library.opcheck(op, args, test_utils=TESTS, raise_exception=False)
    return {name: "SUCCESS" if result == "SUCCESS" else type(result).__name__ for name, result in found.items()}


def right(torch: Any) -> Any:
    op, _lib = operator(torch, "(Tensor x) -> Tensor", CPU=double, Meta=double)
    return verdicts(torch, op, (torch.ones(3),))


def composite(torch: Any) -> Any:
    op, _lib = operator(torch, "(Tensor x) -> Tensor", CompositeImplicitAutograd=double)
    return verdicts(torch, op, (torch.ones(3, requires_grad=True),))


def writes_to_an_argument(torch: Any) -> Any:
    def kernel(x: Any) -> Any:
        x.add_(1)
        return x.clone()

    op, _lib = operator(torch, "(Tensor x) -> Tensor", CPU=kernel, Meta=double)
    return verdicts(torch, op, (torch.ones(3),))["test_schema"]  # the others raise too here: it is an error in any call


def writes_through_numpy(torch: Any) -> Any:
    def kernel(x: Any) -> Any:
        x.numpy()[...] = 5
        return x.clone()

    op, _lib = operator(torch, "(Tensor x) -> Tensor", CPU=kernel, Meta=double)
    return verdicts(torch, op, (torch.ones(3),))


def returns_an_argument(torch: Any) -> Any:
    op, _lib = operator(torch, "(Tensor x) -> Tensor", CPU=lambda x: x, Meta=double)
    return verdicts(torch, op, (torch.ones(3),))["test_schema"]


def returns_a_view(torch: Any) -> Any:
    op, _lib = operator(torch, "(Tensor x) -> Tensor", CPU=lambda x: x.view(-1), Meta=double)
    return verdicts(torch, op, (torch.ones(3),))["test_schema"]


def outputs_share_memory(torch: Any) -> Any:
    def kernel(x: Any) -> Any:
        y = x * 2
        return y, y.view(-1)

    op, _lib = operator(torch, "(Tensor x) -> (Tensor, Tensor)", CPU=kernel, Meta=lambda x: (x * 2, x * 2))
    return verdicts(torch, op, (torch.ones(3),))["test_schema"]


def declared_mutation(torch: Any) -> Any:
    op, _lib = operator(torch, "(Tensor(a!) x) -> ()", CPU=lambda x: x.add_(1) and None, Meta=lambda x: None)
    return verdicts(torch, op, (torch.ones(1),))


def no_gradient(torch: Any) -> Any:
    op, _lib = operator(torch, "(Tensor x) -> Tensor", CPU=double, Meta=double)
    return verdicts(torch, op, (torch.ones(3, requires_grad=True),))


def no_fake(torch: Any) -> Any:
    op, _lib = operator(torch, "(Tensor x) -> Tensor", CPU=double)
    return verdicts(torch, op, (torch.ones(3),))


def wrong_fake(fake: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def case(torch: Any) -> Any:
        op, _lib = operator(torch, "(Tensor x) -> Tensor", CPU=double, Meta=lambda x: fake(torch, x))
        return verdicts(torch, op, (torch.ones(3, 2),))

    return case


def dynamic_size(torch: Any) -> Any:
    lib = torch.library.Library(fresh_namespace(), "FRAGMENT")
    name = f"{lib.ns}::op"
    lib.define("op(Tensor x) -> Tensor")
    lib.impl("op", lambda x: x[: int(x.sum().item())] * 1, "CPU")

    @torch.library.register_fake(name, lib=lib)
    def _(x: Any) -> Any:
        return x.new_empty([torch.library.get_ctx().new_dynamic_size()])

    return verdicts(torch, getattr(torch.ops, lib.ns).op.default, (torch.ones(3),))["test_faketensor"]


CASES = {
    "right": right,
    "composite": composite,
    "writes to an argument": writes_to_an_argument,
    "writes through NumPy": writes_through_numpy,
    "returns an argument": returns_an_argument,
    "returns a view": returns_a_view,
    "outputs share memory": outputs_share_memory,
    "declared mutation": declared_mutation,
    "no gradient": no_gradient,
    "no fake rule": no_fake,
    "fake of another shape": wrong_fake(lambda torch, x: x.new_empty(2, 2)),
    "fake of another dtype": wrong_fake(lambda torch, x: x.new_empty(3, 2, dtype=torch.float64)),
    "fake of other strides": wrong_fake(lambda torch, x: x.new_empty(2, 3).t()),
    "right fake": wrong_fake(lambda torch, x: x.new_empty(3, 2)),
    "dynamic size": dynamic_size,
}


@pytest.mark.parametrize("name", CASES)
def test_verdicts(name: str) -> None:
    agree(CASES[name])


@pytest.mark.parametrize(
    ("case", "quoted"),
    [
        (lambda torch: torch.library.opcheck(lambda x: x, (torch.ones(1),)), "op must be instance of"),
        (
            lambda torch: torch.library.opcheck(torch.ops.aten.sin.default, (torch.ones(1),), test_utils="foo"),
            "expected test_utils to be subset of",
        ),
    ],
)
def test_mistakes(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


def test_it_raises() -> None:
    op, _lib = operator(mindtorch_v2, "(Tensor x) -> Tensor", CPU=lambda x: x.add_(1).clone(), Meta=double)
    with pytest.raises(
        mindtorch_v2.library.OpCheckError, match="test_schema failed with Argument x is not defined as mutable"
    ):
        mindtorch_v2.library.opcheck(op, (mindtorch_v2.ones(3),))


def test_a_size_outside_its_bounds() -> None:
    lib = mindtorch_v2.library.Library(fresh_namespace(), "FRAGMENT")
    lib.define("op(Tensor x) -> Tensor")
    lib.impl("op", lambda x: x * 1, "CPU")
    lib.register_fake("op", lambda x: x.new_empty([mindtorch_v2.library.get_ctx().new_dynamic_size(min=5)]))
    op = getattr(mindtorch_v2.ops, lib.ns).op
    with pytest.raises(mindtorch_v2.library.OpCheckError, match="not between 5 and None"):
        mindtorch_v2.library.opcheck(op, (mindtorch_v2.ones(3),))
