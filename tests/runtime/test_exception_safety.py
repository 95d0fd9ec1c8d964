"""An exception out of user code, wherever it is called from, leaves the thread and the graph as they were."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _C, _core
from mindtorch_v2.autograd import Function
from mindtorch_v2.library import Library
from mindtorch_v2.overrides import TorchFunctionMode, stacks
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode
from tests.runtime.both import fresh_namespace


class Boom(Exception):  # noqa: N818  (a test's)
    """What user code raises here."""


def boom(*args: Any, **kwargs: Any) -> Any:
    raise Boom


def thread_state() -> Any:
    """All that a thread's code may change for the code around it."""
    return {
        "grad mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "keys": _core.thread_keys(),
        "function modes": list(stacks.function),
        "dispatch modes": list(stacks.dispatch),
        "torch functions": (stacks.subclasses_off, stacks.function_off),
        "autocast": [(torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in ("cpu", "npu")],
        "autocast cache": torch.is_autocast_cache_enabled(),
        "autocast nesting": (torch.autocast_increment_nesting(), torch.autocast_decrement_nesting())[0],
        "anomaly mode": _core.anomaly_mode(),
        "tracing": _C._get_tracing_state(),
        "default dtype": torch.get_default_dtype(),
    }


def leaf(*values: float) -> Any:
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def operator(schema: str = "(Tensor x) -> Tensor", **kernels: Callable[..., Any]) -> Any:
    """The overload of an operator whose library lives on with it."""
    lib = Library(fresh_namespace(), "FRAGMENT")
    lib.define(f"op{schema}")
    for key, kernel in kernels.items():
        lib.impl("op", kernel, key)
    op = getattr(torch.ops, lib.ns).op.default
    op.keeps = lib
    return op


def function(forward: Any = None, backward: Any = None, setup: Any = None) -> Any:
    methods: dict[str, Any] = {
        "forward": staticmethod(forward or (lambda ctx, x: x * 2)),
        "backward": staticmethod(backward or (lambda ctx, grad: grad * 2)),
    }
    if setup is not None:
        methods["setup_context"] = staticmethod(setup)
    return type("F", (Function,), methods).apply


# ---------------------------------------------------------------- where user code is called from


def in_forward() -> None:
    function(forward=boom)(leaf())


def in_setup_context() -> None:
    function(forward=lambda x: x * 2, setup=boom)(leaf())


def in_backward() -> None:
    function(backward=boom)(leaf()).sum().backward()


def in_backward_with_a_graph() -> None:
    x = leaf()
    torch.autograd.grad(function(backward=boom)(x).sum(), x, create_graph=True)


def in_a_function_that_marks_dirty() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        raise Boom

    function(forward=forward)(leaf() * 1)


def in_a_kernel() -> None:
    operator(CPU=boom)(leaf())


def in_a_kernel_called_by_a_kernel() -> None:
    inner = operator(CPU=boom)
    operator(CPU=lambda x: inner(x))(leaf())


def in_a_kernel_that_changed_modes() -> None:
    def kernel(x: Any) -> Any:
        with torch.enable_grad(), torch.autocast("cpu"):
            raise Boom

    operator(CPU=kernel)(leaf())


def in_an_operators_setup_context() -> None:
    op = operator(CPU=lambda x: x * 2)
    op.keeps.register_autograd("op", lambda ctx, grad: grad, setup_context=boom)
    op(leaf())
    if not torch.is_grad_enabled():
        raise Boom  # there setup_context is not called


def in_an_operators_backward() -> None:
    op = operator(CPU=lambda x: x * 2)
    op.keeps.register_autograd("op", boom)
    op(leaf()).sum().backward()


def in_a_composite() -> None:
    operator(CompositeImplicitAutograd=boom)(leaf())


def in_an_autograd_kernel() -> None:
    operator(CPU=lambda x: x, Autograd=boom)(leaf())


def below_a_guard() -> None:
    op = operator(CPU=boom)

    def above(x: Any) -> Any:
        with _C._AutoDispatchBelowAutograd():
            return op(x)

    op.keeps.impl("op", above, "Autograd")
    op(leaf())


def in_a_redispatched_kernel() -> None:
    op = operator(CPU=boom)
    op.keeps.impl(
        "op", lambda keys, x: op.redispatch(keys & _C._after_autograd_keyset, x), "Autograd", with_keyset=True
    )
    op(leaf())


def in_a_fallback() -> None:
    op = operator(CPU=lambda x: x * 2)
    everywhere = Library("_", "IMPL")
    everywhere.fallback(boom, "AutogradCPU")
    try:
        op(leaf())
    finally:
        everywhere._destroy()


def in_an_operators_fallback() -> None:
    op = operator()
    op.keeps.impl_fallback("op", boom, "CPU")
    op(leaf())


def in_a_fake_rule() -> None:
    op = operator()
    op.keeps.register_fake("op", boom)
    op(torch.empty(1, device="meta"))


def in_an_autocast_rule() -> None:
    op = operator(CPU=boom)
    torch.library.register_autocast(op.name(), "cpu", torch.float16, lib=op.keeps)
    with torch.autocast("cpu"):
        op(leaf())


def in_a_batching_rule() -> None:
    op = operator(CPU=lambda x: x)
    torch.library.register_vmap(op.name(), boom, lib=op.keeps)
    torch.vmap(op)(torch.ones(2, 2))


def in_a_tensor_hook() -> None:
    x = leaf()
    y = x * 2
    y.register_hook(boom)
    (y * x).sum().backward()


def in_a_leafs_hook() -> None:
    x = leaf()
    x.register_hook(boom)
    (x * 2).sum().backward()


def in_a_post_accumulate_hook() -> None:
    x = leaf()
    x.register_post_accumulate_grad_hook(boom)
    (x * 2).sum().backward()


def in_a_node_hook() -> None:
    y = leaf() * 2
    y.grad_fn.register_hook(boom)
    y.sum().backward()


def in_a_node_prehook() -> None:
    y = leaf() * 2
    y.grad_fn.register_prehook(boom)
    y.sum().backward()


def in_a_module_hook() -> None:
    module = torch.nn.Linear(2, 2)
    module.register_forward_hook(boom)
    module(torch.ones(1, 2))


def in_packing() -> None:
    with torch.autograd.graph.saved_tensors_hooks(boom, lambda t: t):
        leaf().sin()
    if not torch.is_grad_enabled():
        raise Boom  # there nothing is saved


def in_unpacking() -> None:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, boom):
        y = leaf().sin()
    y.sum().backward()


