"""``torch._custom_ops``: operators as they were made before `library.custom_op`, beside PyTorch's."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import pytest

from tests.runtime.both import agree, fresh_namespace


def made(t: Any, name: str, schema: str) -> Any:
    """An operator of a schema, with its kernel."""
    ops = importlib.import_module(f"{t.__name__}._custom_ops")
    ops.custom_op(name, schema)
    return ops


def with_gradient(t: Any, backward: Any, schema: str = "(Tensor x, int n) -> Tensor", saves: bool = True) -> Any:
    name = f"{fresh_namespace()}::op"
    ops = made(t, name, schema)
    ops.impl(name, device_types="cpu", func=lambda x, n: (x[0] if isinstance(x, (list, tuple)) else x) * n)
    if saves:
        ops.impl_save_for_backward(name, func=lambda inputs, output: (inputs.n, {"out": output}))
    ops.impl_backward(name, func=backward)
    return importlib.import_module(f"{t.__name__}._custom_op.impl").get_op(name)


def test_a_gradient_by_names() -> None:
    def case(t: Any) -> Any:
        op = with_gradient(t, lambda ctx, saved, grad: {"x": grad * saved[0] + 0 * saved[1]["out"]})
        x = t.ones(3, requires_grad=True)
        op(x, 4).sum().backward()
        return x.grad

    agree(case)


WRONG = {
    "no dict": (lambda ctx, saved, grad: grad, "to be a dict"),
    "another key": (lambda ctx, saved, grad: {"y": grad}, "to have keys {'x'}"),
    "no tensor": (lambda ctx, saved, grad: {"x": (grad,)}, "either None or a Tensor"),
}


@pytest.mark.parametrize(("backward", "quoted"), WRONG.values(), ids=WRONG)
def test_what_a_gradient_may_not_return(backward: Any, quoted: str) -> None:
    agree(lambda t: with_gradient(t, backward)(t.ones(3, requires_grad=True), 2).sum().backward(), quoted)


def test_gradients_of_lists() -> None:
    schema = "(Tensor[] x, int n) -> Tensor"

    def case(t: Any, count: int) -> Any:
        op = with_gradient(t, lambda ctx, saved, grad: {"x": [grad * saved[0]] + [None] * (count - 1)}, schema)
        x = [t.ones(2, requires_grad=True), t.ones(2)]
        op(x, 3).sum().backward()
        return x[0].grad

    agree(lambda t: case(t, 2))
    agree(lambda t: case(t, 3), "2 gradients but got 3")


def test_half_a_gradient_is_refused() -> None:
    agree(
        lambda t: with_gradient(t, lambda ctx, saved, grad: {"x": grad}, saves=False)(t.ones(2, requires_grad=True), 2),
        "unable to find a 'save_for_backward'",
    )


REFUSED = {
    "a reserved namespace": ("aten::foo", "(Tensor x) -> Tensor", "is a reserved namespace"),
    "an overload": ("before::foo.bar", "(Tensor x) -> Tensor", "overload"),
    "self": ("before::foo", "(Tensor self) -> Tensor", "self"),
    "in place": ("before::foo", "(Tensor(a!) x) -> Tensor", "only supports functional"),
    "a view": ("before::foo", "(Tensor(a) x) -> Tensor(a)", "only supports functional"),
    "nothing returned": ("before::foo", "(Tensor x) -> ()", "only supports functional"),
}


@pytest.mark.parametrize(("name", "schema", "quoted"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_operator(name: str, schema: str, quoted: str) -> None:
    agree(lambda t: made(t, name, schema), quoted)


def test_what_is_missing_is_named() -> None:
    def case(t: Any, call: Any) -> Any:
        name = f"{fresh_namespace()}::op"
        made(t, name, "(Tensor x) -> Tensor")
        op = importlib.import_module(f"{t.__name__}._custom_op.impl").get_op(name)
        return call(t, op)

    agree(lambda t: case(t, lambda t, op: op(t.ones(2))), "cpu impl registered")
    agree(lambda t: case(t, lambda t, op: op(t.ones(2, device="meta"))), "no fake impl or Meta kernel")
    agree(lambda t: case(t, lambda t, op: op(t.ones(2, requires_grad=True))), "Autograd has not been implemented")


def test_operators_of_functions() -> None:
    def case(t: Any, wrong: bool) -> Any:
        impl = importlib.import_module(f"{t.__name__}._custom_op.impl")
        namespace = fresh_namespace()

        def op(x: t.Tensor, sizes: Sequence[int]) -> t.Tensor:  # type: ignore[name-defined]
            raise NotImplementedError

        op.__annotations__ = {"x": t.Tensor, "sizes": Sequence[int], "return": t.Tensor}
        found = impl.custom_op(f"{namespace}::{'other' if wrong else 'op'}")(op)
        found.impl("cpu")(lambda x, sizes: x.clone().reshape(sizes))
        found.impl_abstract()(lambda x, sizes: x.new_empty(sizes))
        shapes = tuple(found(t.ones(6), [2, 3]).shape), tuple(found(t.ones(6, device="meta"), [3, 2]).shape)
        found._destroy()
        return shapes

    agree(lambda t: case(t, wrong=False))
    agree(lambda t: case(t, wrong=True), "to have name")


def test_what_has_an_implementation_keeps_it() -> None:
    def case(t: Any) -> Any:
        name = f"{fresh_namespace()}::op"
        with t.library._scoped_library(name.partition("::")[0], "FRAGMENT") as lib:
            lib.define("op(Tensor x) -> Tensor")
            lib.impl("op", lambda x: x.clone(), "CPU")
            importlib.import_module(f"{t.__name__}._custom_ops").impl(name, func=lambda x: x)

    agree(case, "already has an implementation")
