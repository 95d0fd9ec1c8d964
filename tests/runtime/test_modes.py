"""Modes, tensor subclasses, autocast, `vmap` and `torch.func`: beside PyTorch."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2
from tests.runtime.both import agree, fresh_namespace


def dispatch_mode(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode


def pytree(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.utils._pytree")


def logger(torch: Any) -> Any:
    class Log(dispatch_mode(torch)):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.names.append(str(func))
            return func(*args, **(kwargs or {}))

    return Log()


# ---------------------------------------------------------------- modes


def what_a_mode_sees(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with logger(torch) as log:
        y = x.sin() * x
        z = y.detach().exp()
    (y.sum()).backward()
    return log.names[:2], y, z, x.grad, y.grad_fn is not None


def nested_modes(torch: Any) -> Any:
    x = torch.ones(2)
    with logger(torch) as outer, logger(torch) as inner:
        x.sin()
    x.cos()
    return outer.names, inner.names


def a_mode_that_replaces(torch: Any) -> Any:
    class Swap(dispatch_mode(torch)):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.ops.aten.sin.default:
                return torch.ops.aten.cos.default(*args)
            return func(*args, **(kwargs or {}))

    with Swap():
        return torch.zeros(2).sin()


def a_mode_in_backward(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x.sin().sum()
    with logger(torch) as log:
        y.backward()
    return "aten.cos.default" in log.names


def a_mode_that_fails(torch: Any) -> Any:
    class Fail(dispatch_mode(torch)):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise ValueError("no")

    x = torch.ones(2)
    try:
        with Fail():
            x.sin()
    except ValueError:
        pass
    return x.sin()


def function_mode(torch: Any) -> Any:
    class Count(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        calls = 0

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.calls += 1
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, requires_grad=True)
    with Count() as mode:
        y = torch.sin(x)
        torch.add(y, 1)
    torch.sin(x)
    return mode.calls, y


# ---------------------------------------------------------------- subclasses


def function_subclass(torch: Any) -> Any:
    seen: list[str] = []

    class Tagged(torch.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.Tensor._make_subclass(Tagged, torch.ones(2))
    y = torch.add(x, 1)
    z = torch.mul(torch.ones(2), x)
    return seen, type(y).__name__, type(z).__name__, y.tolist() if type(y) is torch.Tensor else [2.0, 2.0]


def plain_subclass(torch: Any) -> Any:
    class Mine(torch.Tensor):  # type: ignore[misc]
        pass

    x = torch.Tensor._make_subclass(Mine, torch.ones(2), True)
    y = torch.exp(x)
    y.sum().backward()
    return (
        type(x).__name__,
        type(y).__name__,
        x.requires_grad,
        x.is_leaf,
        isinstance(y, torch.Tensor),
        type(x.grad).__name__,
    )


def as_subclass(torch: Any) -> Any:
    class Mine(torch.Tensor):  # type: ignore[misc]
        pass

    x = torch.ones(3, requires_grad=True)
    y = (x * 2).as_subclass(Mine)
    y.sum().backward()
    return [type(t).__name__ for t in (y, y[0], y + 1, y.view(-1), y.detach())], x.grad


def not_implemented(torch: Any) -> Any:
    class Refuse(torch.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    return torch.add(torch.Tensor._make_subclass(Refuse, torch.ones(2)), 1)


def wrapper_class(torch: Any) -> Any:
    tree_map = pytree(torch).tree_map

    class Doubled(torch.Tensor):  # type: ignore[misc]
        """Stands for twice what it wraps."""

        inner: Any

        @staticmethod
        def __new__(cls, inner: Any, requires_grad: bool = False) -> Any:
            made = torch.Tensor._make_wrapper_subclass(
                cls, inner.shape, dtype=inner.dtype, device=inner.device, requires_grad=requires_grad
            )
            made.inner = inner
            return made

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            pass

        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            plain = tree_map(lambda v: v.inner * 2 if isinstance(v, cls) else v, list(args))
            return func(*plain, **(kwargs or {}))

    return Doubled


def wrapper(torch: Any) -> Any:
    cls = wrapper_class(torch)
    x = cls(torch.ones(2, 3))
    return tuple(x.shape), str(x.dtype), x.device.type, x + 1, torch.ones(2, 3) * x, torch.cat([x, torch.zeros(1, 3)])


def wrapper_gradient(torch: Any) -> Any:
    x = wrapper_class(torch)(torch.ones(3), requires_grad=True)
    y = x * 3
    first = y.requires_grad, y
    y.sum().backward()
    return first, x.grad.tolist()


def dispatch_rule(torch: Any) -> Any:
    cls = wrapper_class(torch)
    lib = torch.library.Library(fresh_namespace(), "FRAGMENT")
    lib.define("op(Tensor x) -> Tensor")
    lib.impl("op", lambda x: x + 1, "CompositeExplicitAutograd")

    @torch.library.register_torch_dispatch(f"{lib.ns}::op", cls, lib=lib)
    def _(kind: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(args[0].inner) * 100

    return getattr(torch.ops, lib.ns).op(cls(torch.ones(2)))


def parameters(torch: Any) -> Any:
    p = torch.nn.Parameter(torch.ones(2))
    q = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    y = p * 2
    y.sum().backward()
    return (
        type(p).__name__, type(y).__name__, p.requires_grad, q.requires_grad, p.is_leaf, type(p.grad).__name__,
        type(p.detach()).__name__, type(p.data).__name__, isinstance(y, torch.nn.Parameter),
        repr(p), type(torch.nn.Parameter()).__name__,
    )  # fmt: skip


# ---------------------------------------------------------------- autocast


def autocast_policy(torch: Any) -> Any:
    a, b = torch.ones(2, 3), torch.ones(3, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = [str(t.dtype) for t in (a @ b, torch.mm(a, b), a + a, a.sum(), torch.nn.functional.linear(a, b.t()))]
        low = torch.mm(a, b)
        mixed = (
            str(torch.cat([low, torch.ones(2, 2)]).dtype),
            str((low + 1.0).dtype),
            str((low + torch.ones(2, 2)).dtype),
        )
        double = str(torch.mm(a.double(), b.double()).dtype)
        with torch.autocast("cpu", enabled=False):
            off = str(torch.mm(a, b).dtype), torch.is_autocast_enabled("cpu")
        on = torch.is_autocast_enabled("cpu"), str(torch.get_autocast_dtype("cpu"))
    return inside, mixed, double, off, on, str(torch.mm(a, b).dtype), torch.is_autocast_enabled("cpu")


def autocast_gradient(torch: Any) -> Any:
    w = torch.ones(3, 2, requires_grad=True)
    with torch.autocast("cpu"):
        y = torch.ones(4, 3) @ w
    y.sum().backward()
    return str(y.dtype), w.grad


def autocast_decorator(torch: Any) -> Any:
    @torch.autocast("cpu", dtype=torch.float16)
    def f(a: Any, b: Any) -> Any:
        return str(torch.mm(a, b).dtype)

    return f(torch.ones(2, 2), torch.ones(2, 2))


def custom_fwd(torch: Any) -> Any:
    dtypes = []

    class Mm(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            dtypes.append(str(a.dtype))
            return a.mm(b)

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, grad: Any) -> Any:
            a, b = ctx.saved_tensors
            return grad.mm(b.t()), a.t().mm(grad)

    a = torch.ones(2, 2, dtype=torch.bfloat16, requires_grad=True)
    with torch.autocast("cpu"):
        y = Mm.apply(a, torch.ones(2, 2, dtype=torch.bfloat16))
    y.sum().backward()
    return dtypes, str(y.dtype), a.grad


# ---------------------------------------------------------------- vmap and func


def vmap_shapes(torch: Any) -> Any:
    x, y = torch.arange(6.0).reshape(2, 3), torch.arange(3.0)
    seen = []

    def f(a: Any, b: Any) -> Any:
        seen.append(tuple(a.shape))
        return a * b + a.sum(), a @ b

    return torch.vmap(f, in_dims=(0, None))(x, y), torch.vmap(f, in_dims=(0, None), out_dims=(1, 0))(x, y)[0], seen


def vmap_nested(torch: Any) -> Any:
    x = torch.arange(24.0).reshape(2, 3, 4)
    return torch.vmap(torch.vmap(lambda a: a - a.mean()))(x)


def vmap_in_place(torch: Any) -> Any:
    x = torch.arange(6.0).reshape(2, 3)
    torch.vmap(lambda a: a.add_(1))(x)
    return x


def vmap_gradient(torch: Any) -> Any:
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    torch.vmap(lambda a: (a * a).sum())(x).sum().backward()
    return x.grad


def vmap_function(torch: Any) -> Any:
    class Double(torch.autograd.Function):  # type: ignore[misc]
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    class Rule(Double):
        generate_vmap_rule = False

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return x * info.batch_size, in_dims[0]

    x = torch.ones(3, 2)
    return torch.vmap(Double.apply)(x), torch.vmap(Rule.apply)(x)


def func_grad(torch: Any) -> Any:
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    f = lambda a, b: (a * a * b).sum()  # noqa: E731
    return (
        torch.func.grad(f)(x, y), torch.func.grad(f, argnums=(0, 1))(x, y), torch.func.grad_and_value(f)(x, y),
        torch.func.grad(lambda a: torch.func.grad(lambda b: (b * b * b).sum())(a).sum())(x),
        torch.func.grad(lambda a: (a.sum(), a * 2), has_aux=True)(x),
    )  # fmt: skip


def func_vjp(torch: Any) -> Any:
    output, pull_back = torch.func.vjp(lambda a, b: a * b, torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    return output, pull_back(torch.ones(2)), pull_back(torch.tensor([1.0, 0.0]))


def func_jvp(torch: Any) -> Any:
    x, t = torch.tensor([0.1, 0.7]), torch.tensor([1.0, 2.0])
    return (
        torch.func.jvp(lambda a: a.sin() * a, (x,), (t,)), torch.func.jvp(lambda a, b: (a * b, a + b), (x, t), (t, x)),
        torch.func.jvp(lambda a: a.sum(), (x,), (t,)), torch.func.jvp(lambda a: torch.ones(2), (x,), (t,)),
    )  # fmt: skip


AGREE = (
    what_a_mode_sees, nested_modes, a_mode_that_replaces, a_mode_in_backward, a_mode_that_fails, function_mode,
    function_subclass, plain_subclass, as_subclass, wrapper, wrapper_gradient, dispatch_rule, parameters,
    autocast_policy,
    autocast_gradient, autocast_decorator, custom_fwd, vmap_shapes, vmap_nested, vmap_in_place, vmap_gradient,
    vmap_function, func_grad, func_vjp, func_jvp,
)  # fmt: skip


@pytest.mark.parametrize("case", AGREE, ids=lambda case: case.__name__)
def test_modes(case: Callable[[Any], Any]) -> None:
    agree(case)


def no_vmap_rule(torch: Any) -> Any:
    class Plain(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

    return torch.vmap(Plain.apply)(torch.ones(2))


@pytest.mark.parametrize(
    ("case", "quoted"),
    [
        (not_implemented, "Multiple dispatch failed for"),
        (no_vmap_rule, "it does not have vmap support"),
        (lambda t: t.vmap(lambda: 1)(), "got no inputs"),
        (lambda t: t.vmap(lambda a: 3)(t.ones(2)), "must only return Tensors, got type"),
        (
            lambda t: t.vmap(lambda a: a.sum().item())(t.ones(2, 2)),
            "We don't support vmap over calling .item() on a Tensor",
        ),
        (
            lambda t: t.vmap(lambda a, b: a + b)(t.ones(2), t.ones(3)),
            "Expected all tensors to have the same size in the mapped",
        ),
        (lambda t: t.vmap(lambda a: a, in_dims=3)(t.ones(2)), "so expected in_dim to satisfy"),
        (lambda t: t.vmap(lambda a: a)(3), "We cannot vmap over non-Tensor arguments"),
        (
            lambda t: t.func.grad(lambda a: a * 2)(t.ones(2)),
            "Expected f(*args) to return a scalar Tensor, got tensor with 1 dims",
        ),
        (lambda t: t.autocast("xyz"), "xyz"),
        (lambda t: t.autocast(3), "Expected `device_type` of type `str`"),
    ],
)
def test_mistakes(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


def test_a_failure_in_a_mode_restores_the_keys() -> None:
    before = mindtorch_v2._core.thread_keys()
    agree(a_mode_that_fails)
    assert mindtorch_v2._core.thread_keys() == before


@pytest.mark.parametrize("name", ["tensor", "as_tensor", "asarray"])
def test_a_mode_takes_the_place_of_what_makes_tensors(name: str) -> None:
    """Of numbers, where there is no tensor that could bring its own ``__torch_function__``."""

    def case(torch: Any) -> Any:
        seen = []

        class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                seen.append((func is getattr(torch, name), len(types), args, kwargs))
                return func(*args, **(kwargs or {})) + 1

        with Mode():
            made = getattr(torch, name)([1, 2], dtype=torch.float64)
            with torch._C.DisableTorchFunction():
                plain = getattr(torch, name)([1, 2])
        return made, plain, [entry[:3] for entry in seen if entry[0]]

    agree(case)
