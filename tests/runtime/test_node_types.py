"""``type(t.grad_fn)``: a class for each operator's nodes, with PyTorch's names, that costs its nodes nothing."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import mindtorch_v2
from tests.ops.node_names import assert_same_name, name_of
from tests.runtime.both import agree, fresh_namespace

# Over x and y (3×4), a vector v (4), matrices m (4×4), batches b (2×3×4) and an index i, all of which require grad.
CALLS = """
x + y; x + 2; 2 + x; x - y; x - 2; 2 - x; x * y; x * 2; x / y; x / 2; 2 / x; x ** 2; x ** y; 2 ** x; x % 2; x % y
-x; abs(x); t.add(x, 1, alpha=2); t.sub(x, y, alpha=2); t.rsub(x, 1); t.div(x, y, rounding_mode="floor")
t.div(x, 2, rounding_mode="trunc"); x.fmod(2); x.fmod(y); x.remainder(y); t.maximum(x, y); t.minimum(x, y)
t.atan2(x, y); t.lerp(x, y, 0.5); t.lerp(x, y, y); x @ m; t.mm(x, m); t.bmm(b, b.mT); t.addmm(m, m, m)
t.outer(v, v); F.linear(x, m); F.linear(x, m, v); x.sum(); x.sum(0); x.sum([0, 1]); x.mean(); x.mean(1); x.max()
x.max(1)[0]; x.min(); x.min(1)[0]; x.amax(1); x.amin(0); x.prod(); x.prod(1); x.exp(); x.log(); x.log2(); x.log10()
x.log1p(); x.expm1(); x.sqrt(); x.rsqrt(); t.square(x); x.pow(3); x.sin(); x.cos(); x.tan(); x.asin(); x.acos()
x.atan(); x.sinh(); x.cosh(); x.tanh(); x.erf(); x.floor(); x.ceil(); x.round(); x.trunc(); x.sign(); x.reciprocal()
x.sigmoid(); x.relu(); F.gelu(x); F.silu(x); F.softmax(x, 1); F.log_softmax(x, 1); F.l1_loss(x, y)
F.cross_entropy(x, t.tensor([0, 1, 2])); F.embedding(i, x); x.view(-1); x.view_as(y); x.reshape(-1); x.flatten()
b.flatten(1); x.t(); x.T; x.mT; x.transpose(0, 1); x.permute(1, 0); x.movedim(0, 1); x.expand(2, 3, 4)
x.expand_as(b); x.squeeze(); x.squeeze(0); x.squeeze((0, 1)); x.unsqueeze(0); x[None]; x[0]; x[:2]; x[:, 1]
x[..., 1]; x[i]; x[x > 0]; x[0, 1:3]; x.select(0, 1); x.narrow(0, 0, 1); x.as_strided((2,), (1,)); x.split(2)[0]
x.split([1, 2])[0]; x.chunk(2)[0]; x.unbind()[0]; t.cat([x, y]); t.stack([x, y]); x.repeat(2, 2); x.clone()
x.contiguous(); x.t().contiguous(); x.to(t.float64); x.double(); x.type_as(t.ones(1, dtype=t.float64))
t.where(x > 0, x, y); t.where(x > 0, x, 2.0); t.clamp(x, 0, 1); x.clamp(min=0); x.clamp_max(y)
x.masked_fill(x > 0, 1.0); x.masked_fill(x > 0, y.sum()); x.gather(0, t.tensor([[0]])); x.index_select(0, i)
x.scatter_add(0, t.tensor([[0]]), y); t.addcmul(x, x, y); t.addcdiv(x, x, y); x.detach(); x.logical_not()
x.clone().add_(1); x.clone().sub_(y); x.clone().div_(2); x.clone().zero_(); x.clone().fill_(1)
x.clone().fill_(y.sum()); x.clone().copy_(y); x.clone().relu_(); x.clone().masked_fill_(x > 0, 0.0)
x.clone().mul_(y); x.clone().pow_(2); v @ v; m @ v; b @ m; x.std(); x.var(1); x.norm(); F.leaky_relu(x)
F.mse_loss(x, y); t.rsub(x, y); t.baddbmm(b @ b.mT, b, b.mT)
""".replace("\n", ";").split(";")  # fmt: skip


def arguments(t: Any) -> dict[str, Any]:
    made = {"x": t.ones(3, 4), "y": t.ones(3, 4), "v": t.ones(4), "m": t.ones(4, 4), "b": t.ones(2, 3, 4)}
    return {name: value.requires_grad_() for name, value in made.items()} | {
        "i": t.tensor([0, 1]), "F": t.nn.functional, "t": t,
    }  # fmt: skip


@pytest.mark.parametrize("call", [call.strip() for call in CALLS if call])
def test_an_operators_nodes_have_pytorchs_name(call: str) -> None:
    theirs, ours = (eval(call, arguments(t)) for t in (torch, mindtorch_v2))
    assert_same_name(ours, theirs)
    if name_of(ours) is not None:
        node = ours.grad_fn
        assert (node.name(), repr(node)) == (name_of(ours), f"<{name_of(ours)} object at {id(node):#x}>")


def around_nodes(t: Any) -> tuple[Any, ...]:
    """A node of each kind: of an operator, a leaf, a view whose base was changed, the base, a Function."""
    x = t.ones(3, requires_grad=True)
    y = x * 2
    view = y[:2]
    view.mul_(3)

    class Twice(t.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    return (x * 2).grad_fn, (x * 2).grad_fn.next_functions[0][0], view.grad_fn, y.grad_fn, Twice.apply(x).grad_fn


def test_what_a_class_says_of_itself_is_pytorchs() -> None:
    def facts(node: Any) -> Any:
        cls = type(node)
        return cls.__name__, cls.__qualname__, cls.__module__, repr(cls), node.name(), repr(node).split(" at ")[0]

    agree(lambda t: [facts(n) for n in around_nodes(t)])
    agree(lambda t: [isinstance(n, t.autograd.graph.Node) for n in around_nodes(t)])
    agree(lambda t: [type(n) is type(m) for n, m in zip(around_nodes(t), around_nodes(t), strict=True)])


@pytest.mark.parametrize("does", [pickle.dumps, copy.copy, copy.deepcopy])
def test_nodes_are_not_copied(does: Any) -> None:
    for node in around_nodes(mindtorch_v2):
        with pytest.raises(TypeError, match=f"^cannot pickle '{type(node).__name__}' object$"):
            does(node)


def test_only_calls_make_nodes_of_operators() -> None:
    agree(lambda t: type(around_nodes(t)[0])(), quoted="cannot create 'MulBackward0' instances")
    agree(
        lambda t: type("Mine", (type(around_nodes(t)[0]),), {}), quoted="'MulBackward0' is not an acceptable base type"
    )


def test_calls_recorded_either_way_have_the_name() -> None:
    x = mindtorch_v2.ones(3, requires_grad=True)
    with mindtorch_v2.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        hooked = x * x
    assert name_of(hooked) == name_of(x * x) == "MulBackward0"


def test_a_librarys_operators_keep_their_names() -> None:
    lib = mindtorch_v2.library.Library(fresh_namespace(), "DEF")
    lib.define("scaled_add(Tensor x) -> Tensor")
    lib.impl("scaled_add", lambda x: x * 2, "CPU")
    y = getattr(mindtorch_v2.ops, lib.ns).scaled_add(mindtorch_v2.ones(3, requires_grad=True))
    assert name_of(y) == y.grad_fn.name() == "ScaledAddBackward0"


def test_the_class_of_a_function() -> None:
    def facts(t: Any) -> Any:
        seen = SimpleNamespace()

        class Own(t.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                seen.context = ctx
                return x * 2

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * 2

        class Further(Own):
            pass

        y, z = Own.apply(t.ones(2, requires_grad=True)), Further.apply(t.ones(2, requires_grad=True))
        Own.apply(t.ones(2))
        return [
            type(y.grad_fn) is Own._backward_cls, type(seen.context) is Own._backward_cls,
            Own._backward_cls._forward_cls is Own, type(Own._backward_cls(t.ones(2), x=3)) is Own._backward_cls,
            Own._backward_cls().name(),
            type(z.grad_fn).__name__, type(Own).__name__, isinstance(Own, t.autograd.function.FunctionMeta),
            isinstance(y.grad_fn, t.autograd.function.FunctionCtx),
        ]  # fmt: skip

    agree(facts)


def test_a_function_goes_with_the_last_of_its_nodes() -> None:
    def record() -> tuple[Any, Any]:
        class Passing(mindtorch_v2.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * 2

        return Passing.apply(mindtorch_v2.ones(2, requires_grad=True)), weakref.ref(Passing._backward_cls)

    y, cls = record()
    gc.collect()
    assert cls() is type(y.grad_fn)
    y.sum().backward()
    del y
    gc.collect()
    assert cls() is None


def test_a_function_that_keeps_its_node_is_collected() -> None:
    def record() -> Any:
        class Keeping(mindtorch_v2.autograd.Function):
            kept: Any = None

            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                Keeping.kept = ctx
                return x * 2

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * 2

        Keeping.apply(mindtorch_v2.ones(2, requires_grad=True))
        return weakref.ref(Keeping)

    cls = record()
    gc.collect()
    assert cls() is None


def test_references_to_a_functions_class_are_balanced() -> None:
    class Twice(mindtorch_v2.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    x = mindtorch_v2.ones(2, requires_grad=True)
    before = sys.getrefcount(Twice._backward_cls)
    y = x
    for _ in range(50_000):  # so deep that nodes are freed by the trashcan
        y = Twice.apply(y)
    with_nodes = sys.getrefcount(Twice._backward_cls)
    del y
    after = sys.getrefcount(Twice._backward_cls)
    assert (with_nodes, after) == (before + 50_000, before)


def test_the_class_of_a_functions_nodes_cannot_be_another() -> None:
    class Twice(mindtorch_v2.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    for other in (int, 3, mindtorch_v2.autograd.function.FunctionCtx):
        Twice._backward_cls = other  # type: ignore[assignment]
        with pytest.raises(TypeError, match=r"_backward_cls of an .*Function is made with the Function"):
            Twice.apply(mindtorch_v2.ones(2))


def test_what_counts_as_a_node() -> None:
    def case(t: Any) -> Any:
        functions, node = t._C._functions, t.autograd.graph.Node
        classes = functions.AccumulateGrad, functions.DelayedError, t.autograd.function.BackwardCFunction, node
        return [
            [issubclass(cls, node) for cls in classes],
            [isinstance(value, node) for value in (None, 1, node, functions.AccumulateGrad)],
            [node in type(n).mro() for n in around_nodes(t)],
        ]

    agree(case)


def test_numbers_of_nodes() -> None:
    def case(t: Any) -> Any:
        x = t.ones(2, requires_grad=True)
        order: list[str] = []
        first, second = x.sin(), x.cos()
        first.register_hook(lambda grad: order.append("sin"))
        second.register_hook(lambda grad: order.append("cos"))
        result = first + second
        result.grad_fn._set_sequence_nr(100)
        first.grad_fn._set_sequence_nr(99)
        second.grad_fn._set_sequence_nr(98)
        result.sum().backward()
        return order, first.grad_fn._sequence_nr()

    agree(case)
    of_a_leaf = mindtorch_v2.ones(2, requires_grad=True).exp().grad_fn.next_functions[0][0]
    with pytest.raises(RuntimeError, match="AccumulateGrad"):
        of_a_leaf._set_sequence_nr(1)
    with pytest.raises(RuntimeError, match="AccumulateGrad"):  # whose number tells the engine what it is
        mindtorch_v2.ones(2, requires_grad=True).exp().grad_fn._set_sequence_nr(2**64 - 1)