def in_a_reentrant_backward() -> None:
    inner = function(backward=boom)

    def backward(ctx: Any, grad: Any) -> Any:
        with torch.enable_grad():
            inner(leaf()).sum().backward()
        return grad

    function(backward=backward)(leaf()).sum().backward()


def in_anomaly_mode() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fail_in_anomaly_mode()


def fail_in_anomaly_mode() -> None:
    with torch.autograd.detect_anomaly():
        function(backward=boom)(leaf()).sum().backward()


def in_a_function_mode() -> None:
    class Mode(TorchFunctionMode):
        __torch_function__ = boom

    x = leaf()
    with Mode():
        torch.add(x, 1)


def in_a_dispatch_mode() -> None:
    class Mode(TorchDispatchMode):
        __torch_dispatch__ = boom

    x = leaf()
    with Mode():
        torch.add(x, 1)


def in_a_mode_that_calls_on() -> None:
    op = operator(CPU=boom)

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            with torch.no_grad():
                return func(*args)

    x = leaf()
    with Mode(), Mode():
        op(x)


def in_a_subclass() -> None:
    class Sub(torch.Tensor):
        __torch_function__ = classmethod(boom)

    torch.add(torch.Tensor._make_subclass(Sub, torch.ones(1)), 1)


def below_a_subclass() -> None:
    class Sub(torch.Tensor):
        pass

    operator(CPU=boom)(torch.Tensor._make_subclass(Sub, torch.ones(1)))


def in_a_wrapper() -> None:
    class Sub(torch.Tensor):
        __torch_function__ = _C._disabled_torch_function_impl
        __torch_dispatch__ = classmethod(boom)

    torch.add(torch.Tensor._make_wrapper_subclass(Sub, (1,), requires_grad=True), 1)


def in_vmap() -> None:
    torch.vmap(lambda x: boom(x * 2))(torch.ones(2))


def in_func_grad() -> None:
    torch.func.grad(lambda x: boom(x * 2))(torch.ones(2))


def in_func_jvp() -> None:
    torch.func.jvp(lambda x: boom(x * 2), (torch.ones(2),), (torch.ones(2),))


def in_tracing() -> None:
    torch.jit.trace(lambda x: boom(x * 2), torch.ones(2))


