"""Values, dtypes and classes of errors that were once wrong, beside PyTorch: the same code under both imports."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch_v2
from tests.runtime.both import agree, agree_or_raise, outcome

Case = Callable[[Any], Any]


def refused(case: Case) -> None:
    """Both raise, ours PyTorch's class."""
    import torch

    theirs, ours = outcome(torch, case).error, outcome(mindtorch_v2, case).error
    assert theirs is not None, "PyTorch raises nothing"
    assert isinstance(ours, type(theirs)), f"expected {theirs!r}, got {ours!r}"


# ---------------------------------------------------------------- which overload a call is
@pytest.mark.parametrize("name", ["max", "min"])
def test_a_tensor_is_no_dimension_where_an_overload_takes_it(name: str) -> None:
    agree(lambda t: getattr(t, name)(t.tensor([[1, 9], [5, 2]]), t.tensor(1)))
    agree(lambda t: getattr(t.tensor([[1, 9], [5, 2]]), name)(t.tensor(4)))
    agree(lambda t: getattr(t, name)(t.tensor([[1.0, 9], [5, 2]]), t.tensor(0)))
    agree(lambda t: list(getattr(t, name)(t.tensor([[1, 9], [5, 2]]), 1)))


def test_a_tensor_without_dimensions_is_a_number_where_nothing_else_fits() -> None:
    agree(lambda t: t.ones(2, 3).argmax(t.tensor(1)))
    agree(lambda t: t.ones(2, 3).add(1, alpha=t.tensor(2)))
    agree(lambda t: t.ones(2, 3).clamp(max=t.tensor(0.5)))


@pytest.mark.parametrize("number", [1, 2.5, True])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_a_number_for_a_tensor_counts_as_a_number(name: str, number: Any) -> None:
    if name == "sub" and number is True:
        return
    for dtype in ("int16", "float16", "float64", "int64"):
        for dims in (True, False):

            def made(t: Any, dtype: str = dtype, dims: bool = dims) -> Any:
                return t.tensor([3, 4] if dims else 3, dtype=getattr(t, dtype))

            agree(lambda t, made=made: getattr(t.ops.aten, name).Tensor(made(t), number))
            agree(lambda t, made=made: getattr(t.ops.aten, name).Tensor(number, made(t)))
            agree(lambda t, made=made: str(t.result_type(made(t), number)))


def test_other_operators_take_no_number_for_a_tensor() -> None:
    refused(lambda t: t.ops.aten.maximum.default(t.ones(2), 1.5))
    refused(lambda t: t.ops.aten.eq.Tensor(t.ones(2), 1))
    refused(lambda t: t.maximum(t.ones(2), 1.5))
    agree(lambda t: t.floor_divide(7, t.tensor([2, 3])))
    agree(lambda t: t.zeros(2).copy_(3.0))


# ---------------------------------------------------------------- dtypes
def test_numbers_rank_below_tensors_without_dimensions() -> None:
    for dtype in ("uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16"):
        agree(lambda t, dtype=dtype: t.tensor(1, dtype=getattr(t, dtype)) + 1)
        agree(lambda t, dtype=dtype: 300 * t.tensor(1, dtype=getattr(t, dtype)))
    agree(lambda t: t.tensor(True) + 1)
    agree(lambda t: t.tensor(1, dtype=t.int16) + 1.0)


def test_scalar_tensor_is_of_the_default_dtype() -> None:
    for value in (1, True, 2.5):
        agree(lambda t, value=value: t.scalar_tensor(value))
    refused(lambda t: t.scalar_tensor(1 + 2j))


@pytest.mark.parametrize("kind", [int, float, bool, complex])
def test_python_types_are_dtypes(kind: type) -> None:
    agree(lambda t: str(t.zeros(2, dtype=kind).dtype))
    agree(lambda t: str(t.ones(2).to(kind).dtype))
    agree(lambda t: str(t.ones(2).to(dtype=kind).dtype))
    agree(lambda t: str(t.tensor([1], dtype=kind).dtype))
    if kind is not complex:
        agree(lambda t: str(t.ones(2).sum(dtype=kind).dtype))


def test_a_fraction_is_true() -> None:
    agree(lambda t: t.zeros(2, dtype=t.bool).fill_(0.37))
    agree(lambda t: t.zeros(2, dtype=t.bool).masked_fill(t.tensor([True, False]), 0.37))
    agree(lambda t: t.zeros(2, dtype=t.bool).masked_fill_(t.tensor([True, False]), t.tensor(0.37)))
    agree(lambda t: t.full((2,), 0.37, dtype=t.bool))


