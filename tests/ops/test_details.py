"""Details of tensors that PyTorch's own tests look at, beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtime.both import agree, agree_or_raise

LISTED: dict[str, Callable[[Any], Any]] = {
    **{
        f"tensors of {dtype}": lambda t, dtype=dtype: [t.tensor(1, dtype=getattr(t, dtype))] * 2
        for dtype in ("float64", "float16", "bfloat16", "int32", "uint8", "bool", "complex128")
    },
    "a tensor and a number": lambda t: [t.tensor(1, dtype=t.int32), 2.0],
    "half precision and a number": lambda t: [t.tensor(1.0, dtype=t.float16), 1.0],
    "two dtypes": lambda t: [t.tensor(1, dtype=t.uint8), t.tensor(1, dtype=t.int8)],
    "two of half precision": lambda t: [t.tensor(1.0, dtype=t.float16), t.tensor(1.0, dtype=t.bfloat16)],
    "NumPy's scalars": lambda t: [np.float64(1), np.float64(2)],
    "NumPy's and Python's": lambda t: [np.float32(1), 2],
    "a number and a truth value": lambda t: [True, 2],
    "more than 64 bits": lambda t: [2**63],
}


@pytest.mark.parametrize("values", LISTED.values(), ids=LISTED)
def test_the_dtype_of_a_list(values: Callable[[Any], Any]) -> None:
    agree_or_raise(lambda t: t.tensor(values(t)))


COPIES: dict[str, Callable[[Any, Any], Any]] = {
    "slice": lambda ops, x: ops.slice_copy(x, 0, 0, 1),
    "select": lambda ops, x: ops.select_copy(x, 0, 0),
    "transpose": lambda ops, x: ops.transpose_copy(x, 0, 1),
    "permute": lambda ops, x: ops.permute_copy(x, [2, 0, 1]),
    "expand": lambda ops, x: ops.expand_copy(x, [2, 2, 3, 4]),
    "diagonal": lambda ops, x: ops.diagonal_copy(x),
    "unfold": lambda ops, x: ops.unfold_copy(x, 0, 2, 1),
    "alias": lambda ops, x: ops.alias_copy(x),
    "detach": lambda ops, x: ops.detach_copy(x),
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_copies_of_views_lie_in_rows(copy: Callable[[Any, Any], Any]) -> None:
    def case(t: Any) -> Any:
        made = copy(t.ops.aten, t.arange(24.0).view(2, 3, 4).transpose(1, 2).clone().transpose(1, 2))
        return made, made.stride()

    agree(case)


DTYPES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "addmv": lambda t, x, y: t.addmv(x[0], x, y[0]),
    "addbmm": lambda t, x, y: t.addbmm(x, y[None], y[None]),
    "cross": lambda t, x, y: t.linalg.cross(x, y),
    "cdist": lambda t, x, y: t.cdist(x, y),
}


@pytest.mark.parametrize("call", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_products_of_two_dtypes(call: Callable[[Any, Any, Any], Any], dtype: str) -> None:
    agree_or_raise(lambda t: call(t, t.ones(3, 3), t.ones(3, 3).to(getattr(t, dtype))))


@pytest.mark.parametrize("p", [0.5, 0.99])
def test_distances_have_a_slope_where_coordinates_are_equal(p: float) -> None:
    def case(t: Any) -> Any:
        x = t.tensor([[1.0, 2.0]], requires_grad=True)
        y = t.tensor([[2.0, 2.0]], requires_grad=True)
        t.cdist(x, y, p=p).sum().backward()
        return x.grad, y.grad

    agree(case)


SMALL: dict[str, Callable[[Any], Any]] = {
    "reversed": lambda t: reversed(t.arange(6).view(3, 2)),
    "reversed of no dimensions": lambda t: reversed(t.tensor(3)),
    "a class of one dtype as a base": lambda t: type("Mine", (t.FloatTensor,), {}),
    "a storage of the dtype": lambda t: t.ones(2).set_(t.arange(6.0).storage(), 1, (2, 2), (2, 1)),
    "a storage of another dtype": lambda t: t.ones(2).set_(t.arange(6).storage()),
    "strides of more than 64 bits": lambda t: t.empty(0).resize_([0, 4, 2**61]),
    "a fraction in a shape": lambda t: t.unravel_index(t.tensor(1), (2, 2.5)),
    "fractions as places": lambda t: t.unravel_index(t.tensor(1.5), (2, 2)),
    "text among elements": lambda t: "x" in t.ones(2),
    "the range of one dimension flattened": lambda t: (lambda x: x.flatten(1, 1) is x)(t.ones(2, 2)),
    "a strided vector made one": lambda t: t.ones(10)[::2].ravel().stride(),
    "int64 as an array": lambda t: t.ones(2, dtype=t.int64).numpy().dtype.char,
    "older forms": lambda t: (
        t.ones(2, 2).addr(2, t.ones(2), t.ones(2)),
        t.addmv(1, t.ones(2), 3, t.ones(2, 2), t.ones(2)),
    ),
}


@pytest.mark.parametrize("call", SMALL.values(), ids=SMALL)
def test_small_things(call: Callable[[Any], Any]) -> None:
    agree_or_raise(call)


def test_what_shows_the_same_memory() -> None:
    def case(t: Any) -> Any:
        x, other = t.ones(3, 4), t.ones(3, 4)
        same = t.tensor([]).set_(x)
        return (
            x.is_set_to(same),
            same.is_set_to(x),
            x.is_set_to(other),
            x.is_set_to(x.t()),
            t.tensor([]).is_set_to(t.tensor([])),
        )

    agree(case)


def test_older_forms_are_told() -> None:
    def case(t: Any) -> Any:
        before = t.is_warn_always_enabled()
        t.set_warn_always(True)
        try:
            with pytest.warns(UserWarning, match="This overload of addcmul is deprecated"):
                return t.addcmul(t.ones(2), 2, t.ones(2), t.ones(2))
        finally:
            t.set_warn_always(before)

    agree(case)


STORAGES: dict[str, Callable[[Any], Any]] = {
    "of numbers": lambda t: t.IntStorage([-1, 0, 70000]).tolist(),
    "of half precision": lambda t: t.BFloat16Storage([1.5, 2]).tolist(),
    "filled": lambda t: t.FloatStorage(3).fill_(2).tolist(),
    "as a tensor": lambda t: t.tensor(t.arange(3.0).storage()),
    "as a tensor of bytes": lambda t: t.tensor(t.arange(3.0).untyped_storage(), dtype=t.float32),
    "as a tensor of another dtype": lambda t: t.tensor(t.arange(3.0).storage(), dtype=t.int32),
}


@pytest.mark.parametrize("call", STORAGES.values(), ids=STORAGES)
def test_storages(call: Callable[[Any], Any]) -> None:
    agree_or_raise(call)


def test_distances_of_many_rows() -> None:
    def case(t: Any) -> Any:
        x = t.arange(90.0, dtype=t.float64).view(30, 3).sin().requires_grad_()
        apart = t.cdist(x, t.arange(60.0, dtype=t.float64).view(20, 3).cos())
        apart.sum().backward()
        return [[round(value, 8) for value in row] for row in [*apart.tolist(), *x.grad.tolist()]]

    agree(case)
