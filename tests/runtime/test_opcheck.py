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


# ---------------------------------------------------------------- forward and backward, recorded ahead of time


def recorded(torch: Any, op: Any, *args: Any) -> Any:
    """Whether the operator passes the fourth test."""
    found = torch.library.opcheck(op, args, test_utils="test_aot_dispatch_dynamic", raise_exception=False)
    return found["test_aot_dispatch_dynamic"] == "SUCCESS"


def with_kernel(grad: bool = False, **kernels: Callable[..., Any]) -> Callable[[Any], Any]:
    def case(torch: Any) -> Any:
        op, _lib = operator(torch, "(Tensor x) -> Tensor", **kernels)
        return recorded(torch, op, torch.full((3,), 2.0, requires_grad=grad))

    return case


def with_gradient(
    backward: Callable[[Any, Any, Any], Any], kernel: Callable[[Any], Any] = double, fake: Any = None
) -> Callable[[Any], Any]:
    """A custom operator of this kernel, with ``backward(torch, saved_x, grad)``."""

    def case(torch: Any) -> Any:
        def forward(x: Any) -> Any:
            return kernel(x)

        forward.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
        op = torch.library.custom_op(f"{fresh_namespace()}::op", forward, mutates_args=())
        op.register_fake(fake or double)
        op.register_autograd(
            lambda ctx, grad: backward(torch, ctx.saved_tensors[0], grad),
            setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
        )
        return recorded(torch, op, torch.full((3,), 2.0, requires_grad=True))

    return case


def mutable(torch: Any) -> Any:
    op, _lib = operator(
        torch, "(Tensor(a!) x, Tensor y) -> Tensor", CPU=lambda x, y: x.add_(y) * 2, Meta=lambda x, y: x * 2
    )
    return recorded(torch, op, torch.ones(3), torch.ones(3))


def through_numpy(torch: Any, x: Any) -> Any:
    return torch.from_numpy(x.detach().numpy() * 2)


def counted() -> Callable[[Any], Any]:
    calls = iter(range(1, 100))
    return lambda x: x * next(calls)


def changing() -> Callable[[Any, Any, Any], Any]:
    step = counted()
    return lambda torch, x, grad: step(grad)


