"""`autograd.Function` under `torch.func`'s transforms, beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import mindtorch_v2
from tests.runtime.both import agree


def x(t: Any) -> Any:
    return t.tensor([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]])


def v(t: Any) -> Any:
    return t.tensor([0.3, -0.7])


def cube(t: Any, generate: bool, with_rule: bool = False) -> Any:
    """x^3 with a gradient of 30 x^2, by which it is told from one that operators would give."""

    class Cube(t.autograd.Function):  # type: ignore[misc,name-defined]
        generate_vmap_rule = generate

        @staticmethod
        def forward(a: Any) -> Any:
            return a**3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (a,) = ctx.saved_tensors
            return g * a * a * 30

        @staticmethod
        def jvp(ctx: Any, a_t: Any) -> Any:
            (a,) = ctx.saved_tensors
            return a_t * a * a * 300

    def rule(info: Any, in_dims: Any, a: Any) -> Any:
        assert info.batch_size == 3
        return Cube.apply(a), in_dims[0]

    if with_rule:
        Cube.vmap = staticmethod(rule)
    return Cube


FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "grad": lambda t, f, c: f.grad(lambda a: c.apply(a).sum())(x(t)),
    "jvp": lambda t, f, c: f.jvp(c.apply, (x(t),), (x(t),)),
    "grad(grad)": lambda t, f, c: f.grad(lambda a: f.grad(lambda b: c.apply(b).sum())(a).sum())(x(t)),
    "jvp(grad)": lambda t, f, c: f.jvp(f.grad(lambda a: c.apply(a).sum()), (x(t),), (x(t),)),
    "grad(jvp)": lambda t, f, c: f.grad(lambda a: f.jvp(c.apply, (a,), (x(t),))[1].sum())(x(t)),
    "vmap": lambda t, f, c: f.vmap(c.apply)(x(t)),
    "vmap(grad)": lambda t, f, c: f.vmap(f.grad(lambda a: c.apply(a).sum()))(x(t)),
    "grad(vmap)": lambda t, f, c: f.grad(lambda a: f.vmap(c.apply)(a).sum())(x(t)),
    "vmap(jvp)": lambda t, f, c: f.vmap(lambda a: f.jvp(c.apply, (a,), (v(t),)))(x(t)),
    "jvp(vmap)": lambda t, f, c: f.jvp(f.vmap(c.apply), (x(t),), (x(t),)),
    "grad(vmap(grad))": lambda t, f, c: f.grad(lambda a: f.vmap(f.grad(lambda b: c.apply(b).sum()))(a).sum())(x(t)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", ["generated rule", "rule"])
def test_functions(name: str, kind: str) -> None:
    agree(lambda t: FUNCTIONS[name](t, t.func, cube(t, kind == "generated rule", kind == "rule")))


def test_a_functions_jvp_is_differentiated_by_forward_mode_too() -> None:
    """PyTorch gives zero here: it hides what jvp computes from the outer level."""
    t = mindtorch_v2
    one, function = t.ones(()), cube(mindtorch_v2, True)
    tangents = t.func.jvp(lambda a: t.func.jvp(function.apply, (a,), (one,))[1], (one * 2,), (one,))
    assert [tangent.item() for tangent in tangents] == [1200.0, 1200.0]


def test_function_errors() -> None:
    agree(
        lambda t: t.func.vmap(t.func.grad(lambda a: cube(t, False).apply(a).sum()))(x(t)), "does not have vmap support"
    )
    agree(
        lambda t: t.func.vmap(cube(t, True, True).apply)(x(t)),
        "it has both generate_vmap_rule=True and an overridden vmap staticmethod",
    )