def test_numbers_out_of_range() -> None:
    refused(lambda t: t.tensor([300], dtype=t.uint8))
    refused(lambda t: t.tensor([-1], dtype=t.uint64))
    refused(lambda t: t.tensor([2**63]))
    refused(lambda t: t.tensor([1, float("nan")], dtype=t.int32))
    refused(lambda t: t.full((2,), 2**63))
    refused(lambda t: t.full((2,), -129, dtype=t.int8))
    refused(lambda t: t.full((2,), 1e39))
    refused(lambda t: t.zeros(2, dtype=t.float16).fill_(70000))
    agree(lambda t: t.tensor([-1, 255], dtype=t.uint8))
    agree(lambda t: t.full((1,), 2**64 - 1, dtype=t.uint64).tolist())
    agree(lambda t: t.zeros(2, dtype=t.int64).masked_fill(t.tensor([True, False]), 2**63 - 1))


def test_integers_take_no_fraction_as_a_factor() -> None:
    refused(lambda t: t.add(t.tensor([1]), t.tensor([2]), alpha=1.5))
    refused(lambda t: t.tensor([1]).sub_(t.tensor([2]), alpha=1.5))
    refused(lambda t: t.add(t.tensor([1]), 2, alpha=1.5))
    agree(lambda t: t.add(t.tensor([1]), t.tensor([2.0]), alpha=1.5))
    agree(lambda t: t.add(t.tensor([True]), t.tensor([True]), alpha=2))


def test_truth_values_have_no_difference() -> None:
    for case in (
        lambda t: t.tensor([True]) - t.tensor([False]),
        lambda t: t.tensor([1]) - t.tensor([False]),
        lambda t: t.tensor([True]) - 1,
        lambda t: 1 - t.tensor([True]),
        lambda t: t.tensor([1]) - True,
        lambda t: -t.tensor([True]),
    ):
        refused(case)


def test_index_put_of_another_dtype() -> None:
    refused(lambda t: t.zeros(2, dtype=t.int64).index_put_([t.tensor([0])], t.tensor([2.5])))
    refused(lambda t: operator.setitem(t.zeros(2, dtype=t.int64), t.tensor([0]), t.tensor([2.5])))
    agree(lambda t: operator.setitem(t.zeros(2, dtype=t.int64), t.tensor([0]), 2.5))


# ---------------------------------------------------------------- values
def test_ranges_of_integers() -> None:
    agree(lambda t: t.arange(-0.9, 2.1, 2.0, dtype=t.int64))
    agree(lambda t: t.arange(-0.9, 2.1, 2.0, dtype=t.uint8))
    agree(lambda t: t.linspace(4.3, -3, 50, dtype=t.int64))
    refused(lambda t: t.arange(0, 1, 0.3, dtype=t.int64))


def test_matrix_products_of_integers() -> None:
    def product(t: Any, **factors: Any) -> Any:
        x = t.tensor([[[1, 2], [3, 4]]])
        return t.baddbmm(x, x, x, **factors)

    for factor in (2.5, 2, 2.0, 0.5):
        agree(lambda t, factor=factor: product(t, beta=factor))
        agree(lambda t, factor=factor: product(t, alpha=factor))
    refused(lambda t: t.baddbmm(t.ones(1, 2, 2), t.ones(1, 2, 2).long(), t.ones(1, 2, 2).long()))


def test_squares_and_sums_of_truth_values() -> None:
    agree(lambda t: t.square(t.tensor([True, False])))
    agree(lambda t: t.tensor([[True, False], [True, True]]).sum_to_size(1, 2))
    agree(lambda t: t.tensor([[200, 100]], dtype=t.uint8).sum_to_size(1))
    agree(lambda t: t.tensor([[True, False]]).sum_to_size(1, 2))


def test_negative_powers_of_integers() -> None:
    refused(lambda t: t.tensor([2]) ** -1)
    refused(lambda t: t.tensor([2]).pow_(-1))
    agree(lambda t: t.tensor([2]) ** -1.0)
    agree(lambda t: t.tensor([2.0]) ** -1)
    agree(lambda t: t.tensor([3]) ** 39)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_powers_whose_exponents_the_dtype_does_not_hold(dtype: str) -> None:
    for exponent in (257, 2049, 2**24 + 1, 2**32 + 1, -(2**40) - 1, 2**53 + 1, 0.1, 1e39, 1e-300, -1e-40, math.inf):
        agree_or_raise(lambda t, e=exponent: t.tensor([-1.0, 1.0, -0.0], dtype=getattr(t, dtype)).pow(e))
        agree_or_raise(lambda t, e=exponent: t.tensor([-1.0, 1.0, -0.0], dtype=getattr(t, dtype)).pow_(e))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("base", [-2.5, -1, 0, 0.0, 2, math.inf])
