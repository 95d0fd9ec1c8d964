"""Transforms looked into: how their tensors print, levels, and operators that have a rule for each transform."""

from __future__ import annotations

from typing import Any

import pytest
import torch as pytorch

import mindtorch_v2 as ours

BOTH = pytest.mark.parametrize("torch", [ours, pytorch], ids=["ours", "pytorch"])


def summing(torch: Any, name: str) -> Any:
    """``op(x, dim)`` sums, by rules for `vmap` and `grad`."""
    inner = torch._C._functorch

    class Sum(torch._ops.HigherOrderOperator):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__(name)

        def __call__(self, x: Any, dim: int) -> Any:
            return super().__call__(x, dim)

    op = Sum()

    @op.py_impl(inner.TransformType.Vmap)  # type: ignore[misc]
    def _(interpreter: Any, x: Any, dim: int) -> Any:
        if not inner.is_batchedtensor(x):
            with interpreter.lower():
                return op(x, dim)
        value, at = inner.get_unwrapped(x), inner.maybe_get_bdim(x)
        with interpreter.lower():
            result = op(value.movedim(at, 0), dim + 1)
        return inner._add_batch_dim(result, 0, interpreter.level())

    @op.py_impl(inner.TransformType.Grad)  # type: ignore[misc]
    def _(interpreter: Any, x: Any, dim: int) -> Any:
        level = interpreter.level()

        class Applied(torch.autograd.function._SingleLevelFunction):  # type: ignore[misc,name-defined]
            @staticmethod
            def forward(ctx: Any, x: Any, dim: int) -> Any:
                ctx.shape, ctx.dim = x.shape, dim
                value = inner._unwrap_for_grad(x, level)
                with torch.enable_grad(), interpreter.lower():
                    result = op(value, dim)
                return inner._wrap_for_grad(result, level)

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return 3 * grad.unsqueeze(ctx.dim).expand(ctx.shape), None  # so that it is seen to be this one

        enable = __import__(f"{torch.__name__}._functorch.utils", fromlist=["utils"])
        with enable.enable_single_level_autograd_function():
            return Applied.apply(x, dim)

    @op.py_impl(torch._C.DispatchKey.AutogradCPU)  # type: ignore[misc]
    def _(x: Any, dim: int) -> Any:
        return torch.sum(x, dim)

    return op


@pytest.mark.parametrize(
    "run",
    [
        lambda t, op, x: op(x, 0),
        lambda t, op, x: t.func.vmap(op, (0, None))(x, 0),
        lambda t, op, x: t.func.vmap(t.func.vmap(lambda v: op(x[0], 0) * v))(x),
        lambda t, op, x: t.func.grad(lambda v: op(v.sin(), 0))(x[0]),
        lambda t, op, x: t.func.vmap(t.func.grad(lambda v: op(v * v, 0)))(x),
        lambda t, op, x: t.func.grad(lambda v: t.func.vmap(op, (0, None))(v * v, 0).sum())(x),
        lambda t, op, x: t.func.grad(lambda v: t.func.grad(lambda w: op(w.sin(), 0))(v).sum())(x[0]),
    ],
    ids=["plain", "vmap", "captured", "grad", "vmap of grad", "grad of vmap", "grad of grad"],
)
def test_an_operator_with_rules_for_transforms(run: Any, request: pytest.FixtureRequest) -> None:
    found = []
    for torch in (ours, pytorch):
        op = summing(torch, "sum_of_" + request.node.callspec.id.replace(" ", "_"))
        found.append(run(torch, op, torch.arange(6.0).reshape(2, 3)).tolist())
    assert found[0] == pytest.approx(found[1]) if found[0] and isinstance(found[0][0], float) else found[0] == found[1]


@BOTH
def test_what_no_rule_was_registered_for(torch: Any) -> None:
    class Nothing(torch._ops.HigherOrderOperator):  # type: ignore[misc,name-defined]
        def __call__(self, *args: Any) -> Any:
            return super().__call__(*args)

    op = Nothing("of_nothing")
    assert str(op) == op.name() == "of_nothing"
    assert torch.ops.higher_order.of_nothing is op
    with pytest.raises(NotImplementedError, match="could not find kernel for HigherOrderOperator of_nothing"):
        op(torch.ones(1))
    op.py_impl(torch._C.DispatchKey.CPU)(lambda x: x + 1)
    with pytest.raises(RuntimeError, match="Trying to override a python impl"):
        op.py_impl(torch._C.DispatchKey.CPU)(lambda x: x + 2)
    with pytest.raises(NotImplementedError, match="AutogradCPU"):
        op(torch.ones(1))
    op.fallthrough(torch._C.DispatchKey.AutogradCPU)
    assert op(torch.ones(1)).tolist() == [2]

    class Mode(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc,name-defined]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    with Mode(), pytest.raises(NotImplementedError):
        op(torch.ones(1))
    op.py_impl(Mode)(lambda mode, x: x * 5)
    with Mode():
        assert op(torch.ones(1)).tolist() == [5]
    with pytest.raises(TypeError, match="abstract"):
        torch._ops.HigherOrderOperator("base")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what PyTorch's forward mode scripts as it is first used
