"""The design's rules 1 to 6 and the list of what re-implementations get wrong in silence, beside PyTorch.

Each test fails on the naive way that its name or comment describes.
"""

from __future__ import annotations

import gc
import itertools
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2
from mindtorch_v2.library._opcheck import OpCheckError
from tests.runtime.both import agree, fresh_namespace


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def custom(torch: Any, schema: str, kernel: Callable[..., Any], backward: Callable[..., Any], setup: Any = None) -> Any:
    """An operator of a Library: schema, a kernel for CPU, a gradient."""
    namespace = fresh_namespace()
    torch.library.define(f"{namespace}::op", schema)
    torch.library.impl(f"{namespace}::op", "cpu", kernel)
    torch.library.register_autograd(f"{namespace}::op", backward, setup_context=setup)
    return getattr(torch.ops, namespace).op


# ---------------------------------------------------------------- rules 1 and 2: slots


def three_inputs(torch: Any, calls: list[Any]) -> Any:
    """x and y positional, a list of tensors, an int; three outputs of which one is an integer tensor."""

    def kernel(x: Any, zs: Any, n: int, y: Any) -> Any:
        total = x * n + zs[0] * 5 + zs[1] * 7
        return total if y is None else total + y * 3, x * 11, (x * 2).long()

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        _, zs, n, y = inputs
        calls.append((n, len(zs), y is None, len(output)))
        ctx.n, ctx.with_y = n, y is not None

    def backward(ctx: Any, total: Any, eleven: Any, ints: Any) -> Any:
        needs_x, needs_zs, needs_n, needs_y = ctx.needs_input_grad
        calls.append((needs_x, list(needs_zs), needs_n, needs_y, eleven))
        return (
            total * ctx.n + eleven * 11 if needs_x else None,
            [total * 5 if needs_zs[0] else None, total * 7 if needs_zs[1] else None],
            None,
            total * 3 if ctx.with_y and needs_y else None,
        )

    # Without defaults: PyTorch drops trailing arguments that equal them, and then wants as many gradients less.
    schema = "(Tensor x, Tensor[] zs, int n, Tensor? y) -> (Tensor, Tensor, Tensor)"
    return custom(torch, schema, kernel, backward, setup)