def test_gradients_of_powers_of_numbers(base: float, dtype: str) -> None:
    def gradient(t: Any) -> Any:
        x = t.tensor([-1.0, 0.0, 0.5, 2.0], dtype=getattr(t, dtype), requires_grad=True)
        result = t.pow(base, x)
        result.sum().backward()
        return result, x.grad

    agree(gradient)


def test_dropout_of_everything() -> None:
    for values in ([True, False], [1, 2], [math.inf, 1.0]):
        agree(lambda t, values=values: t.nn.functional.dropout(t.tensor(values), 1.0))


def test_scatter_add_does_not_broadcast() -> None:
    refused(lambda t: t.zeros(3, 3).scatter_add(0, t.tensor([[0, 1, 2], [0, 1, 2]]), t.ones(1, 3)))
    refused(lambda t: t.zeros(3).scatter_add(0, t.tensor([0, 1, 2]), t.ones(1)))
    refused(lambda t: t.zeros(3).scatter_add(0, t.tensor([0, 1, 2]), t.ones(())))
    agree(lambda t: t.zeros(3).scatter_add(0, t.tensor([1]), t.ones(2)))
    agree(lambda t: t.zeros(3).scatter_add(0, t.tensor(1), t.ones(())))
    agree(lambda t: t.arange(3.0).gather(0, t.tensor(1)))


def test_a_condition_is_a_truth_value() -> None:
    refused(lambda t: t.where(t.tensor([1.0, 0.0]), t.ones(2), t.zeros(2)))
    refused(lambda t: t.where(t.tensor([1, 0]), t.ones(2), 0.0))
    agree(lambda t: t.where(t.tensor([1, 0], dtype=t.uint8), t.ones(2), t.zeros(2)))


def test_class_weights_of_nll_loss() -> None:
    for weight in ([1.0, 2.0], [1.0, 2.0, 3.0, 4.0], [[1.0, 2.0, 3.0]]):

        def loss(t: Any, weight: Any = weight) -> Any:
            return t.nn.functional.nll_loss(t.zeros(2, 3), t.tensor([0, 2]), weight=t.tensor(weight))

        refused(loss)
    refused(lambda t: t.nn.functional.nll_loss(t.zeros(2, 3), t.tensor([0, 2], dtype=t.int32)))
    refused(lambda t: t.nn.functional.nll_loss(t.zeros(2, 3), t.tensor([0, 2]), weight=t.ones(3).double()))


def test_nll_loss_of_more_scores_than_memory() -> None:
    def gradient(t: Any, reduction: str) -> Any:
        scores = t.empty((0, 2**62), requires_grad=True)
        loss = t.nn.functional.nll_loss(scores, t.zeros(0, dtype=t.int64), reduction=reduction)
        loss.sum().backward()
        return loss, scores.grad.shape

    for reduction in ("none", "mean", "sum"):
        agree(lambda t, reduction=reduction: gradient(t, reduction))

    def few_in_memory(t: Any) -> Any:
        scores = t.tensor([[-1.0], [2.0]]).expand(2, 2**40)
        return t.nn.functional.nll_loss(scores, t.tensor([2**40 - 1, 0]), reduction="none")

    agree(few_in_memory)


def test_slopes_that_a_kernel_cannot_compute_with() -> None:
    for slope in (1e300, -1e300, 2**70, 1j, math.inf, 1e39, True):
        for dtype in ("float16", "bfloat16", "float32", "float64"):
            agree_or_raise(
                lambda t, slope=slope, dtype=dtype: t.nn.functional.leaky_relu(
                    t.tensor([-1.0, 2.0], dtype=getattr(t, dtype)), slope
                )
            )
    agree(lambda t: t.nn.functional.leaky_relu(t.ones(2, device="meta"), 1e300))


@pytest.mark.parametrize("dtype", [float, int, complex, bool, str, "float", 1])
def test_norms_in_types_of_pythons(dtype: Any) -> None:
    agree_or_raise(lambda t: t.norm(t.tensor([3.0, 4.0]), dtype=dtype))
    agree_or_raise(lambda t: t.tensor([3.0, 4.0]).norm(p=1, dim=0, dtype=dtype))


