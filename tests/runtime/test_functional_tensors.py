"""Functional tensors by PyTorch's inner names, and graphs of functionalized programs, beside PyTorch's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as pytorch

import mindtorch_v2 as torch
from mindtorch_v2._dispatch.python import enable_crossref_functionalize, suspend_functionalization
from mindtorch_v2._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode, dispatch_functionalize
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.fx.passes.reinplace import reinplace
from tests.runtime.both import agree


def functional(library: Any, function: Callable[..., Any], keep_views: bool) -> Callable[..., Any]:
    """As PyTorch's own tests do it: wrappers for arguments, and what they stand for at last."""

    def run(*args: Any) -> Any:
        wrapped = [library._to_functional_tensor(arg) for arg in args]
        library._enable_functionalization(reapply_views=keep_views)
        try:
            result = function(*wrapped)
        finally:
            library._disable_functionalization()
        for arg, one in zip(args, wrapped, strict=True):
            library._sync(one)
            value = library._from_functional_tensor(one)
            if value is not arg and value.shape == arg.shape:
                arg.copy_(value)
        parts = result if isinstance(result, tuple) else (result,)
        for part in parts:
            library._sync(part)
        values = tuple(library._from_functional_tensor(part) for part in parts)
        return values if isinstance(result, tuple) else values[0]

    return run


def a_view(t: Any, x: Any) -> Any:
    y = x.view(2, 4)
    y.add_(t.ones(2, 4))
    return y * x.view(2, 4)


def out_of_another_size(t: Any, x: Any) -> Any:
    z = t.empty(0)
    t.add(x, x, out=z)
    return z * z


def several_out(t: Any, x: Any) -> Any:
    least, most = t.empty(4), t.empty(4)
    t.aminmax(x.view(2, 4), dim=0, out=(least, most))
    return most


def a_constant(t: Any, x: Any) -> Any:
    y = t.tensor((1, 2, 3))
    y.view(-1).add_(1)
    return y


def a_diagonal(t: Any, x: Any) -> Any:
    y = x.view(2, 4).clone()
    y.diagonal().copy_(t.ones(2)).mul_(3)
    return y


def parts(t: Any, x: Any) -> Any:
    first, second = x.view(4, 2).split(2)
    second.diagonal().add_(1)
    first.unbind(0)[1].fill_(7)
    return second, first * 2


def of_another_shape(t: Any, x: Any) -> Any:
    y = x.view(2, 4).transpose(1, 0)
    y.unsqueeze_(0)
    y.squeeze_()
    y[0].add_(5)
    return y


def smaller(t: Any, x: Any) -> Any:
    y = (x + 1).view(2, 4)
    y.resize_(3, 2)
    y.view(-1).add_(1)
    return y + 1


def larger(t: Any, x: Any) -> Any:
    y = x + 1
    y.resize_(5, 5)
    y.view(25).fill_(1)
    return y, y + 1


def strided(t: Any, x: Any) -> Any:
    y = x + 0
    y.as_strided((2,), (3,), 1).add_(1)
    return y


PROGRAMS = [
    a_view, out_of_another_size, several_out, a_constant, a_diagonal, parts, of_another_shape, smaller, larger, strided,
]  # fmt: skip


def start(library: Any) -> Any:
    return library.arange(8, dtype=library.float32)