RECORDED = {
    "kernel": with_kernel(CPU=double, Meta=double),
    "composite": with_kernel(True, CompositeImplicitAutograd=lambda x: x.exp() * x),
    "composite that writes in place": with_kernel(True, CompositeImplicitAutograd=lambda x: (x * 2).add_(x)),
    "composite that branches on data": with_kernel(
        True, CompositeImplicitAutograd=lambda x: x * 2 if x.sum() > 0 else x
    ),
    "composite that reads a number": with_kernel(True, CompositeImplicitAutograd=lambda x: x * x.sum().item()),
    "no fake rule": with_kernel(CPU=double),
    "no gradient": with_kernel(True, CPU=double, Meta=double),
    "mutable": mutable,
    "gradient": with_gradient(lambda torch, x, grad: grad * x),
    "gradient in place on its own": with_gradient(lambda torch, x, grad: (grad * 2).add_(x)),
    "gradient that writes to what it is given": with_gradient(lambda torch, x, grad: grad.mul_(2)),
    "gradient through NumPy": with_gradient(lambda torch, x, grad: through_numpy(torch, grad)),
    "gradient that branches on data": with_gradient(lambda torch, x, grad: grad * 2 if x.sum() > 0 else grad),
    "gradient that reads a number": with_gradient(lambda torch, x, grad: grad * x.sum().item()),
    "gradient of another shape": with_gradient(lambda torch, x, grad: grad.new_ones(7)),
    "gradient that depends on state": with_gradient(changing()),
    "gradient that is none": with_gradient(lambda torch, x, grad: None),
    "gradient that raises": with_gradient(lambda torch, x, grad: 1 / 0),
    "kernel that depends on state": with_gradient(lambda torch, x, grad: grad, kernel=counted()),
    "fake rule of another shape": with_gradient(lambda torch, x, grad: grad * 2, fake=lambda x: x.new_empty(2)),
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded(name: str) -> None:
    agree(RECORDED[name])


def test_random_kernels_are_seeded() -> None:
    def case(torch: Any) -> Any:
        return with_gradient(lambda torch, x, grad: grad, kernel=lambda x: torch.rand(3))(torch)

    agree(case)
    before = mindtorch_v2.manual_seed(3) and mindtorch_v2.rand(2).tolist()
    mindtorch_v2.manual_seed(3)
    case(mindtorch_v2)
    assert mindtorch_v2.rand(2).tolist() == before  # and others' numbers go on as before


def test_a_built_in_gradient_is_registered_whatever_the_arguments() -> None:
    agree(
        lambda torch: verdicts(torch, torch.ops.aten.sin.default, (torch.ones(2, requires_grad=True), torch.ones(2)))[
            "test_autograd_registration"
        ]
    )


def test_the_default_tests() -> None:
    def case(torch: Any) -> Any:
        op, _lib = operator(torch, "(Tensor x) -> Tensor", CPU=double, Meta=double)
        return torch.library.opcheck(op, (torch.ones(3),)), torch.library.opcheck(op, (torch.ones(3),), rtol=0, atol=0)

    agree(case)


def test_every_built_in_gradient_can_be_recorded() -> None:
    aten, torch = mindtorch_v2.ops.aten, mindtorch_v2
    x = torch.arange(1, 7, dtype=torch.float64).view(2, 3).requires_grad_()
    calls = {
        aten.add.Tensor: (x, x),
        aten.mul_.Tensor: (x, x),
        aten.div.Tensor: (x, x),
        aten.exp.default: (x,),
        aten.exp_.default: (x,),
        aten.mm.default: (x, x.detach().t()),
        aten.sum.dim_IntList: (x, [1]),
        aten.softmax.int: (x, 1),
        aten.select.int: (x, 0, 1),
        aten.slice.Tensor: (x, 1, 1),
        aten.cat.default: ([x, x], 1),
        aten.split.Tensor: (x, 2, 1),
        aten.copy_.default: (x, x.detach() * 2),
        aten.slice_scatter.default: (x, x.detach()[:, :1], 1, 1, 2),
        aten.gelu.default: (x,),
    }
    for op, args in calls.items():
        found = torch.library.opcheck(op, args, test_utils="test_aot_dispatch_dynamic")
        assert found == {"test_aot_dispatch_dynamic": "SUCCESS"}


def test_what_a_difference_says() -> None:
    lib = mindtorch_v2.library.Library(fresh_namespace(), "FRAGMENT")
    lib.define("op(Tensor x) -> Tensor")
    lib.impl("op", counted(), "CPU")
    lib.impl("op", double, "Meta")
    op = getattr(mindtorch_v2.ops, lib.ns).op
    with pytest.raises(
        mindtorch_v2.library.OpCheckError, match=r"op: output 0 of the recorded graph .* \[3.0\] instead of"
    ):
        mindtorch_v2.library.opcheck(op, (mindtorch_v2.ones(1),), test_utils="test_aot_dispatch_dynamic")


# ---------------------------------------------------------------- mistakes


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


def test_a_function_of_the_old_style_as_gradient() -> None:
    def case(torch: Any) -> Any:
        op, lib = operator(torch, "(Tensor x) -> Tensor", CompositeExplicitAutograd=lambda x: x.clone())

        class Twice(torch.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                with torch._C._AutoDispatchBelowAutograd():
                    return op(x)

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * 2

        lib.impl("op", lambda x: Twice.apply(x), "Autograd")
        return [verdicts(torch, op, (torch.ones(3, requires_grad=wanted),)) for wanted in (True, False)]

    agree(case)