def in_guards() -> None:
    with (
        _C.ExcludeDispatchKeyGuard(_C.DispatchKeySet("AutogradCPU")),
        _C._IncludeDispatchKeyGuard("Batched"),
        _C.DisableTorchFunction(),
        _C._DisableTorchDispatch(),
        torch.inference_mode(),
        torch.set_grad_enabled(True),
        torch.autocast("cpu", dtype=torch.float16, cache_enabled=False),
        torch.autocast("npu"),
    ):
        raise Boom


def in_a_decorated_function() -> None:
    torch.no_grad()(torch.inference_mode()(torch.autocast("cpu")(boom)))()


def in_gradcheck() -> None:
    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda x: boom(x * 2), (x,))


def by_a_call_that_does_not_fit() -> None:
    operator(CPU=lambda x: x)("no tensor")


def by_a_missing_kernel() -> None:
    operator(CUDA=lambda x: x)(leaf())


def by_a_result_of_another_type() -> None:
    operator(CPU=lambda x: 3)(leaf())


def by_an_alias() -> None:
    op = operator(CPU=lambda x: x)
    op.refuses_aliases = True  # recorded or not, as a `custom_op`
    op(leaf())


def by_an_undeclared_change() -> None:
    operator(CPU=lambda x: x.add_(1).clone())(leaf())


def by_a_changed_leaf() -> None:
    operator("(Tensor(a!) x) -> Tensor(a!)", CPU=lambda x: x)(leaf())
    if not torch.is_grad_enabled():
        raise Boom  # there a leaf may be changed


def by_a_gradient_of_another_shape() -> None:
    function(backward=lambda ctx, grad: torch.ones(7))(leaf()).sum().backward()


KINDS = [value for name, value in list(globals().items()) if name.startswith(("in_", "by_", "below_"))]


@contextmanager
def a_mode() -> Iterator[None]:
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    with Mode():
        yield


AROUND: dict[str, Callable[[], Any]] = {
    "nothing": nullcontext,
    "no_grad": torch.no_grad,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.float16),
    "a mode": a_mode,
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_thread_is_as_it_was(kind: Callable[[], None], around: str) -> None:
    outside = thread_state()
    with ExitStack() as stack:
        stack.enter_context(AROUND[around]())
        before = thread_state()
        with pytest.raises((Boom, RuntimeError, TypeError, AttributeError)) as info:
            kind()
        if not kind.__name__.startswith("by_") and around != "no_grad":  # there some kinds find no graph
            assert isinstance(info.value, Boom)
        assert thread_state() == before
    assert thread_state() == outside


# ---------------------------------------------------------------- the graph


BACKWARD = [in_backward, in_a_tensor_hook, in_a_node_hook, in_a_node_prehook, in_unpacking, in_a_reentrant_backward]


@pytest.mark.parametrize("kind", BACKWARD, ids=lambda kind: kind.__name__)
def test_another_graph_runs_afterwards(kind: Callable[[], None]) -> None:
    x = leaf()
    y = (x * x).sin()
    with pytest.raises(Boom):
        kind()
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx((2 * x.detach() * (x.detach() * x.detach()).cos()).tolist())


def test_the_same_graph_runs_again_where_nothing_was_freed() -> None:
    """A failure in the middle of a pass with retain_graph leaves the graph to be run again, from the beginning."""
    x, fails = leaf(), [True]

    def sometimes(grad: Any) -> None:
        if fails:
            raise Boom

    a = x * 3
    b = a.sin()
    b.register_hook(sometimes)
    loss = (b * a).sum()
    with pytest.raises(Boom):
        loss.backward(retain_graph=True)
    assert x.grad is None
    fails.clear()
    loss.backward()
    z = leaf()
    ((z * 3).sin() * (z * 3)).sum().backward()
    assert x.grad.tolist() == pytest.approx(z.grad.tolist())


def test_a_failed_in_place_operator_keeps_version_and_history() -> None:
    op = operator("(Tensor(a!) x) -> Tensor(a!)", CPU=boom)
    x = leaf() * 2
    node, version = x.grad_fn, x._version
    with pytest.raises(Boom):
        op(x)
    assert (x.grad_fn, x._version) == (node, version)


def test_a_failed_forward_records_nothing() -> None:
    x = leaf()
    for kind in (lambda: function(forward=boom)(x), lambda: operator(CPU=boom)(x)):
        with pytest.raises(Boom):
            kind()
    assert x.is_leaf
    x.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