@pytest.mark.parametrize("keep_views", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_graph_is_pytorchs(program: Any, keep_views: bool) -> None:
    from torch.fx.experimental.proxy_tensor import make_fx as pytorchs

    theirs = pytorchs(functional(pytorch, lambda x: program(pytorch, x), keep_views))(start(pytorch))
    ours = make_fx(functional(torch, lambda x: program(torch, x), keep_views))(start(torch))
    assert ours.code == theirs.code


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_are_those_of_the_program(program: Any) -> None:
    x, y, z = start(torch), start(torch), start(torch)
    expected = program(torch, x)
    assert same(functional(torch, lambda x: program(torch, x), keep_views=False)(y), expected)
    assert same(torch.func.functionalize(lambda x: program(torch, x))(z), expected)
    assert torch.equal(x, y)
    assert torch.equal(x, z)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return all(map(same, a, b))
    return bool(a.dtype is b.dtype and torch.equal(a, b))


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_graph_is_put_in_place(program: Any) -> None:
    from torch.fx.experimental.proxy_tensor import make_fx as pytorchs
    from torch.fx.passes.reinplace import reinplace as pytorchs_reinplace

    theirs = pytorchs(functional(pytorch, lambda x: program(pytorch, x), keep_views=True))(start(pytorch))
    ours = make_fx(functional(torch, lambda x: program(torch, x), keep_views=True))(start(torch))
    changed = reinplace(ours, start(torch))
    assert changed.code == pytorchs_reinplace(theirs, start(pytorch)).code
    changed.graph.lint()
    x, y = start(torch), start(torch)
    assert same(changed(x), program(torch, y))
    assert torch.equal(x, y)


def test_what_is_read_later_is_not_overwritten() -> None:
    def both(x: Any) -> Any:
        y = x + 1
        z = y * 2
        return y, z

    def twice(x: Any) -> Any:
        y = x + 1
        part = torch.slice_scatter(y, y[:2] * 3, 0, 0, 2)
        return part, y[2:]

    for program in (both, twice):
        graph = reinplace(make_fx(program)(start(torch)), start(torch))
        assert "mul_." not in graph.code or program is twice
        assert same(graph(start(torch)), program(start(torch)))


def test_a_scatter_becomes_a_copy() -> None:
    def program(x: Any) -> Any:
        y = x + 1
        return torch.slice_scatter(y, x[:2] * 3, 0, 0, 2)

    graph = reinplace(make_fx(program)(start(torch)), start(torch))
    assert "copy_" in graph.code
    assert "slice_scatter" not in graph.code
    assert torch.equal(graph(start(torch)), program(start(torch)))


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
def test_arguments_take_the_shape_that_the_function_gives_them(remove: str) -> None:
    def program(x: Any) -> Any:
        x.transpose_(0, 1)
        x[0].add_(5)
        x.unsqueeze_(0)
        return x + 1

    x, y = (start(torch).view(2, 4) for _ in range(2))
    assert torch.equal(program(x), torch.func.functionalize(program, remove=remove)(y))
    assert torch.equal(x, y)
    assert x.stride() == y.stride()


def test_an_argument_is_resized() -> None:
    def program(x: Any) -> None:
        x.resize_(10)
        x.fill_(2)

    def case(library: Any) -> Any:
        x = library.zeros(0)
        library.func.functionalize(program)(x)
        return x

    agree(case)
    assert make_fx(torch.func.functionalize(program))(torch.zeros(0)).code.count("resize_.") == 1


def test_views_of_what_was_resized_are_not_read() -> None:
    def program(x: Any) -> Any:
        y = x + 1
        z = y[:2]
        y.resize_(20)
        return z + 1

    with pytest.raises(RuntimeError, match="resized since to more memory"):
        torch.func.functionalize(program)(start(torch))
    with pytest.raises(RuntimeError, match="Attempted to resize a view tensor to a larger size"):
        torch.func.functionalize(lambda x: x[:2].resize_(20))(start(torch))


def test_what_overlaps_itself_is_not_changed() -> None:
    with pytest.raises(RuntimeError, match="encountered a tensor being mutated that has internal overlap"):
        torch.func.functionalize(lambda x: x.unfold(0, 3, 2).abs_())(start(torch))


def test_frozen_memory_is_not_changed() -> None:
    def case(library: Any) -> Any:
        x = library._to_functional_tensor(start(library))
        y = x[2:]
        library._freeze_functional_tensor(x)
        return [library._is_functional_tensor(t) for t in (x, y, start(library))], y.add_(1)

    for library in (torch, pytorch):
        with pytest.raises(RuntimeError):
            case(library)
    with pytest.raises(RuntimeError, match="frozen"):
        case(torch)


def test_functional_and_plain_tensors_together() -> None:
    x = torch._to_functional_tensor(start(torch))
    result = x + start(torch)
    result.add_(1)
    assert torch._is_functional_tensor(result)
    torch._sync(result)
    assert torch.equal(torch._from_functional_tensor(result), start(torch) * 2 + 1)
    with pytest.raises(RuntimeError, match="mutating a non-functional tensor"):
        start(torch).add_(x)
    with pytest.raises(RuntimeError, match="expected a functional tensor"):
        torch._from_functional_tensor(start(torch))


def test_autograd_sees_functional_tensors() -> None:
    x = torch._to_functional_tensor(start(torch)).requires_grad_()
    y = x * x
    y.view(2, 4)[0].mul_(3)
    y.sum().backward()
    torch._sync(x.grad)
    assert torch._from_functional_tensor(x.grad).tolist() == [6.0 * i for i in range(4)] + [
        2.0 * i for i in range(4, 8)
    ]


def test_functionalization_does_not_nest() -> None:
    torch._enable_functionalization(reapply_views=True)
    try:
        assert torch._is_functional_tensor(torch.ones(2))
        with suspend_functionalization():
            assert not torch._is_functional_tensor(torch.ones(2))
        with pytest.raises(RuntimeError, match="nesting"):
            torch._enable_functionalization(reapply_views=True)
    finally:
        torch._disable_functionalization()
    assert not torch._is_functional_tensor(torch.ones(2))


def test_calls_are_checked_against_tensors_without_memory() -> None:
    run = functional(torch, lambda x: a_view(torch, x), keep_views=False)
    strided = functional(torch, lambda x: of_another_shape(torch, x), keep_views=False)
    with enable_crossref_functionalize():
        assert torch.equal(run(start(torch)), a_view(torch, start(torch)))
        with pytest.raises(AssertionError, match="strides"):  # of a copy, which lies otherwise than a view does
            strided(start(torch))
    strided(start(torch))


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_mode_functionalizes(program: Any) -> None:
    run = dispatch_functionalize(lambda x: program(torch, x))
    assert same(run(start(torch)), program(torch, start(torch)))
    graph = make_fx(run)(start(torch))
    assert not any(node.target._schema.is_mutable for node in graph.graph.nodes if hasattr(node.target, "_schema"))
    assert same(graph(start(torch)), program(torch, start(torch)))


def test_tensors_of_the_mode() -> None:
    x = start(torch)
    with FunctionalTensorMode():
        y = FunctionalTensor.to_functional(x)
        view = y.view(2, 4)
        y.mul_(2)
        assert torch.equal(view.from_functional(), (x * 2).view(2, 4))
        constant = torch.ops.aten.lift_fresh.default(x)
        assert isinstance(constant, FunctionalTensor)
    assert constant.untyped_storage() is not x.untyped_storage()
    assert torch.equal(x, start(torch))
    with pytest.raises(RuntimeError, match="on its own"):
        y + 1
    with pytest.raises(TypeError, match="takes a functional tensor"):
        FunctionalTensor(x)


def test_a_functional_form_lies_as_its_argument_does() -> None:
    def case(library: Any) -> Any:
        whole = library.empty_strided((2, 2), (5, 1))
        return [
            library.ops.aten.copy(whole, library.ones(2, dtype=library.int64)),
            library.ops.aten.copy(library.ones(2, 3).t(), library.ones(1)).stride(),
            library.empty(2, 4, device="meta").t().clone().stride(),
            library.ops.aten.resize(library.ones(2, 3), [2, 2]),
            library.ops.aten.copy(whole, library.ones(2)).stride(),
        ]

    agree(case)


@pytest.mark.parametrize("key", [torch._C.DispatchKey.Functionalize])
def test_a_key_that_is_excluded_outside(key: Any) -> None:
    with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(key)):
        graph = make_fx(torch.func.functionalize(lambda x: x.clone().sin_()))(torch.ones(2))
        assert "sin_." not in graph.code
        assert torch._C._dispatch_tls_local_exclude_set().has(key)


def test_what_out_writes_to_is_resized_without_memory() -> None:
    def case(library: Any) -> Any:
        out = library.empty(0, device="meta")
        library.add(library.ones(4, 2, device="meta"), 1, out=out)
        return out.shape, library.view_copy(library.ones(2, requires_grad=True), (1, 2)).grad_fn.name()

    agree(case)
    with torch._subclasses.FakeTensorMode():
        joined, larger = torch.empty(0), torch.empty(4)
        torch.cat([torch.ones(4, 2)], out=joined)
        larger.resize_(2, 5)
        assert (joined.shape, larger.shape) == ((4, 2), (2, 5))


def test_running_statistics_of_instances_change() -> None:
    def case(library: Any) -> Any:
        mean, variance = library.zeros(3), library.ones(3)
        x = library.arange(24.0).view(2, 3, 4)

        def norm(x: Any, mean: Any, variance: Any) -> Any:
            return library.instance_norm(x, None, None, mean, variance, True, 0.1, 1e-5, False)

        return library.func.functionalize(norm)(x, mean, variance), mean, variance

    agree(case)