def test_how_tensors_of_transforms_print() -> None:
    def shown(torch: Any) -> list[str]:
        texts: list[str] = []

        def note(x: Any) -> Any:
            texts.extend(map(repr, (x, x * 2, torch.ones(2))))
            return x.sum()

        func = torch.func
        func.grad(note)(torch.ones(2))
        func.vmap(note)(torch.ones(2, 2))
        func.grad(lambda v: func.grad(note)(v).sum())(torch.ones(2))
        func.vmap(func.grad(note))(torch.ones(2, 2))
        func.grad(lambda v: func.vmap(note)(v).sum())(torch.ones(2, 2))
        func.jvp(note, (torch.ones(2),), (torch.ones(2),))
        outside = torch.ones(2)
        func.grad(lambda v: texts.append(repr(outside)) or v)(torch.tensor(1.0))
        kept: list[Any] = []
        func.grad(lambda v: kept.append(v.sin()) or v)(torch.tensor(1.0))
        return [*texts, repr(kept[0]).replace("requires_grad=True", "")]

    mine, theirs = shown(ours), shown(pytorch)
    for at, (own, other) in enumerate(zip(mine, theirs, strict=True)):
        assert own == other, at


@BOTH
def test_levels(torch: Any) -> None:
    inner, kept = torch._C._functorch, []

    def f(x: Any) -> Any:
        kept.append(x.sin())
        assert inner.dlevel(x) == inner.maybe_get_level(x) == 1
        assert inner.is_gradtrackingtensor(x)
        assert inner.is_functorch_wrapped_tensor(x)
        return x.sin()

    torch.func.grad(f)(torch.tensor(1.0))
    assert (inner.dlevel(kept[0]), inner.maybe_get_level(kept[0])) == (-1, -2)
    assert inner.dlevel(kept[0].sum()) == 0
    assert inner.maybe_get_level(torch.ones(1)) == inner.maybe_get_bdim(torch.ones(1)) == -1
    with pytest.raises(RuntimeError, match="No wrappers present"):
        inner.get_unwrapped(torch.ones(1))


@BOTH
def test_a_dual_tensor_of_samples_is_refused(torch: Any) -> None:
    dual = torch.autograd.forward_ad
    with dual.dual_level(), pytest.raises(RuntimeError, match="Batching rule not implemented for aten::_make_dual"):
        torch.func.vmap(lambda x: dual.make_dual(x, x))(torch.ones(2))


@BOTH
def test_a_context_with_other_saved_tensors(torch: Any) -> None:
    wrapper = __import__(f"{torch.__name__}._functorch.autograd_function", fromlist=["x"]).CtxWithSavedTensors

    class Wrapped(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            other = wrapper(ctx, (1, 2))
            assert other.saved_tensors == (1, 2)
            assert wrapper(other, (3,)).saved_tensors == (3,)
            assert other.needs_input_grad == ctx.needs_input_grad
            other.noted = "it"
            assert ctx.noted == "it"
            ctx._pt_inner_ctx = 1
            with pytest.raises(RuntimeError, match="name collision"):
                wrapper(ctx, ())
            return grad * ctx.saved_tensors[0]

    x = torch.tensor(5.0, requires_grad=True)
    Wrapped.apply(x).backward()
    assert x.grad == 5


@pytest.mark.parametrize(
    ("size", "grad_dim", "dim", "shape"),
    [
        ([2, 3, 4], 0, None, None),
        ([3, 2, 4], 1, None, (3,)),
        ([3, 4], None, 1, None),
        ([3, 4], None, 1, (4,)),
        ([2, 3, 4], 0, 1, None),
        ([3, 4, 5, 2], 3, 0, (5,)),
        ([3, 4, 2], 2, 0, (3, 1)),
    ],
)
def test_a_gradient_for_the_samples_that_there_are(size: Any, grad_dim: Any, dim: Any, shape: Any) -> None:
    def found(torch: Any) -> Any:
        reduce = __import__(f"{torch.__name__}._functorch.autograd_function", fromlist=["x"]).reductify_leaf
        values = torch.arange(float(pytorch.Size(size).numel())).reshape(size)
        assert reduce(None, None, 0, 2) is None
        return reduce(values, grad_dim, dim, 2, shape).tolist()

    assert found(ours) == found(pytorch)


@BOTH
def test_vmap_where_its_key_is_excluded(torch: Any) -> None:
    inner = torch._C
    key = inner.DispatchKey.FuncTorchBatched
    with inner._ExcludeDispatchKeyGuard(inner.DispatchKeySet(key)):
        assert torch.func.vmap(lambda x: x.sum(0))(torch.arange(6.0).reshape(2, 3)).tolist() == [3, 12]
        assert inner._dispatch_tls_local_exclude_set().has(key)
    assert not inner._dispatch_tls_local_exclude_set().has(key)
