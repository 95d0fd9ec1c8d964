"""What the core answers itself of conversions, indexing, copies, joins, views and reductions, beside PyTorch.

The same object or another, the same memory or another, strides and versions are compared as values are.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.both import agree, agree_or_raise

Case = Callable[[Any], Any]


def grid(t: Any) -> Any:
    """Two rows of three."""
    return t.arange(6.0).reshape(2, 3)


def form(t: Any, made: Any, of: Any) -> Any:
    """All that one can see of a result, beside the tensor that it was made of."""
    shares = made.untyped_storage().data_ptr() == of.untyped_storage().data_ptr() and made.numel() > 0
    return made, made is of, shares, made.shape, made.stride(), made.storage_offset(), made._version, str(made.dtype)


CONVERSIONS: dict[str, Callable[[Any, Any], Any]] = {
    "to its own dtype": lambda t, x: x.to(t.float32),
    "to its own dtype, copy": lambda t, x: x.to(t.float32, copy=True),
    "to its own dtype, no copy": lambda t, x: x.to(t.float32, copy=False),
    "to a dtype": lambda t, x: x.to(t.float64),
    "to a dtype, copy": lambda t, x: x.to(t.int64, copy=True),
    "to its device": lambda t, x: x.to("cpu"),
    "to its device, copy": lambda t, x: x.to("cpu", copy=True),
    "to its device as an object": lambda t, x: x.to(t.device("cpu")),
    "to meta": lambda t, x: x.to("meta").shape,
    "to both": lambda t, x: x.to("cpu", t.float16),
    "to another": lambda t, x: x.to(t.zeros(1, dtype=t.int8)),
    "by keywords": lambda t, x: x.to(dtype=t.float64, device="cpu"),
    "double": lambda t, x: x.double(),
    "float": lambda t, x: x.float(),
    "bool": lambda t, x: x.bool(),
    "clone": lambda t, x: x.clone(),
    "contiguous": lambda t, x: x.contiguous(),
}
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "rows": grid,
    "columns": lambda t: grid(t).t(),
    "gaps": lambda t: grid(t)[:, ::2],
    "repeated": lambda t: grid(t)[:1].expand(2, 3),
    "a part": lambda t: grid(t)[1:],
    "three, turned": lambda t: t.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1),
    "no dimension": lambda t: t.tensor(2.0),
    "nothing": lambda t: t.zeros(0, 3),
    "nothing, turned": lambda t: t.zeros(0, 3).t(),
    "ones": lambda t: t.ones(1, 3, 1).transpose(0, 2),
    "many": lambda t: t.arange(10_000.0).reshape(100, 100).t(),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
def test_a_conversion(convert: Callable[[Any, Any], Any], layout: Callable[[Any], Any]) -> None:
    def case(t: Any) -> Any:
        x = layout(t)
        made = convert(t, x)
        if isinstance(made, t.Size):
            return made
        seen = form(t, made, x)
        keeps_strides = made is x or convert in (CONVERSIONS["clone"], CONVERSIONS["contiguous"])
        return seen if keeps_strides else (*seen[:4], *seen[5:])  # what ours convert is row-major

    agree(case)


@pytest.mark.parametrize("arguments", [(), ("cpu", 1), (1.5,), ("nowhere",), ("float32",), (None,)])
def test_an_odd_conversion(arguments: tuple[Any, ...]) -> None:
    agree_or_raise(lambda t: grid(t).to(*arguments))


INDICES = [
    1, -1, 2, -3, True, None, Ellipsis, slice(None), slice(1), slice(1, None), slice(-1, None), slice(5, 9),
    slice(2, 1), slice(None, None, 2), slice(0, 2, 3), slice(None, None, -1), slice(None, None, 0),
    slice(2**70), slice(-(2**70), 1),
    (), (0,), (0, 1), (1, -3), (0, 3), (0, 0, 0), (slice(None), 1), (1, slice(None)), (slice(None), slice(None)),
    (slice(0, 1), slice(None, None, 2)), (0, None), (Ellipsis, 1), (slice(None), [0, 2]), (2**70,), (1.0,), "a",
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_an_index(index: Any) -> None:
    agree_or_raise(lambda t: form(t, grid(t)[index], grid(t)))


JOINED: dict[str, Callable[[Any], list[Any]]] = {
    "two": lambda t: [grid(t), grid(t)],
    "another size": lambda t: [grid(t), grid(t)[:1]],
    "columns": lambda t: [grid(t).t(), grid(t).t()[:, ::2]],
    "another dtype": lambda t: [grid(t), grid(t).long(), grid(t).double()],
    "whole numbers": lambda t: [grid(t).int(), grid(t).bool()],
    "nothing in between": lambda t: [grid(t), t.zeros(0), grid(t)],
    "nothing": lambda t: [t.zeros(0), t.zeros(0)],
    "nothing of two dimensions": lambda t: [t.zeros(0, 3), grid(t)],
    "no tensor": lambda t: [],
    "no dimension": lambda t: [t.tensor(1.0), grid(t)],
    "another rank": lambda t: [grid(t), t.ones(3)],
    "many": lambda t: [t.ones(100, 100), t.zeros(100, 100).t()],
}


@pytest.mark.parametrize(
    ("kind", "dim"), [*itertools.product(JOINED, (0, 1, -2)), *itertools.product(("two", "columns"), (-1, 2, -3, 3))]
)
@pytest.mark.parametrize("name", ["cat", "stack"])
def test_a_join(name: str, kind: str, dim: int) -> None:
    parts = JOINED[kind]

    def case(t: Any) -> Any:
        made = getattr(t, name)(parts(t), dim)
        return made, made.stride(), made._version, str(made.dtype)

    agree_or_raise(case)
    agree_or_raise(lambda t: getattr(t, name)([part.to("meta") for part in parts(t)], dim).shape)


SHAPES = [(6,), (-1,), (3, 2), (2, -1), (2, 1, 3), (-1, -1), (-2, 3), (4, -1), (7,), (0, -1), (1, 6, 1), (2**40, 2**40)]


@pytest.mark.parametrize("name", ["view", "reshape"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("layout", ["rows", "columns", "gaps", "nothing", "a part"])
def test_another_shape(name: str, shape: tuple[int, ...], layout: str) -> None:
    def case(t: Any) -> Any:
        x = LAYOUTS[layout](t)
        return form(t, getattr(x, name)(shape), x)

    agree_or_raise(case)


VIEWS: dict[str, Case] = {
    "transpose": lambda t: grid(t).transpose(0, -1),
    "transpose, outside": lambda t: grid(t).transpose(0, 2),
    "transpose, no dimension": lambda t: t.tensor(1.0).transpose(0, -1),
    "t of three": lambda t: t.ones(1, 2, 3).t(),
    "permute": lambda t: t.ones(2, 3, 4).permute(2, 0, -2),
    "permute, twice": lambda t: grid(t).permute(0, 0),
    "permute, too few": lambda t: grid(t).permute([0]),
    "movedim": lambda t: t.ones(2, 3, 4, 5).movedim(-1, 1),
    "movedim, back": lambda t: t.ones(2, 3, 4, 5).movedim(1, 3),
    "select, outside": lambda t: grid(t).select(1, 3),
    "slice, a step": lambda t: grid(t)[:, 0:9:2],
    "squeeze": lambda t: t.ones(1, 2, 1).squeeze(),
    "squeeze, one": lambda t: t.ones(1, 2, 1).squeeze(-1),
    "squeeze, another": lambda t: t.ones(1, 2, 1).squeeze(1),
    "squeeze, several": lambda t: t.ones(1, 2, 1).squeeze((0, -1)),
    "squeeze, twice": lambda t: t.ones(1, 2, 1).squeeze((0, 0)),
    "unsqueeze": lambda t: grid(t).unsqueeze(-2),
    "unsqueeze, outside": lambda t: grid(t).unsqueeze(4),
    "expand": lambda t: grid(t).unsqueeze(1).expand(4, -1, 2, -1),
    "expand, another size": lambda t: grid(t).expand(2, 4),
    "expand, too few": lambda t: grid(t).expand(3),
    "expand, -1 in front": lambda t: grid(t).expand(-1, 2, 3),
    "unbind": lambda t: grid(t).unbind(1),
    "unbind, no dimension": lambda t: t.tensor(1.0).unbind(),
    "split": lambda t: grid(t).split(2, 1),
    "split, none": lambda t: grid(t).split(0),
    "split, below none": lambda t: grid(t).split(-1),
    "split, sizes": lambda t: grid(t).split([1, 2], -1),
    "split, other sizes": lambda t: grid(t).split([1, 1], -1),
    "split, of nothing": lambda t: t.zeros(0, 3).split(2),
    "chunk": lambda t: t.arange(7).chunk(3),
    "chunk, of nothing": lambda t: t.zeros(0, 3).chunk(2),
    "chunk, none": lambda t: grid(t).chunk(0),
}


@pytest.mark.parametrize("case", VIEWS.values(), ids=VIEWS)
def test_a_view(case: Case) -> None:
    def seen(t: Any) -> Any:
        made = case(t)
        parts = made if isinstance(made, tuple) else (made,)
        return type(made) is tuple, [(part, part.shape, part.stride(), part.storage_offset()) for part in parts]

    agree_or_raise(seen)


BACKWARD: dict[str, Callable[[Any, Any], Any]] = {
    "view": lambda t, x: x.view(6),
    "transpose": lambda t, x: x.transpose(0, 1),
    "a row": lambda t, x: x[1],
    "clone": lambda t, x: x.clone(),
    "double": lambda t, x: x.double(),
    "sum": lambda t, x: x.sum(),
    "sum over a dimension": lambda t, x: x.sum(1),
    "mean over dimensions": lambda t, x: x.mean((0, 1), keepdim=True),
    "cat": lambda t, x: t.cat([x, x[:1], t.zeros(0)]),
}


def plain(t: Any) -> Any:
    return contextlib.nullcontext()


def anomaly(t: Any) -> Any:
    return t.autograd.set_detect_anomaly(True)


def saved_twice(t: Any) -> Any:
    return t.autograd.graph.saved_tensors_hooks(lambda saved: saved * 2, lambda kept: kept / 2)


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
@pytest.mark.parametrize(
    "mode", [lambda t: contextlib.nullcontext(), anomaly, saved_twice], ids=["plain", "anomaly", "hooks"]
)
@pytest.mark.parametrize("case", BACKWARD.values(), ids=BACKWARD)
def test_a_graph_that_keeps_no_tensor_is_run_backward_again(
    case: Callable[[Any, Any], Any], mode: Callable[[Any], contextlib.AbstractContextManager[Any]]
) -> None:
    def twice(t: Any) -> Any:
        x = grid(t).requires_grad_()
        with mode(t):
            y = case(t, x)
            y.backward(t.ones_like(y))
            y.backward(t.ones_like(y))
        return x.grad

    agree(twice)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)])
def test_where_of_a_condition_alone(shape: tuple[int, ...]) -> None:
    def case(t: Any) -> Any:
        found = t.where(t.arange(6.0)[: max(1, len(shape) * 3)].new_ones(shape) > 0)
        return type(found).__name__, found

    agree(case)


def test_results_of_fill_and_of_zeros_by_layout() -> None:
    def case(t: Any) -> Any:
        out, other = t.empty(0), t.ones(4, 3).t()[1:]
        t.ops.aten.fill.Tensor_out(grid(t), t.tensor(5.0), out=out)
        made = t.ops.aten._new_zeros_with_same_feature_meta(t.ones(2, 5), other, self_num_batch_dims=1)
        return out, made, made.stride(), made.storage_offset(), made.untyped_storage().nbytes()

    agree(case)
    agree(lambda t: t.ops.aten.fill.Tensor_out(grid(t), t.tensor(5.0), out=t.empty(0).long()), "Expected out tensor")


def test_the_gradient_of_the_variance_and_the_mean() -> None:
    def case(t: Any, dtype: str, dim: Any, correction: float, keepdim: bool) -> Any:
        x = (grid(t) ** 2).to(getattr(t, dtype)).requires_grad_()
        var, mean = t.var_mean(x, dim, correction=correction, keepdim=keepdim)
        weights = t.arange(1.0, 1 + var.numel()).reshape(var.shape)
        (both,) = t.autograd.grad(((var * weights).sum() + (mean * weights).abs().sum()), x, create_graph=True)
        (one,) = t.autograd.grad(mean.abs().sum(), x, retain_graph=True)
        (second,) = t.autograd.grad(both.abs().sum(), x)
        found = [t.view_as_real(v) if v.is_complex() else v for v in (var, mean, both, one, second)]
        return found, var.grad_fn is mean.grad_fn, type(var.grad_fn).__name__

    for dtype, dim, correction, keepdim in (
        ("float64", None, 1, False),
        ("float64", 0, 1, True),
        ("float64", (0, 1), 0, False),
        ("complex128", 1, 1.5, False),
    ):
        agree(lambda t, given=(dtype, dim, correction, keepdim): case(t, *given))


@pytest.mark.parametrize("equal_nan", [True, False])
def test_complex_numbers_without_a_value_are_close(equal_nan: bool) -> None:
    nan, inf = float("nan"), float("inf")
    values = [complex(nan, 0), complex(0, nan), complex(inf, nan), complex(inf, 0), complex(0, -inf), 1 + 2j]

    def case(t: Any) -> Any:
        x = t.tensor(values)
        return t.isclose(x, x, equal_nan=equal_nan), t.isclose(x, x.flip(0), equal_nan=equal_nan)

    agree(case)
