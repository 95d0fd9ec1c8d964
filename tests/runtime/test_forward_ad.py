"""Forward-mode AD beside PyTorch's: dual tensors, what operators and Functions do with them, own formulas."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import mindtorch_v2  # noqa: E402
from tests.runtime.both import agree  # noqa: E402
from tests.runtime.duals import dual, forward_ad, ours, parts  # noqa: E402


def changed_in_place(t: Any) -> Any:
    """Outputs whose tangent is an argument's as it is: what is done to them in place leaves that one alone."""
    x = dual(t, 3)
    for copy in (x.clone(), x + 1, x * 1, x.contiguous() + t.zeros(3)):
        copy.mul_(3)
    return x * 1


CASES: dict[str, Callable[[Any], Any]] = {
    "changed in place": changed_in_place,
    "a chain": lambda t: (dual(t, 3).sin() * 2 + dual(t, 3, seed=1.0).exp()).sum(),
    "broadcast": lambda t: dual(t, 3, 1) * dual(t, 2, seed=0.5),
    "one input": lambda t: t.ones(2, 2) @ dual(t, 2, 2),
    "promotion": lambda t: dual(t, 3) + t.ones(3, dtype=t.float64),
    "a list": lambda t: t.cat([dual(t, 2), t.ones(2), dual(t, 2, seed=2.0)]),
    "an output of several": lambda t: t.max(dual(t, 2, 3), 1)[0],
    "softmax": lambda t: dual(t, 2, 3).softmax(1),
    "composite": lambda t: t.nn.functional.mse_loss(dual(t, 2, 3), t.zeros(2, 3)),
    "indexing": lambda t: dual(t, 4, 3)[1:, t.tensor([0, 2])],
    "a transposed view": lambda t: dual(t, 2, 3).t().reshape(-1),
    "an expanded view": lambda t: dual(t, 1, 3).expand(2, 3) * t.ones(2, 3),
    "contiguous": lambda t: dual(t, 2, 3).t().contiguous(),
    "zero derivative": lambda t: dual(t, 3).sign(),
    "gelu": lambda t: t.nn.functional.gelu(dual(t, 3)),
    "gelu by tanh": lambda t: t.nn.functional.gelu(dual(t, 3), approximate="tanh"),
    "silu": lambda t: t.nn.functional.silu(dual(t, 3)),
    "detached": lambda t: dual(t, 3).detach(),
    "comparison": lambda t: dual(t, 3) > 0.5,
    "zeros like": lambda t: t.zeros_like(dual(t, 3)),
    "in place": lambda t: dual(t, 3).mul_(dual(t, 3, seed=1.0)).add_(1),
    "in place by a constant": lambda t: dual(t, 3).zero_(),
    "in place on a constant": lambda t: t.ones(3).mul_(dual(t, 3)),
    "in place without its own formula": lambda t: dual(t, 3).sqrt_(),
    "copied": lambda t: t.zeros(3).copy_(dual(t, 3)),
    "masked": lambda t: dual(t, 3).masked_fill_(t.tensor([True, False, False]), 2.0),
    "clone": lambda t: dual(t, 3).clone(),
    "to": lambda t: dual(t, 3).to(t.float64),
}


@pytest.mark.parametrize("name", CASES)
def test_operators_propagate_tangents(name: str) -> None:
    def case(t: Any) -> Any:
        with forward_ad(t).dual_level():
            return parts(t, CASES[name](t))

    agree(case)


def test_a_view_changed_in_place_changes_its_bases_tangent() -> None:
    def case(t: Any) -> Any:
        with forward_ad(t).dual_level():
            base = t.zeros(4)
            view, other = base[:2], base[1:3]
            view.copy_(dual(t, 2))
            other.mul_(3)
            return [parts(t, x) for x in (base, view, other)]

    agree(case)


