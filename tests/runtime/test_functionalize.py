"""``torch.func.functionalize`` beside PyTorch's, on written and on random programs of views and changes in place."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch as pytorch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.fx.experimental.proxy_tensor import make_fx

import mindtorch_v2 as torch
from tests.runtime.both import agree, fresh_namespace

REMOVES = ("mutations", "mutations_and_views")


# ---------------------------------------------------------------- programs: the same code under both libraries


def slice_of(library: Any, x: Any) -> Any:
    y = x + 1
    y[0].add_(2)
    return y * 2


def views_of_views(library: Any, x: Any) -> Any:
    y = x * 2
    row = y.view(-1)[1:4].view(3, 1)
    row.mul_(y[0, 0].clone())
    y.t()[1].neg_()
    return row, y, y.unsqueeze(0).transpose(0, 2).squeeze(1)


def input_changed(library: Any, x: Any) -> Any:
    before = x.clone()
    x.add_(1)
    x[1].fill_(7)
    return before + x


def input_changed_through_a_view(library: Any, x: Any) -> Any:
    flat = x.view(-1)
    flat[::2].zero_()
    x.mul_(3)
    return flat + 1


def factory(library: Any, x: Any) -> Any:
    out = library.zeros(2, 3)
    for i in range(2):
        out[i].copy_(x[i] * i)
    out[:, 1] = 5
    return out


def parts(library: Any, x: Any) -> Any:
    y = x.clone()
    first, second = y.split([1, 2], 1)
    first.add_(10)
    for row in y.unbind(0):
        row.sub_(1)
    second.chunk(2, 1)[1].zero_()
    y.permute(1, 0).movedim(0, 1)[1].mul_(2)
    return y, first, second


def strided(library: Any, x: Any) -> Any:
    y = x + 0
    y.as_strided((2, 2), (3, 1), 1).add_(100)
    return y


def other_dtypes(library: Any, x: Any) -> Any:
    y = x.to(library.float16)
    y.add_(x)
    n = library.arange(3)
    n.mul_(2)
    return y, n


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    f.__name__: f
    for f in (
        slice_of,
        views_of_views,
        input_changed,
        input_changed_through_a_view,
        factory,
        parts,
        strided,
        other_dtypes,
    )
}


def start(library: Any) -> Any:
    return library.arange(6, dtype=library.float32).view(2, 3)


@pytest.mark.parametrize("remove", REMOVES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_the_function(name: str, remove: str) -> None:
    def case(library: Any) -> Any:
        x = start(library)
        return library.func.functionalize(lambda x: PROGRAMS[name](library, x), remove=remove)(x), x

    agree(case)
    eager = start(torch)
    functional = start(torch)
    expected = PROGRAMS[name](torch, eager)
    found = torch.func.functionalize(lambda x: PROGRAMS[name](torch, x), remove=remove)(functional)
    assert same(found, expected)
    assert same(functional, eager)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return a.dtype is b.dtype and a.shape == b.shape and bool(a.tolist() == b.tolist())


def names(function: Callable[[Any], Any], remove: str = "mutations") -> list[str]:
    traced = torch.jit.trace(torch.func.functionalize(function, remove=remove), start(torch), check_trace=False)
    assert all(is_functional(node) for node in traced.graph.nodes() if not writes_an_input(traced.graph, node))
    return [name.removeprefix("aten::") for name, _ in traced.graph.operators()]


def is_functional(node: Any) -> bool:
    return node.op is None or not node.op._schema.is_mutable


def writes_an_input(graph: Any, node: Any) -> bool:
    return node.kind() == "aten::copy_" and next(node.inputs()) in list(graph.inputs())


@pytest.mark.parametrize("remove", REMOVES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_trace_holds_no_change_in_place(name: str, remove: str) -> None:
    found = names(lambda x: PROGRAMS[name](torch, x), remove)
    if remove == "mutations_and_views":
        assert not {"view", "select", "slice", "t", "permute", "unsqueeze", "as_strided", "split"} & set(found)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x + 1).add_(2) * 3,
        lambda x: x.exp().t().mul_(2),
        lambda x: x.clone().view(-1).exp_().sum(),
        lambda x: x.add_(1),
    ],
)
def test_operators_are_those_of_pytorch(function: Callable[[Any], Any]) -> None:
    theirs = make_fx(pytorch.func.functionalize(function))(start(pytorch))
    calls = iter([str(node.target).split(".")[1] for node in theirs.graph.nodes if node.op == "call_function"])
    assert all(name in calls for name in names(function))  # in this order; PyTorch makes views anew that nothing reads


# ---------------------------------------------------------------- random programs


VIEWS = ("flatten", "t", "transpose", "select", "slice", "unsqueeze", "reshape")


@st.composite
def programs(draw: Any, *, cut: bool = True) -> list[tuple[Any, ...]]:
    """Steps over a growing pool of tensors, whose shapes are those of views of one 2 x 3 x 2 tensor.

    Without ``cut`` there are none through which PyTorch's gradients do not flow, or that it refuses with gradients.
    """
    shapes: list[tuple[int, ...]] = [(2, 3, 2)]
    steps: list[tuple[Any, ...]] = []
    for _ in range(draw(st.integers(2, 9))):
        at = draw(st.integers(0, len(shapes) - 1))
        shape = shapes[at]
        rank = len(shape)
        kind = draw(st.sampled_from(("write", "write", "view", "compute", "write_from")))
        if kind == "write":
            name, value = draw(
                st.sampled_from((("add_", 3.0), ("mul_", -2.0), ("fill_", 5.0), ("zero_", None), ("neg_", None)))
            )
            steps.append(("write", at, name, value))
            continue
        if kind == "write_from":
            fitting = [i for i, other in enumerate(shapes) if other == shape]
            steps.append(
                ("write_from", at, draw(st.sampled_from(("copy_", "add_", "sub_"))), draw(st.sampled_from(fitting)))
            )
            continue
        if kind == "compute":
            steps.append(("compute", at, draw(st.sampled_from(("clone", "neg", *(("abs",) if cut else ()))))))
            shapes.append(shape)
            continue
        view = draw(st.sampled_from((*VIEWS, *(("split", "detach") if cut else ()))))
        dim = draw(st.integers(0, max(rank - 1, 0)))
        if view == "flatten":
            steps.append(("view", at, "reshape", (-1,)))
            shapes.append((numel(shape),))
        elif view == "reshape" and numel(shape) % 2 == 0:
            steps.append(("view", at, "reshape", (2, -1)))
            shapes.append((2, numel(shape) // 2))
        elif view == "t" and rank == 2:
            steps.append(("view", at, "t", None))
            shapes.append(shape[::-1])
        elif view == "transpose" and rank:
            steps.append(("view", at, "transpose", (0, dim)))
            shapes.append(swapped(shape, dim))
        elif view == "select" and rank and shape[dim]:
            steps.append(("view", at, "select", (dim, draw(st.integers(-shape[dim], shape[dim] - 1)))))
            shapes.append((*shape[:dim], *shape[dim + 1 :]))
        elif view == "slice" and rank and shape[dim] > 1:
            begin = draw(st.integers(0, shape[dim] - 1))
            steps.append(("narrow", at, dim, begin))
            shapes.append((*shape[:dim], shape[dim] - begin, *shape[dim + 1 :]))
        elif view == "split" and rank and shape[dim] > 1:
            steps.append(("split", at, dim, draw(st.integers(0, 1))))
            half = -(-shape[dim] // 2)
            part = (half, shape[dim] - half)[steps[-1][3]]
            shapes.append((*shape[:dim], part, *shape[dim + 1 :]))
        elif view == "detach":
            steps.append(("view", at, "detach", None))
            shapes.append(shape)
        else:
            steps.append(("view", at, "unsqueeze", (dim,)))
            shapes.append((*shape[:dim], 1, *shape[dim:]))
    return steps


def numel(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def swapped(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    sizes = list(shape)
    sizes[0], sizes[dim] = sizes[dim], sizes[0]
    return tuple(sizes)


def run(steps: list[tuple[Any, ...]], x: Any, *, writable: bool = True) -> list[Any]:
    """The pool after the program; without ``writable`` it starts from a copy of x and computes on."""
    pool = [x if writable else x * 1]
    for what, at, *how in steps:
        tensor = pool[at]
        if what == "write":
            getattr(tensor, how[0])(*(() if how[1] is None else (how[1],)))
        elif what == "write_from":
            getattr(tensor, how[0])(pool[how[1]].clone())
        elif what == "compute":
            pool.append(getattr(tensor, how[0])())
        elif what == "narrow":
            pool.append(tensor.narrow(how[0], how[1], tensor.shape[how[0]] - how[1]))
        elif what == "split":
            pool.append(tensor.split(-(-tensor.shape[how[0]] // 2), how[0])[how[1]])
        else:
            pool.append(getattr(tensor, how[0])(*(() if how[1] is None else how[1])))
    return pool


def values(library: Any) -> Any:
    return library.arange(12, dtype=library.float64).view(2, 3, 2)


@settings(max_examples=150, deadline=None)
@given(programs(), st.sampled_from(REMOVES))
def test_random_programs(steps: list[tuple[Any, ...]], remove: str) -> None:
    theirs = values(pytorch)
    expected = [t.tolist() for t in run(steps, theirs)]
    eager = values(torch)
    assert [t.tolist() for t in run(steps, eager)] == expected
    x = values(torch)
    functional = torch.func.functionalize(lambda x: run(steps, x), remove=remove)
    assert [t.tolist() for t in functional(x)] == expected
    assert x.tolist() == eager.tolist() == theirs.tolist()
    y = values(torch)
    traced = torch.jit.trace(functional, y, check_trace=False)
    assert all(is_functional(node) or writes_an_input(traced.graph, node) for node in traced.graph.nodes())
    again = values(torch)
    assert [t.tolist() for t in traced(again)] == expected
    assert again.tolist() == eager.tolist()


@settings(max_examples=60, deadline=None)
@given(programs(cut=False), st.sampled_from(REMOVES))
def test_gradients_of_random_programs(steps: list[tuple[Any, ...]], remove: str) -> None:
    def gradient(library: Any, change: Callable[[Any], Any]) -> Any:
        x = values(library).requires_grad_()
        outputs = change(lambda x: run(steps, x, writable=False))(x)
        return library.autograd.grad(sum((t * t).sum() for t in outputs), x)[0].tolist()

    expected = gradient(pytorch, lambda f: f)
    assert gradient(torch, lambda f: torch.func.functionalize(f, remove=remove)) == expected
    inside = torch.func.functionalize(
        torch.func.grad(lambda x: sum((t * t).sum() for t in run(steps, x, writable=False)))
    )
    assert inside(values(torch)).tolist() == expected


# ---------------------------------------------------------------- gradients, levels, operators of users


def test_gradients_inside_and_outside() -> None:
    def loss(x: Any) -> Any:
        y = x * 2
        y[1:].mul_(x[1:])
        return y.exp_().sum()

    def case(library: Any) -> Any:
        func = library.func
        x = library.full((3,), 0.5, requires_grad=True)
        func.functionalize(loss)(x).backward()
        inside = func.functionalize(func.grad(loss))(library.full((3,), 0.5))
        outside = func.grad(func.functionalize(loss))(library.full((3,), 0.5))
        return x.grad, inside, outside

    agree(case)


@pytest.mark.parametrize("remove", REMOVES)
def test_a_reshape_that_copies_is_no_view(remove: str) -> None:  # PyTorch changes x with "mutations_and_views"
    x = start(torch)
    found = torch.func.functionalize(lambda x: x.reshape(3, 2).t().reshape(-1).add_(1), remove=remove)(x)
    assert found.tolist() == [1, 3, 5, 2, 4, 6]
    assert x.tolist() == start(torch).tolist()


def test_a_function_keeps_its_own_backward() -> None:  # PyTorch: not implemented yet
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, factor: float) -> Any:
            return x * factor

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 7, None

    def function(x: Any) -> Any:
        y = x * 1
        y.add_(1)
        return Scale.apply(y, 2.0).sum()

    x = torch.ones(2, requires_grad=True)
    total = torch.func.functionalize(function)(x)
    total.backward()
    assert (total.item(), x.grad.tolist()) == (8, [7, 7])
    assert torch.func.functionalize(torch.func.grad(function))(torch.ones(2)).tolist() == [7, 7]


def test_a_function_that_changes_its_argument() -> None:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x.mul_(2)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_dirty(inputs[0])

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    function = torch.func.functionalize(lambda x: Twice.apply(x * 1))
    assert function(torch.ones(2)).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="Twice changes an argument in place"):
        function(torch.ones(2, requires_grad=True))


def test_gradients_of_gradients_inside() -> None:
    def case(library: Any) -> Any:
        grad = library.func.grad
        twice = grad(lambda x: grad(lambda z: (z.exp() * z.mul(2).add_(z)).sum())(x).sum())
        return library.func.functionalize(twice)(library.ones(2))

    agree(case)


def test_wrappers_are_freed_without_the_collector() -> None:
    seen = []

    def function(x: Any) -> Any:
        y = x * 2
        row = y[0]
        row.add_(1)
        seen.extend((weakref.ref(row), weakref.ref(y)))
        return y

    gc.disable()
    try:
        torch.func.functionalize(function)(torch.ones(2, 2))
        assert [ref() for ref in seen] == [None, None]
    finally:
        gc.enable()


def test_a_level_inside_a_level() -> None:
    inner = torch.func.functionalize(lambda x: x.add_(1).mul_(2))
    x = torch.ones(2)
    assert torch.func.functionalize(lambda x: inner(x) + x.add_(5))(x).tolist() == [13, 13]
    assert x.tolist() == [9, 9]


def test_npu_tensors() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        y[0].add_(1)
        x.zero_()
        return y

    x = torch.ones(2, 2, device="npu")
    found = torch.func.functionalize(function)(x)
    assert (found.device.type, found.tolist(), x.tolist()) == ("npu", [[3, 3], [2, 2]], [[0, 0]] * 2)


def test_forward_mode_through_it() -> None:
    f = torch.func.functionalize(lambda x: (x * 2).mul_(x))
    value, tangent = torch.func.jvp(f, (torch.ones(2),), (torch.ones(2),))
    assert (value.tolist(), tangent.tolist()) == ([2, 2], [4, 4])


def test_vmap_around() -> None:
    def row(x: Any) -> Any:
        y = x.clone()
        y[0].add_(1)
        return y

    x = torch.arange(4, dtype=torch.float32).view(2, 2)
    assert torch.func.vmap(torch.func.functionalize(row))(x).tolist() == [[1, 1], [3, 3]]


def test_operators_that_write_become_functional_ones_on_clones() -> None:
    namespace = fresh_namespace()

    @torch.library.custom_op(f"{namespace}::scale_and_count", mutates_args=("x", "counts"))
    def scale_and_count(x: torch.Tensor, counts: list[torch.Tensor], by: float) -> torch.Tensor:
        x.mul_(by)
        for count in counts:
            count.add_(1)
        return x.sum()

    def function(x: Any) -> Any:
        counts = [torch.zeros(1), torch.zeros(1)]
        total = scale_and_count(x[0], counts, 3.0)
        return total, counts[0] + counts[1]

    x = start(torch)
    assert [t.tolist() for t in torch.func.functionalize(function)(x)] == [9, [2]]
    assert x.tolist() == [[0, 3, 6], [3, 4, 5]]
    found = names(function)
    assert [name for name in found if "::" in name] == [f"auto_functionalized::{namespace}_scale_and_count_functional"]
    traced = torch.jit.trace(torch.func.functionalize(function), start(torch))
    assert [t.tolist() for t in traced(start(torch))] == [9, [2]]


def test_an_operator_that_is_defined_anew() -> None:
    name = f"{fresh_namespace()}::shift"
    for by in (1, 2):

        @torch.library.custom_op(name, mutates_args=("x",))
        def shift(x: torch.Tensor, by: int = by) -> None:
            x.add_(by)

        assert torch.func.functionalize(lambda x: shift(x) or x * 1)(torch.zeros(1)).tolist() == [by]


def test_out_arguments() -> None:
    namespace = fresh_namespace()
    lib = torch.library.Library(namespace, "FRAGMENT")
    lib.define("twice(Tensor x) -> Tensor")
    lib.define("twice.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    lib.impl("twice", lambda x: x * 2, "CPU")
    lib.impl("twice.out", lambda x, out: out.copy_(x * 2), "CPU")
    op = getattr(torch.ops, namespace).twice

    def function(x: Any) -> Any:
        out = torch.empty(2, 3)
        assert op.out(x, out=out) is out
        return out

    assert torch.func.functionalize(function)(start(torch)).tolist() == [[0, 2, 4], [6, 8, 10]]
    assert names(function)[1:] == [f"{namespace}::twice"]


def test_views_of_users_without_an_inverse() -> None:
    lib = torch.library.Library(fresh_namespace(), "FRAGMENT")
    lib.define("diagonal(Tensor(a) x) -> Tensor(a)")
    for key in ("CPU", "Meta"):
        lib.impl("diagonal", lambda x: torch._core.as_strided(x, (2,), (4,)), key)
    op = getattr(torch.ops, lib.ns).diagonal.default
    for remove in REMOVES:
        assert torch.func.functionalize(lambda x: op(x.add_(1)) * 2, remove=remove)(start(torch)).tolist() == [2, 10]
    with pytest.raises(RuntimeError, match="not known how to write that back"):
        torch.func.functionalize(lambda x: op(x).add_(1))(start(torch))


def test_modes_outside_see_functional_operators() -> None:
    seen = []

    class Watch(torch.overrides.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.name())
            return func(*args, **(kwargs or {}))

    x = start(torch)
    with Watch():
        torch.func.functionalize(lambda x: x.clone().add_(1))(x)
    assert seen == ["aten::clone", "aten::add.Tensor"]


MISTAKES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "remove": (
        lambda library: library.func.functionalize(lambda x: x, remove="all")(library.ones(1)),
        "Valid options are",
    ),
    "shape": (
        lambda library: library.func.functionalize(lambda x: x.add_(library.ones(2, 3)))(library.ones(3)),
        "doesn't match the broadcast shape",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    agree(*MISTAKES[name])


def test_an_expanded_tensor_is_not_changed() -> None:  # as in PyTorch without functionalize, which loses the change
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.func.functionalize(lambda x: x.expand(2, 3).add_(1))(torch.ones(3))


def test_a_tensor_from_outside_is_not_changed() -> None:
    hidden = torch.zeros(2)
    with pytest.raises(RuntimeError, match="mutating a non-functional tensor"):
        torch.func.functionalize(lambda x: hidden.add_(x))(torch.ones(2))
    assert hidden.tolist() == [0, 0]


def test_arguments_that_share_memory() -> None:
    x = start(torch)
    with pytest.raises(RuntimeError, match="shares memory with another argument"):
        torch.func.functionalize(lambda x, row: x.add_(row))(x, x[0])
    assert torch.func.functionalize(lambda x, row: x + row)(x, x[0]).tolist() == [[0, 2, 4], [3, 5, 7]]


def test_an_error_leaves_no_level_behind() -> None:
    def fails(x: Any) -> Any:
        x.add_(1)
        raise KeyError("stop")

    before = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
    x = torch.ones(2)
    with pytest.raises(KeyError):
        torch.func.functionalize(fails)(x)
    assert x.tolist() == [1, 1]
    assert (torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()) == before
    kept = []
    torch.func.functionalize(lambda x: kept.append(x * 2) or x)(x)
    with pytest.raises(RuntimeError, match="used outside of it"):
        kept[0] + 1


def test_values_that_are_read() -> None:
    def function(x: Any) -> Any:
        x.add_(1)
        return x * 2 if x.sum() > 3 else x

    assert torch.func.functionalize(function)(torch.ones(2)).tolist() == [4, 4]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.jit.trace(torch.func.functionalize(function), torch.ones(2))
    assert any(w.category is torch.jit.TracerWarning for w in caught)