CALLS: dict[str, Callable[..., Any]] = {
    "positional": lambda op, x, y, a, b: op(x, [a, b], 4, y),
    "keywords": lambda op, x, y, a, b: op(y=y, zs=[a, b], n=2, x=x),
    "mixed": lambda op, x, y, a, b: op(x, zs=(a, b), y=y, n=3),
    "without y": lambda op, x, y, a, b: op(x, [a, b], 2, None),
    "one tensor twice": lambda op, x, y, a, b: op(x, [x, b], 2, y=x),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("used", [(True, True), (True, False), (False, True)])
def test_every_subset_of_requires_grad(call: str, used: tuple[bool, bool]) -> None:
    """Gradients go to their inputs by slot, whichever of them need one, however they were passed."""

    def case(torch: Any) -> Any:
        calls: list[Any] = []
        op, results = three_inputs(torch, calls), []
        for needs in itertools.product((False, True), repeat=4):
            x, y, a, b = (torch.tensor([1.0 + i, 2.0], requires_grad=need) for i, need in enumerate(needs))
            total, eleven, ints = CALLS[call](op, x, y, a, b)
            results.append((total, eleven, ints))
            loss = sum(out.sum() for out, use in zip((total, eleven), used, strict=True) if use)
            if loss.requires_grad:
                loss.backward()
            results.append([t.grad for t in (x, y, a, b)])
        return results, calls

    agree(case)


@pytest.mark.parametrize("needs", list(itertools.product((False, True), repeat=3)))
def test_every_subset_through_a_function(needs: tuple[bool, bool, bool]) -> None:
    def case(torch: Any) -> Any:
        seen: list[Any] = []

        class F(torch.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(x: Any, k: int, y: Any, z: Any = None) -> Any:
                return x * k + y * 3, z * 7

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                ctx.k = inputs[1]
                seen.append(len(inputs))

            @staticmethod
            def backward(ctx: Any, first: Any, second: Any) -> Any:
                seen.append(ctx.needs_input_grad)
                return first * ctx.k, None, first * 3, second * 7

        x, y, z = (torch.tensor([1.0, 2.0], requires_grad=need) for need in needs)
        first, second = F.apply(x, 2, y, z)
        loss = first.sum() + second.sum()
        if loss.requires_grad:
            loss.backward()
        return seen, first, second, x.grad, y.grad, z.grad

    agree(case)


def test_only_the_second_input_requires_grad() -> None:
    """Filtering the inputs that need a gradient hands the first gradient to the second input."""

    def case(torch: Any) -> Any:
        op = custom(torch, "(Tensor x, Tensor y) -> Tensor", lambda x, y: x + y, lambda ctx, grad: (grad * 2, grad * 3))
        x, y = torch.ones(2), leaf(torch)
        op(x, y).sum().backward()
        return x.grad, y.grad

    agree(case)


def test_a_none_gradient_still_releases_its_dependency() -> None:
    """A diamond with None on one branch: counting only real gradients never runs the node at the top."""

    def case(torch: Any) -> Any:
        stop = custom(torch, "(Tensor x) -> Tensor", lambda x: x * 2, lambda ctx, grad: None)
        x = leaf(torch)
        h = x * 3
        (stop(h) + h).sum().backward()
        return x.grad

    agree(case)


def test_a_diamond_inside_a_diamond() -> None:
    def case(torch: Any) -> Any:
        stop = custom(torch, "(Tensor x) -> Tensor", lambda x: x * 2, lambda ctx, grad: None)
        x = leaf(torch)
        a = x * 2
        b = stop(a) * a
        c = stop(b) + b * a
        (c + a).sum().backward()
        return x.grad

    agree(case)


def test_backward_runs_once_however_many_outputs() -> None:
    """A node per output calls backward once per output that is used."""

    def case(torch: Any) -> Any:
        calls: list[int] = []

        def backward(ctx: Any, *grads: Any) -> Any:
            calls.append(len(grads))
            return grads[0] + grads[1] * 2 + grads[2] * 3

        op = custom(torch, "(Tensor x) -> (Tensor, Tensor, Tensor)", lambda x: (x.clone(), x * 2, x * 3), backward)
        x = leaf(torch)
        a, b, c = op(x)
        (a * b + c).sum().backward()
        return calls, x.grad, a.grad_fn is c.grad_fn

    agree(case)


def test_a_tensor_used_twice_gets_both_gradients() -> None:
    def case(torch: Any) -> Any:
        op = custom(torch, "(Tensor x, Tensor y) -> Tensor", lambda x, y: x * y, lambda ctx, grad: (grad * 2, grad * 3))
        x = leaf(torch)
        op(x, x).sum().backward()
        return x.grad

    agree(case)


# ---------------------------------------------------------------- rule 3: no cycles


def build(torch: Any) -> list[Any]:
    """Things that tempt a cycle: an output saved by its own node, ctx attributes, several outputs."""

    class F(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            out, other = x.exp(), x * 2
            ctx.save_for_backward(x, out, other)
            ctx.shape = x.shape
            return out, other

        @staticmethod
        def backward(ctx: Any, grad: Any, other: Any) -> Any:
            return grad * ctx.saved_tensors[1] + other * 2

    op = custom(
        torch,
        "(Tensor x) -> Tensor",
        lambda x: x.exp(),
        lambda ctx, grad: grad * ctx.saved_tensors[0],
        lambda ctx, inputs, output: ctx.save_for_backward(output),
    )
    x = leaf(torch)
    a, b = F.apply(x)
    return [x, a, b, op(a), (a * b).sum()]


@pytest.mark.parametrize("run", [False, True])
def test_a_graph_is_freed_without_the_garbage_collector(run: bool) -> None:
    gc.collect()
    gc.disable()
    try:
        tensors = build(mindtorch_v2)
        references = [weakref.ref(t) for t in tensors]
        references += [weakref.ref(t.grad_fn) for t in tensors[1:]]
        if run:
            (tensors[3].sum() + tensors[4]).backward()
        del tensors
        assert [reference() for reference in references] == [None] * len(references)
    finally:
        gc.enable()


def test_a_long_graph_is_run_and_freed_without_recursion() -> None:
    x = leaf(mindtorch_v2)
    y = x
    for _ in range(100_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    del y


# ---------------------------------------------------------------- rule 4: versions


def test_a_version_is_recorded_after_the_bump() -> None:
    """Saving the version before an in-place operator's own bump makes its own backward refuse to run."""

    def case(torch: Any) -> Any:
        w, c = leaf(torch), torch.tensor([3.0, 4.0])
        h = w + 1
        h += c
        h.sum().backward()
        return w.grad, h._version

    agree(case)


def test_an_in_place_operator_that_saves_its_output() -> None:
    def case(torch: Any) -> Any:
        class Double(torch.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                x.mul_(2)
                ctx.mark_dirty(x)
                ctx.save_for_backward(x)
                return x

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * ctx.saved_tensors[0]

        w = leaf(torch)
        Double.apply(w + 1).sum().backward()
        return w.grad

    agree(case)


@pytest.mark.parametrize("through", ["itself", "a view", "detach"])
def test_a_change_after_saving_is_found(through: str) -> None:
    """Also where the change goes through another tensor over the same memory."""

    def case(torch: Any) -> Any:
        w, c = leaf(torch), torch.ones(2)
        y = w * c
        target = {"itself": lambda: c, "a view": lambda: c[0], "detach": lambda: c.detach()}[through]()
        target.add_(1)
        y.sum().backward()

    agree(case, "modified by an inplace operation")


def test_a_change_before_saving_is_none() -> None:
    def case(torch: Any) -> Any:
        w, c = leaf(torch), torch.ones(2)
        c.add_(1)
        y = w * c
        y.sum().backward()
        return w.grad

    agree(case)


# ---------------------------------------------------------------- rule 5: kernels run with autograd off


def test_a_kernel_records_nothing_while_it_runs() -> None:
    def case(torch: Any) -> Any:
        inside: list[Any] = []

        def kernel(x: Any) -> Any:
            h = x * 2
            inside.append((h.requires_grad, h.grad_fn))
            return h + 1

        op = custom(torch, "(Tensor x) -> Tensor", kernel, lambda ctx, grad: grad * 10)
        x = leaf(torch)
        y = op(x)
        y.sum().backward()
        return inside, x.grad

    agree(case)


def test_no_formula_is_an_error_and_no_silence() -> None:
    def case(torch: Any) -> Any:
        namespace = fresh_namespace()
        made = torch.library.custom_op(
            f"{namespace}::op", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor"
        )
        y = made(leaf(torch)) * 2
        y.sum().backward()

    agree(case, "no autograd formula")


def test_autograd_is_on_again_after_a_kernel_failed() -> None:
    def fail(x: Any) -> Any:
        raise KeyError("kernel")

    torch = mindtorch_v2
    op = custom(torch, "(Tensor x) -> Tensor", fail, lambda ctx, grad: grad)
    x = leaf(torch)
    with pytest.raises(KeyError, match="kernel"):
        op(x)
    assert (x * 2).requires_grad


# ---------------------------------------------------------------- rule 6: aliases, redefinition, overloads


ALIASES: dict[str, Callable[[Any], Any]] = {
    "the input": lambda x: x,
    "a view": lambda x: x[0],
    "a detached alias": lambda x: x.detach(),
}


@pytest.mark.parametrize("name", ALIASES)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_an_undeclared_alias_is_an_error(name: str, requires_grad: bool) -> None:
    def case(torch: Any) -> Any:
        made = torch.library.custom_op(
            f"{fresh_namespace()}::op", ALIASES[name], mutates_args=(), schema="(Tensor x) -> Tensor"
        )
        made(torch.tensor([1.0, 2.0], requires_grad=requires_grad))

    agree(case, "may not alias")


def test_an_alias_in_a_list_or_of_one() -> None:
    def case(torch: Any) -> Any:
        made = torch.library.custom_op(
            f"{fresh_namespace()}::op",
            lambda xs: [xs[0].clone(), xs[1]],
            mutates_args=(),
            schema="(Tensor[] xs) -> Tensor[]",
        )
        made([torch.ones(1), torch.ones(1)])

    agree(case, "may not alias")


def test_outputs_may_not_alias_each_other() -> None:
    def case(torch: Any) -> Any:
        made = torch.library.custom_op(
            f"{fresh_namespace()}::op",
            lambda x: (x * 2,) * 2,
            mutates_args=(),
            schema="(Tensor x) -> (Tensor, Tensor)",
        )
        made(torch.ones(2))

    agree(case, "may not alias")


def test_a_mutated_input_may_not_be_returned() -> None:
    def case(torch: Any) -> Any:
        made = torch.library.custom_op(
            f"{fresh_namespace()}::op",
            lambda x: x.add_(1),
            mutates_args={"x"},
            schema="(Tensor(a!) x) -> Tensor",
        )
        made(torch.ones(2))

    agree(case, "may not alias")


@pytest.mark.parametrize("requires_grad", [False, True])
def test_an_undeclared_mutation_is_an_error(requires_grad: bool) -> None:
    """Silent in PyTorch."""
    torch = mindtorch_v2
    made = torch.library.custom_op(
        f"{fresh_namespace()}::op",
        lambda x, y: x + y.add_(1),
        mutates_args=(),
        schema="(Tensor x, Tensor y) -> Tensor",
    )
    with pytest.raises(RuntimeError, match=r"changed argument 'y' in place, but the schema does not declare it"):
        made(torch.tensor([1.0], requires_grad=requires_grad), torch.ones(1))


def test_a_schema_defined_twice_is_an_error() -> None:
    for torch in (pytest.importorskip("torch"), mindtorch_v2):
        lib = torch.library.Library(fresh_namespace(), "DEF")
        lib.define("f(Tensor x) -> Tensor")
        with pytest.raises(RuntimeError):
            lib.define("f(Tensor x, int n) -> Tensor")


@pytest.mark.parametrize("name", ["nothing", "f.nothing"])
def test_a_missing_operator_or_overload_is_an_error(name: str) -> None:
    """Never None."""

    def case(torch: Any) -> Any:
        lib = torch.library.Library(fresh_namespace(), "DEF")
        lib.define("f(Tensor x) -> Tensor")
        value = getattr(torch.ops, lib.ns)
        for part in name.split("."):
            value = getattr(value, part)

    agree(case, "nothing")


def test_no_overload_that_fits_is_an_error() -> None:
    for torch in (pytest.importorskip("torch"), mindtorch_v2):
        lib = torch.library.Library(fresh_namespace(), "DEF")
        lib.define("f(Tensor x) -> Tensor")
        lib.define("f.two(Tensor x, Tensor y) -> Tensor")
        with pytest.raises(RuntimeError, match=r"f\(|f\.two"):
            getattr(torch.ops, lib.ns).f(3)


MAKERS: dict[str, Callable[[Any, str], Any]] = {
    "zeros": lambda t, device: t.zeros(3, device=device),
    "full": lambda t, device: t.full((3,), 2.0, device=device),
    "eye": lambda t, device: t.eye(3, device=device),
    "scalar_tensor": lambda t, device: t.scalar_tensor(1.0, device=device),
    "new_ones": lambda t, device: t.empty(2, device=device).new_ones(3),
    "rand_like": lambda t, device: t.rand_like(t.ones(3, device=device)),
    "contiguous": lambda t, device: t.ones(2, 3, device=device).t().contiguous(),
    "cat": lambda t, device: t.cat([t.ones(3, device=device)] * 2),
    "stack": lambda t, device: t.stack([t.ones(3, device=device)] * 2),
    "select_scatter": lambda t, device: t.select_scatter(t.ones(2, 3, device=device), t.ones(3, device=device), 0, 1),
    "two of max": lambda t, device: t.max(t.ones(2, 3, device=device), 1)[0],
    "a part of unbind": lambda t, device: t.ones(2, 3, device=device).mul_(2).unbind()[0],
    "what is written to": lambda t, device: t.ones(3, device=device).fill_(3),
}  # fmt: skip


@pytest.mark.parametrize("device", ["cpu", "npu", "meta"])
@pytest.mark.parametrize("name", MAKERS)
def test_a_new_tensor_is_at_version_0(name: str, device: str) -> None:
    """However its kernel filled it; but what others have seen keeps its count."""
    agree(lambda t: MAKERS[name](t, "cpu" if t.__name__ == "torch" and device == "npu" else device)._version)


def test_a_tensor_that_a_kernel_keeps_counts_on() -> None:
    kept = mindtorch_v2.ones(2)
    namespace = fresh_namespace()
    mindtorch_v2.library.define(f"{namespace}::kept", "(Tensor x) -> Tensor")
    mindtorch_v2.library.impl(f"{namespace}::kept", "cpu", lambda x: kept.add_(x))
    assert getattr(mindtorch_v2.ops, namespace).kept(mindtorch_v2.ones(2)) is kept
    assert kept._version == 1


def test_an_alias_of_a_kernel_that_a_library_registers() -> None:
    """As in PyTorch `opcheck` looks for it; but where a call is recorded, the gradient would be wrong silently."""
    torch = mindtorch_v2
    lib = torch.library.Library(fresh_namespace(), "DEF")
    lib.define("same(Tensor x) -> Tensor")
    lib.impl("same", lambda x: x, "CPU")
    same = getattr(torch.ops, lib.ns).same
    x = torch.ones(2)
    assert same(x) is x
    with torch.no_grad():
        assert same(torch.ones(2, requires_grad=True)).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="shares memory with argument 'x', but the schema does not declare it"):
        same(torch.ones(2, requires_grad=True))
    with pytest.raises(OpCheckError, match="aliasing"):
        torch.library.opcheck(same.default, (x,), test_utils="test_schema")