def test_a_view_of_a_dual_shares_its_tangent() -> None:
    def case(t: Any) -> Any:
        with forward_ad(t).dual_level():
            x = dual(t, 2, 3).clone()
            x[0].mul_(2)
            x.t()[1].add_(dual(t, 2, seed=5.0))
            assert forward_ad(t).unpack_dual(x.t()).tangent.stride() == x.t().stride()
            return parts(t, x)

    agree(case)


def test_a_tangent_takes_the_primals_layout() -> None:
    def case(t: Any) -> Any:
        fw = forward_ad(t)
        with fw.dual_level():
            as_it_is, other = t.ones(2, 3), t.arange(6.0).reshape(3, 2).t()
            kept = fw.unpack_dual(fw.make_dual(t.zeros(2, 3), as_it_is)).tangent
            copied = fw.unpack_dual(fw.make_dual(t.zeros(2, 3), other)).tangent
            return kept.data_ptr() == as_it_is.data_ptr(), copied.stride(), copied.clone()

    agree(case)


@pytest.mark.parametrize("mode", ["no_grad", "enable_grad", "inference_mode"])
def test_grad_modes(mode: str) -> None:
    def case(t: Any) -> Any:
        with forward_ad(t).dual_level():
            x = dual(t, 3)
            with getattr(t, mode)():
                return parts(t, x * 2)

    agree(case)


def test_closing_the_level_takes_tangents_back() -> None:
    def case(t: Any) -> Any:
        fw = forward_ad(t)
        with fw.dual_level():
            x = dual(t, 3)
            y = x * 2
        with fw.dual_level():
            return parts(t, x), parts(t, y * 2), fw.unpack_dual(x).primal.requires_grad

    agree(case)


def test_reverse_over_forward_and_forward_over_reverse() -> None:
    def over_forward(t: Any) -> Any:
        x = t.tensor([0.5, -1.0], requires_grad=True)
        v = t.tensor([1.0, 2.0], requires_grad=True)
        with forward_ad(t).dual_level():
            y = (forward_ad(t).make_dual(x, v).sin() ** 3).sum()
            tangent = forward_ad(t).unpack_dual(y).tangent
            return t.autograd.grad(tangent, (x, v))

    def over_reverse(t: Any) -> Any:
        with forward_ad(t).dual_level():
            x = dual(t, 3).requires_grad_()
            y = (x.exp() * x.tanh() + x.sigmoid()).sum()
            (g,) = t.autograd.grad(y, x)
            return parts(t, g)

    agree(over_forward)
    agree(over_reverse)


def _no_level(t: Any) -> Any:
    return forward_ad(t).make_dual(t.ones(2), t.ones(2))