@pytest.mark.parametrize("p", [math.nan, -1.5, 0, 1, 2, 3, math.inf, -math.inf], ids=repr)
@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3), (2, 3)])
def test_norms_of_nothing(p: float, shape: tuple[int, ...]) -> None:
    for dim in (None, 0, (-1,), 5, [0, len(shape) - 1]):
        agree_or_raise(lambda t, dim=dim: t.ones(shape).norm(p, dim))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy(dtype: str, smoothing: float) -> None:
    def gradients(t: Any, target: Any, weights_grad: bool) -> Any:
        scores = t.tensor([[1.0, 2, 3], [1, 5, 2]], dtype=getattr(t, dtype), requires_grad=True)
        weight = t.tensor([1.0, 2, 3], dtype=getattr(t, dtype), requires_grad=weights_grad)
        loss = t.nn.functional.cross_entropy(scores, target(t), weight=weight, label_smoothing=smoothing)
        loss.backward()
        return loss, scores.grad, weight.grad

    shares = [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]
    agree(lambda t: gradients(t, lambda t: t.tensor([0, 1]), False))
    agree(lambda t: gradients(t, lambda t: t.tensor(shares, dtype=getattr(t, dtype)), True))
    refused(lambda t: gradients(t, lambda t: t.tensor([0, 1]), True))


# ---------------------------------------------------------------- NumPy's arrays beside tensors
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "lt", "matmul"])
def test_a_tensor_and_an_array(name: str) -> None:
    function = getattr(operator, name)
    for array in (np.array([1.0, 2.0]), np.array([3, 4], dtype="i4"), np.array(3.5)):
        for left in (True, False):

            def case(t: Any, array: Any = array, left: bool = left) -> Any:
                tensor = t.tensor([1.0, 2.0])
                return function(tensor, array) if left else function(array, tensor)

            import torch

            if outcome(torch, case).error is None:
                agree(case)
            else:
                refused(case)


def test_functions_of_numpy_on_tensors_give_tensors() -> None:
    agree(lambda t: np.add(t.tensor([1.0, 2.0]), np.array([1.0, 2.0])))
    agree(lambda t: np.sin(t.tensor([1.0, 2.0])))
    agree(lambda t: t.tensor([1, 2]) + np.int64(3))


@pytest.mark.parametrize("base", [0, 0.0, -2, 0.5, 3])
def test_the_gradient_of_a_number_to_the_power_of_a_tensor(base: float) -> None:
    def case(t: Any) -> Any:
        exponent = t.tensor([0.0, 1.0, -1.0, 2.0], requires_grad=True)
        t.ops.aten.pow.Scalar(base, exponent).sum().backward()
        return exponent.grad

    agree(case)


def test_the_gradient_of_a_join_of_nothing() -> None:
    def case(t: Any) -> Any:
        nothing = t.zeros(0, requires_grad=True)
        t.cat([nothing, nothing], 5).sum().backward()
        return nothing.grad

    agree(case)


def test_an_angle_without_a_direction_has_no_slope() -> None:
    for value in (0.0, 1e-30):

        def case(torch: Any, value: float = value) -> Any:
            x, y = (torch.full((2,), value, requires_grad=True) for _ in range(2))
            torch.atan2(x, y).sum().backward()
            return [x.grad, y.grad]

        agree(case)


JOINED: dict[str, Case] = {
    "cat": lambda torch: torch.cat([_last(torch), _last(torch)], 1).stride(),
    "cat of both formats": lambda torch: torch.cat([_last(torch), _last(torch).contiguous()], 1).stride(),
    "cat of several dtypes": lambda torch: torch.cat([_last(torch), _last(torch).long()], 0).stride(),
    "values": lambda torch: torch.cat([_last(torch), _last(torch) + 1], 2),
    "flip": lambda torch: _last(torch).flip(0).stride(),
    "flip of what is transposed": lambda torch: torch.arange(12.0).reshape(3, 4).t().flip(0, 1).stride(),
    "roll": lambda torch: _last(torch).roll(1, 0).stride(),
}


def _last(torch: Any) -> Any:
    return torch.arange(48.0).reshape(2, 2, 3, 4).to(memory_format=torch.channels_last)


@pytest.mark.parametrize("name", JOINED)
def test_layouts_of_what_is_joined_and_turned(name: str) -> None:
    agree(JOINED[name])
