"""`gradcheck` and `gradgradcheck` with each of their options, beside PyTorch's."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

import mindtorch_v2
from tests.runtime.both import agree
from tests.runtime.semantics import Entry, check, function


def point(t: Any, shape: tuple[int, ...] = (2, 2), **options: Any) -> Any:
    options = {"dtype": t.float64, "requires_grad": True, **options}
    count = math.prod(shape)
    return t.tensor([0.3 + 0.2 * i for i in range(count)], dtype=options["dtype"]).view(shape).requires_grad_()


def squares(t: Any, backward: Any, **methods: Any) -> Any:
    """x * x with a backward that may be wrong: ``backward(x, grad)``."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    return function(t, forward, lambda ctx, g: backward(ctx.saved_tensors[0], g), **methods).apply


def run(check: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Each library has a GradcheckError of its own: here it is a RuntimeError."""
    try:
        return check(*args, **options)
    except RuntimeError as error:
        raise RuntimeError(str(error)) if type(error).__name__ == "GradcheckError" else error from None


def check_of(make: Callable[[Any], Any], *shapes: tuple[int, ...], **options: Any) -> Callable[[Any], Any]:
    return lambda t: run(t.autograd.gradcheck, make(t), tuple(point(t, s) for s in shapes or ((2, 2),)), **options)


def second(make: Callable[[Any], Any], **options: Any) -> Callable[[Any], Any]:
    return lambda t: run(t.autograd.gradgradcheck, make(t), (point(t),), **options)


def right(t: Any) -> Any:
    return squares(t, lambda x, g: 2 * x * g)


def wrong(t: Any) -> Any:
    return squares(t, lambda x, g: 3 * x * g)


def not_for_vmap(t: Any) -> Any:
    """The factor is read as a Python number."""
    return squares(t, lambda x, g: 2 * x * g * (1.0 if g.sum().item() == g.sum().item() else 0.0))


def not_linear(t: Any) -> Any:
    """Right for one sample at a time; with a batch the shape that Python code sees is still a sample's."""
    return squares(t, lambda x, g: 2 * x * g + 0 * t.ones(x.shape, dtype=t.float64))


def adds_to_the_gradient(t: Any) -> Any:
    return squares(t, lambda x, g: 2 * x * g + 1e-7)


def needs_a_gradient(t: Any) -> Any:
    """Raises where the gradients of both outputs are undefined."""

    def backward(ctx: Any, a: Any, b: Any) -> Any:
        if a is None and b is None:
            raise RuntimeError("no gradient")
        return sum(g * k for g, k in ((a, 1), (b, 2)) if g is not None)

    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    return function(t, forward, backward).apply


def parity(t: Any) -> Any:
    """Its shape depends on the input's value."""
    return lambda x: x[:1] if float(x.detach().reshape(-1)[0]) > 0.3 else x


def drops_tangents(t: Any) -> Any:
    return squares(t, lambda x, g: 2 * x * g, jvp=lambda ctx, x_t: x_t)


def jvp_of(t: Any, jvp: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    return function(t, forward, lambda ctx, g: g * 2, jvp=jvp).apply


def reads_the_tangent(t: Any) -> Any:
    return jvp_of(t, lambda ctx, x_t: x_t * (2.0 + 0 * x_t.sum().item()))


CASES: dict[str, Entry] = {
    "batched": check_of(right, check_batched_grad=True),
    "batched, several": check_of(
        lambda t: lambda x, y: (x @ y, x.sum(), y.t()), (2, 2), (2, 2), check_batched_grad=True
    ),
    "batched, unused": check_of(lambda t: lambda x, y: (x.sin(), y.cos()), (2,), (3,), check_batched_grad=True),
    "batched, reads": check_of(not_for_vmap, check_batched_grad=True, raise_exception=False),
    "batched, reads, text": (
        check_of(not_for_vmap, check_batched_grad=True),
        "While computing batched gradients, got: ",
    ),
    "batched, advice": (
        check_of(not_for_vmap, check_batched_grad=True),
        "gradcheck or gradgradcheck failed while testing batched gradient computation",
    ),
    "batched, off": check_of(not_for_vmap),
    "batched, shapes": check_of(not_linear, check_batched_grad=True),
    "batched, second": second(lambda t: lambda x: (x * x).sin(), check_batched_grad=True),
    "batched, second, reads": second(not_for_vmap, check_batched_grad=True, raise_exception=False),
    "batched forward": check_of(
        lambda t: lambda x, y: (x * y, x.exp()),
        (2, 2),
        (2, 2),
        check_forward_ad=True,
        check_batched_forward_grad=True,
    ),
    "batched forward, reads": (
        check_of(reads_the_tangent, check_forward_ad=True, check_batched_forward_grad=True),
        "gradcheck failed while testing batched gradient computation with forward-mode AD",
    ),
    "dtypes": check_of(right, check_grad_dtypes=True),
    "fast": check_of(lambda t: lambda x, y: (x @ y, x.t()), (2, 2), (2, 2), fast_mode=True),
    "fast, forward": check_of(lambda t: lambda x: x.tanh(), fast_mode=True, check_forward_ad=True),
    "fast, second": second(lambda t: lambda x: x.tanh() * x, fast_mode=True, check_fwd_over_rev=True),
    "fast, wrong": (
        check_of(wrong, fast_mode=True), "Jacobian mismatch for output 0 with respect to input 0,\nnumerical:"
    ),
    "fast, wrong, explained": (check_of(wrong, fast_mode=True), "are computed \nin fast mode."),
    "fast, wrong, in full": (
        check_of(wrong, fast_mode=True), "recompute numerical and analytical jacobians in slow mode:\n\nNumerical:\n"
    ),
    "fast, wrong forward": (
        check_of(drops_tangents, fast_mode=True, check_forward_ad=True), "Jacobian computed with forward mode mismatch"
    ),
    "masked": check_of(right, masked=True),
    "undefined, second output": (
        check_of(needs_a_gradient), "Expected backward function to handle undefined output grads."
    ),
    "undefined, off": check_of(needs_a_gradient, check_undefined_grad=False),
    "undefined, forward": check_of(
        lambda t: lambda x, y: x * y, (2, 2), (2, 2), check_forward_ad=True, check_undefined_grad=True
    ),
    "not a product": (check_of(adds_to_the_gradient), "backward not multiplied by grad_output"),
    "constant": check_of(lambda t: lambda x: t.ones(2, dtype=t.float64)),
    "constant, batched": check_of(lambda t: lambda x: t.ones(2, dtype=t.float64), check_batched_grad=True),
    "detached": (check_of(lambda t: lambda x: x.detach()), "Numerical gradient for function expected to be zero"),
    "integers": check_of(lambda t: lambda x: x.round().long()),
    "integers, forward": check_of(lambda t: lambda x: (10 * x).long(), check_forward_ad=True),
    "an input twice": lambda t: (lambda x: t.autograd.gradcheck(lambda x, y: x * y + x, (x, x)))(point(t)),
    "an input twice, one of them used": lambda t: (
        lambda x: t.autograd.gradcheck(lambda *xs: xs[0] * 2, [x, x], raise_exception=False)
    )(point(t)),
    "detached, fast": check_of(lambda t: lambda x: x.detach() * 0, fast_mode=True),
    "shape by value": (
        check_of(parity, (2,)),
        "Expected `func` to return outputs with the same shape when inputs are perturbed",
    ),
    "empty": check_of(lambda t: lambda x: x * 2, (0,), check_batched_grad=True),
    "0-d": check_of(lambda t: lambda x: x * 2, (), check_batched_grad=True, check_forward_ad=True),
    "gradients inside": check_of(
        lambda t: lambda x: t.autograd.grad((x * x * x).sum(), x, create_graph=True)[0]
    ),
    "a list": lambda t: t.autograd.gradcheck(lambda x, y: [x * y], [point(t), point(t)]),
    "second, uneven starts": second(lambda t: lambda x: x.exp(), gen_non_contig_grad_outputs=True),
    "second, starts": lambda t: t.autograd.gradgradcheck(lambda x: x.exp(), (point(t),), (point(t),)),
    "second, unused": lambda t: t.autograd.gradgradcheck(lambda x, y: x.exp(), (point(t), point(t))),
    "neither": (
        check_of(right, check_backward_ad=False),
        "Expected at least one of check_forward_ad or check_backward_ad to be True",
    ),
    "batched without backward": (
        check_of(right, check_backward_ad=False, check_forward_ad=True, check_batched_grad=True),
        "Setting check_batched_grad=True requires check_backward_ad to be True",
    ),
    "batched forward without forward": (
        check_of(right, check_batched_forward_grad=True),
        "Setting check_batched_forward_grad=True requires check_forward_ad to be True",
    ),
    "second: neither": (
        second(right, check_rev_over_rev=False),
        "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True",
    ),
    "second: undefined without reverse": (
        second(right, check_rev_over_rev=False, check_fwd_over_rev=True),
        "Setting check_undefined_grad=True requires check_rev_over_rev to be True",
    ),
    "second: batched without reverse": (
        second(
            right,
            check_rev_over_rev=False, check_fwd_over_rev=True, check_undefined_grad=False, check_batched_grad=True,
        ),
        "Setting check_batched_grad=True requires check_rev_over_rev to be True",
    ),
    "no gradient wanted": (
        lambda t: t.autograd.gradcheck(right(t), (point(t).detach(),)),
        "but none of them have requires_grad=True.",
    ),
    "stride 0": (
        lambda t: t.autograd.gradcheck(right(t), (point(t, (1,)).detach().expand(3).requires_grad_(),)),
        "The 0th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_gradcheck(name: str) -> None:
    check(CASES[name])


def test_signatures() -> None:
    import inspect

    for name in ("gradcheck", "gradgradcheck"):
        ours, theirs = (
            [(p.name, p.kind, p.default) for p in inspect.signature(getattr(t.autograd, name)).parameters.values()]
            for t in (mindtorch_v2, torch)
        )
        assert ours == theirs


def test_single_precision_warns() -> None:
    def warned(t: Any) -> Any:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            t.autograd.gradcheck(lambda x: x * 2, (point(t, dtype=t.float32),), eps=1e-2, atol=1e-2)
        return [str(w.message)[:183] for w in found if "double precision" in str(w.message)][:1]

    agree(warned)


def of_complex_numbers(torch: Any) -> Any:
    x = torch.ones(2, dtype=torch.complex128, requires_grad=True)
    return torch.autograd.gradcheck(torch.view_as_real, x), torch.autograd.gradcheck(lambda x: (x.real, x.imag), x)


def of_a_wrong_imaginary_part(torch: Any) -> Any:
    def bad(x: Any) -> Any:
        y = x.clone()
        y.register_hook(lambda g: g + 1e-2)
        return y

    try:
        torch.autograd.gradcheck(bad, torch.ones(2, dtype=torch.complex128, requires_grad=True), fast_mode=False)
    except RuntimeError as error:  # each library has a class of its own
        raise RuntimeError(str(error)) from None


def of_what_the_function_knows_otherwise(torch: Any) -> Any:
    """The argument is moved itself: a function may reach it by another name."""
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(lambda _: x * x, x), x


def by_older_names(torch: Any) -> Any:
    names = torch.autograd.gradcheck.__module__ and __import__(torch.__name__ + ".autograd.gradcheck", fromlist=["x"])
    a, b = (torch.ones(2, dtype=torch.float64, requires_grad=True) for _ in range(2))
    numerical = names.get_numerical_jacobian(lambda values: (2 * values[0] + values[1],), (a, b), eps=1e-6)
    return numerical, names.get_analytical_jacobian((a, b), 2 * a + b)


@pytest.mark.parametrize("case", [of_complex_numbers, of_what_the_function_knows_otherwise, by_older_names])
def test_what_is_checked(case: Any) -> None:
    agree(case)


def test_a_wrong_imaginary_part_is_named() -> None:
    agree(of_a_wrong_imaginary_part, "While considering the imaginary part of complex outputs only")