def _within(body: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def case(t: Any) -> Any:
        with forward_ad(t).dual_level():
            return body(t, forward_ad(t))

    return case


ERRORS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "no level": (_no_level, "no level exists, make sure to enter_dual_level() first"),
    "close nothing": (lambda t: forward_ad(t).exit_dual_level(), "Dual level must be a positive number"),
    "nested": (_within(lambda t, fw: fw.enter_dual_level()), "Nested forward mode AD is not supported at the moment"),
    "close another": (_within(lambda t, fw: fw.exit_dual_level(level=3)), "was not the last one that was created"),
    "another level": (_within(lambda t, fw: fw.make_dual(t.ones(2), t.ones(2), level=1)), "Invalid level"),
    "shape": (
        _within(lambda t, fw: fw.make_dual(t.ones(3), t.ones(2))),
        "Tensor is of size [3] while the given forward gradient is of size [2]",
    ),
    "integers": (
        _within(lambda t, fw: fw.make_dual(t.arange(2), t.ones(2))),
        "Expected primal to be floating point or complex, but got: torch.int64",
    ),
    "integer tangent": (
        _within(lambda t, fw: fw.make_dual(t.ones(2), t.arange(2))),
        "Expected tangent to be floating point or complex, but got: torch.int64",
    ),
    "dual already": (
        _within(lambda t, fw: fw.make_dual(dual(t, 2), t.ones(2))),
        "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0",
    ),
    "a leaf in place": (
        _within(lambda t, fw: t.ones(2, requires_grad=True).add_(dual(t, 2))),
        "a leaf Variable that requires grad is being used in an in-place operation",
    ),
    "unpack a number": (_within(lambda t, fw: fw.unpack_dual(3)), "must be Tensor, not int"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    case, quoted = ERRORS[name]
    agree(case, quoted)
    with ours.dual_level():  # nothing is left open
        assert ours.unpack_dual(dual(mindtorch_v2, 2) * 2).tangent is not None


def test_printing() -> None:
    def case(t: Any) -> str:
        with forward_ad(t).dual_level():
            return repr(forward_ad(t).make_dual(t.ones(2), t.zeros(2)))

    agree(case)


# ---------------------------------------------------------------- autograd.Function


def function(t: Any, jvp: Any, forward: Any = lambda ctx, x: x * 1, new_style: bool = False) -> Any:
    members: dict[str, Any] = {"forward": staticmethod(forward), "backward": staticmethod(lambda ctx, *g: g)}
    if jvp is not None:
        members["jvp"] = staticmethod(jvp)
    return type("Mine", (t.autograd.Function,), members)


def test_function_jvp_reads_what_was_saved_for_forward() -> None:
    def case(t: Any) -> Any:
        seen = []

        class Product(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any, y: Any, scale: float) -> Any:
                ctx.save_for_forward(x, y)
                ctx.save_for_backward(y)
                ctx.scale = scale
                return x * y * scale

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                seen.append(len(ctx.saved_tensors))
                return grad * ctx.saved_tensors[0], None, None

            @staticmethod
            def jvp(ctx: Any, x_t: Any, y_t: Any, scale_t: Any) -> Any:
                x, y = ctx.saved_tensors
                seen.append((scale_t, t.is_grad_enabled(), y_t.clone()))
                return (x_t * y + x * y_t) * ctx.scale

        with forward_ad(t).dual_level():
            both = parts(t, Product.apply(dual(t, 3), dual(t, 3, seed=1.0), 2.0))
            one = Product.apply(dual(t, 3).requires_grad_(), t.full((3,), 2.0), 2.0)
            one.sum().backward()
            return both, parts(t, one.detach()), seen

    agree(case)


def test_new_style_function() -> None:
    def case(t: Any) -> Any:
        class Cube(t.autograd.Function):
            @staticmethod
            def forward(x: Any) -> Any:
                return x**3, x * 2

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                ctx.save_for_forward(*inputs)

            @staticmethod
            def jvp(ctx: Any, x_t: Any) -> Any:
                (x,) = ctx.saved_tensors
                return 3 * x * x * x_t, 2 * x_t

        with forward_ad(t).dual_level():
            return [parts(t, out) for out in Cube.apply(dual(t, 3))]

    agree(case)


def test_function_in_place() -> None:
    def case(t: Any) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.add_(1)

        with forward_ad(t).dual_level():
            return parts(t, function(t, lambda ctx, x_t: x_t.mul_(2), forward).apply(dual(t, 3).clone()))

    agree(case)


def _marked(ctx: Any, x: Any) -> Any:
    y = x * 1
    ctx.mark_non_differentiable(y)
    return y


def _dirty(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x)
    return x.add_(1)


FUNCTION_ERRORS: dict[str, tuple[Any, Any, str]] = {
    "missing": (None, lambda ctx, x: x * 1, "You must implement the jvp function for custom autograd.Function"),
    "too many": (lambda ctx, a: (a, a), lambda ctx, x: x * 1, "forward gradients (expected 1 but got 2)"),
    "a number": (lambda ctx, a: 1.0, lambda ctx, x: x * 1, "expected Variable or None (got float) for grad output 0."),
    "shape": (lambda ctx, a: a[:1], lambda ctx, x: x * 1, "different size than that of the original Tensor"),
    "no view": (lambda ctx, a: a * 1, lambda ctx, x: x.view(-1), "but the jvp is not returning a view."),
    "input as it is": (lambda ctx, a: a * 1, lambda ctx, x: x, "but the jvp is not returning a view."),
    "not in place": (lambda ctx, a: a * 1, _dirty, "is not modifying the forward mode gradients inplace"),
    "not differentiable": (lambda ctx, a: a, _marked, "forward output is not a differentiable Tensor"),
    "integers": (lambda ctx, a: a, lambda ctx, x: (x > 0).long(), "forward output is not a differentiable Tensor"),
}


@pytest.mark.parametrize("name", FUNCTION_ERRORS)
def test_function_errors(name: str) -> None:
    jvp, forward, quoted = FUNCTION_ERRORS[name]

    def case(t: Any) -> Any:
        with forward_ad(t).dual_level():
            return function(t, jvp, forward).apply(dual(t, 3).clone())

    agree(case, quoted)


def test_function_that_returns_none() -> None:
    with ours.dual_level(), pytest.raises(RuntimeError, match="jvp of Mine returned None at position 0"):
        function(mindtorch_v2, lambda ctx, a: None).apply(dual(mindtorch_v2, 3))


# ---------------------------------------------------------------- gradcheck


def scaled(t: Any, by: float, forward: float) -> Any:
    """x * 2 with a gradient of ``by`` and a tangent of ``forward``."""
    members = {
        "forward": staticmethod(lambda ctx, x: x * 2),
        "backward": staticmethod(lambda ctx, g: g * by),
        "jvp": staticmethod(lambda ctx, x_t: x_t * forward),
    }
    return type("Scaled", (t.autograd.Function,), members).apply


def values(t: Any) -> Any:
    return t.tensor([[0.3, -0.2], [0.7, 0.5]], dtype=t.float64, requires_grad=True)


CHECKS: dict[str, Callable[[Any], Any]] = {
    "right": lambda t: t.autograd.gradcheck(scaled(t, 2, 2), (values(t),), check_forward_ad=True),
    "not asked for": lambda t: t.autograd.gradcheck(scaled(t, 2, 3), (values(t),)),
    "forward alone": lambda t: t.autograd.gradcheck(
        scaled(t, 5, 2), (values(t),), check_forward_ad=True, check_backward_ad=False
    ),
    "wrong": lambda t: t.autograd.gradcheck(
        scaled(t, 2, 3), (values(t),), check_forward_ad=True, raise_exception=False
    ),
    "several": lambda t: t.autograd.gradcheck(
        lambda x, y, n: ((x @ y).exp() * n, y.t().softmax(1), t.ones(2, dtype=t.float64)),
        (values(t), values(t), 3),
        check_forward_ad=True,
    ),
    "second derivatives": lambda t: t.autograd.gradgradcheck(
        lambda x, y: (x.tanh() @ y).sigmoid(), (values(t), values(t)), check_fwd_over_rev=True
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_gradcheck(name: str) -> None:
    agree(CHECKS[name])


def test_gradcheck_errors() -> None:
    def check(t: Any, apply: Any, **options: Any) -> Any:
        return t.autograd.gradcheck(apply, (values(t),), check_forward_ad=True, **options)

    for t in (torch, mindtorch_v2):
        with pytest.raises(
            RuntimeError, match="Jacobian computed with forward mode mismatch for output 0 with respect"
        ):
            check(t, scaled(t, 2, 3))
    agree(
        lambda t: check(t, function(t, None).apply), "You must implement the jvp function for custom autograd.Function"
    )


def test_no_reference_cycles() -> None:
    """A tangent whose history saved its own primal is freed when the level closes."""
    t = mindtorch_v2
    gc.collect()
    gc.disable()
    try:
        import weakref

        with ours.dual_level():
            x = ours.make_dual(t.ones(3, requires_grad=True), t.ones(3))
            y = x.exp()
            alive = weakref.ref(y)
            del x, y
        assert alive() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("written", ["view", "base"])
def test_batched_tangents_of_what_shares_memory(written: str) -> None:
    """A batch of tangents for one primal: what a view shows of the tangent follows, whichever of both is changed."""

    def case(t: Any) -> Any:
        def f(a: Any, b: Any) -> Any:
            c = a.clone()
            view = c[0]
            (view if written == "view" else c).copy_(b[0] if written == "view" else b)
            return c, view

        a, b = t.arange(4.0).reshape(2, 2), t.ones(2, 2)
        tangents = t.arange(12.0).reshape(3, 2, 2)
        first = t.ones(2, 2)

        def mapped(t: Any, g: Any) -> Any:
            # PyTorch refuses to change a tangent that is the same for all samples: it gets one sample after the other.
            every = [g(v) for v in tangents]
            stacked = [[t.stack([e[i][j] for e in every]) for j in range(2)] for i in range(2)]
            return stacked if t is torch else t.func.vmap(g)(tangents)

        one = t.func.vmap(lambda v: t.func.jvp(lambda b: f(a, b), (b,), (v,)))(tangents)
        both = mapped(t, lambda v: t.func.jvp(f, (a, b), (first, v)))
        sample = mapped(t, lambda v: t.func.jvp(f, (v, b), (first, v)))
        return one, [list(pair) for pair in both], [list(pair) for pair in sample]

    agree(case)


def test_detach_in_place_drops_the_tangent() -> None:
    def case(t: Any) -> Any:
        def f(a: Any) -> Any:
            b = a * 2
            b.detach_()
            return a * b

        return t.func.jvp(f, (t.ones(3),), (t.ones(3),))

    agree(case)


def test_a_dual_tensor_is_not_resized() -> None:
    agree(lambda t: t.func.jvp(lambda a: (a * 1).resize_(2), (t.ones(3),), (t.ones(3),)), "that has a forward grad")


def test_the_tangent_is_given_back_itself() -> None:
    def case(t: Any) -> Any:
        forward = t.autograd.forward_ad
        with forward.dual_level():
            tangent = t.ones(2)
            found = forward.unpack_dual(forward.make_dual(t.ones(2), tangent)).tangent
            return found is tangent, found._is_view()

    agree(case)


def test_a_dual_tensor_is_no_tangent() -> None:
    def case(t: Any) -> Any:
        forward = t.autograd.forward_ad
        with forward.dual_level():
            return forward.make_dual(t.ones(2), forward.make_dual(t.ones(2), t.ones(2)))

    agree(case, "itself has a forward gradient at the same level")


@pytest.mark.parametrize("order", ["first", "second", "alone"])
def test_a_subclass_beside_a_dual_tensor_loses_no_tangent(order: str) -> None:
    def case(t: Any) -> Any:
        class Marked(t.Tensor):  # type: ignore[misc, name-defined]
            pass

        def function(x: Any) -> Any:
            other = t.full((3,), 2.0).as_subclass(Marked)
            if order == "alone":
                return t.sin(x.as_subclass(Marked)).as_subclass(t.Tensor)
            return t.mul(*((other, x) if order == "first" else (x, other))).as_subclass(t.Tensor)

        return t.func.jvp(function, (t.ones(3),), (t.full((3,), 3.0),))

    agree(case)


@pytest.mark.parametrize("transposed", [False, True])
def test_a_view_of_all_of_its_base_has_its_tangent(transposed: bool) -> None:
    """By the older `vmap`, as PyTorch's Jacobians in forward mode are."""

    def case(torch: Any) -> Any:
        base, tangent = torch.zeros(2, 2), torch.arange(8.0).reshape(2, 2, 2)
        view = base.t() if transposed else base.view_as(base)

        def f(t: Any) -> Any:
            with torch.autograd.forward_ad.dual_level():
                x = torch.autograd.forward_ad.make_dual(torch.zeros(2, 2), t)
                view.copy_(x)
                tangents = [torch.autograd.forward_ad.unpack_dual(v).tangent for v in (x, view, view._base)]
            return tuple(tangents)

        of_x, of_view, of_base = torch._vmap_internals._vmap(f, 0, 0)(tangent)
        return of_x is tangent, of_view is of_base, of_view._base is of_base, of_view, of_base

    agree(case)
