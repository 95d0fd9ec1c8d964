"""What operators write to, numbers beside half precision, and what tensors are made of, beside PyTorch's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch_v2
from tests.runtime.both import agree, agree_or_raise

Case = Callable[[Any], Any]


def rows(t: Any) -> Any:
    return t.tensor([[1.0, 2.0, 3.0], [3.0, 4.0, 7.0]])


# ---------------------------------------------------------------- deviations, norms
SPREADS: dict[str, Callable[[Any, Any], Any]] = {
    "over a dimension": lambda f, t: f(rows(t), 0, out=t.empty(0)),
    "of all elements": lambda f, t: f(rows(t), out=t.empty(0)),
    "with all that there is": lambda f, t: f(rows(t), (0, 1), True, True, out=t.empty(0)),
    "with a correction": lambda f, t: f(rows(t), None, correction=0, keepdim=True, out=t.empty(0)),
    "into a double": lambda f, t: f(rows(t), 0, out=t.empty(0, dtype=t.float64)),
    "into an integer": lambda f, t: f(rows(t), 0, out=t.empty(0, dtype=t.int8)),
    "of what requires grad": lambda f, t: f(rows(t).requires_grad_(), 0, out=t.empty(3)),
    "of complex numbers": lambda f, t: f(rows(t) + 1j, 0, out=t.empty(0)),
    "of integers": lambda f, t: f(rows(t).int(), 0, out=t.empty(0)),
    "into a number": lambda f, t: f(rows(t), 0, out=3),
    "with `unbiased` in place of a dimension": lambda f, t: f(rows(t), True, out=t.empty(0)),
}


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("case", SPREADS.values(), ids=SPREADS)
def test_spreads_write_to_what_is_given(case: Callable[[Any, Any], Any], name: str) -> None:
    agree_or_raise(lambda t: case(getattr(t, name), t))
    made = mindtorch_v2.empty(3)
    assert getattr(mindtorch_v2, name)(rows(mindtorch_v2), 0, out=made) is made


@pytest.mark.parametrize("name", ["var", "std"])
def test_spreads_are_operators(name: str) -> None:
    def case(t: Any) -> Any:
        packet = getattr(t.ops.aten, name)
        x = rows(t).requires_grad_()
        found = packet.correction(x, [1], correction=0)
        found.sum().backward()
        return packet(x), packet.dim(x, [0], False), found, x.grad

    agree(case)


@pytest.mark.parametrize("p", [2, "fro", 1, 0, float("inf"), "nuc", None])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_norms_write_to_what_is_given(p: Any, dtype: str) -> None:
    agree_or_raise(lambda t: t.norm(rows(t), p, out=t.empty(0, dtype=getattr(t, dtype))))
    if p != "nuc":
        agree_or_raise(lambda t: t.norm(rows(t), p, 1, True, out=t.empty(0, dtype=getattr(t, dtype))))


def warned(case: Case, t: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        case(t)
    return [str(one.message).partition(".")[0] for one in found]


FEW: dict[str, Callable[[Any, Any], Any]] = {
    "one element": lambda f, t: f(t.ones(1)),
    "a row each": lambda f, t: f(t.ones(3, 1), dim=1),
    "less than the correction": lambda f, t: f(t.ones(3), correction=5),
    "nothing": lambda f, t: f(t.ones(3, 0), dim=1),
    "no results": lambda f, t: f(t.ones(0, 3), dim=1),
    "many": lambda f, t: f(t.ones(5000), correction=5000),
    "half precision": lambda f, t: f(t.ones(1).half()),
    "enough": lambda f, t: f(t.ones(3)),
    "without a correction": lambda f, t: f(t.ones(1), correction=0),
    "without memory": lambda f, t: f(t.ones(1, device="meta")),
}


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("case", FEW.values(), ids=FEW)
def test_variances_of_too_few_are_warned_of(case: Callable[[Any, Any], Any], name: str) -> None:
    ours, theirs = (warned(lambda t: case(getattr(t, name), t), t) for t in (mindtorch_v2, torch))
    assert ours == theirs
    assert len(warned(lambda t: case(getattr(t, f"{name}_mean"), t), mindtorch_v2)) == len(ours)


# ---------------------------------------------------------------- dtypes of outputs
TOLD: dict[str, Callable[[Any, Any, Any], Any]] = {
    name: lambda t, out, dtype, name=name: getattr(t, name)(rows(t), 0, dtype=dtype, out=out)
    for name in ("sum", "mean", "nansum", "nanmean", "prod", "cumsum", "cumprod")
}


@pytest.mark.parametrize("out", ["int8", "float32", "float64"])
@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
@pytest.mark.parametrize("name", TOLD)
def test_a_dtype_is_that_of_the_output(name: str, out: str, dtype: str) -> None:
    agree_or_raise(lambda t: TOLD[name](t, t.empty(0, dtype=getattr(t, out)), getattr(t, dtype)))


SAID: dict[str, tuple[Case, str]] = {
    "all": (lambda t: t.all(t.ones(2), out=t.empty(0)), "all only supports bool tensor for result, got"),
    "any": (lambda t: t.any(t.ones(2), 0, out=t.empty(0)), "any only supports bool tensor for result, got"),
    "mode": (
        lambda t: t.mode(t.ones(2), out=(t.empty(0), t.empty(0))),
        "expected scalar type 'Long' but got 'Float' for indices output",
    ),
    "nonzero": (
        lambda t: t.nonzero(t.ones(2), out=t.empty(0)),
        "nonzero: Expected out tensor to have scalar type Long",
    ),
    "quantile": (
        lambda t: t.quantile(t.ones(2), 0.5, out=t.empty(0, dtype=t.float64)),
        "quantile() out tensor must be same dtype as the input tensor",
    ),
    "histogram": (
        lambda t: t.histogram(t.ones(2), out=(t.empty(0, dtype=t.float64), t.empty(0))),
        "input tensor and hist tensor should have the same dtype",
    ),
    "frexp": (
        lambda t: t.frexp(t.ones(2), out=(t.empty(0, dtype=t.float64), t.empty(0, dtype=t.int32))),
        "torch.frexp() expects mantissa to have dtype",
    ),
    "searchsorted": (
        lambda t: t.searchsorted(t.ones(2), t.ones(2), out=t.empty(0)),
        "torch.searchsorted(): output tensor's dtype is wrong",
    ),
    "float_power": (
        lambda t: t.float_power(t.ones(2), 2, out=t.empty(0)),
        "operation's result requires dtype",
    ),
    "isposinf": (lambda t: t.isposinf(t.ones(2), out=t.empty(0)), "does not support non-boolean outputs"),
    "complex": (
        lambda t: t.complex(t.ones(2), t.ones(2), out=t.empty(0)),
        "Expected object of scalar type ComplexFloat but got scalar type Float for argument 'out'",
    ),
    "cholesky": (
        lambda t: t.linalg.cholesky(t.eye(2), out=t.empty(0, dtype=t.int32)),
        "Expected out tensor to have dtype float, but got int instead",
    ),
    "eigenvalues": (
        lambda t: t.linalg.eigvals(t.eye(2), out=t.empty(0)),
        "Expected eigenvalues to be safely castable from ComplexFloat dtype, but got eigenvalues with dtype Float",
    ),
    "pinv": (
        lambda t: t.linalg.pinv(t.eye(2), out=t.empty(0, dtype=t.int32)),
        "Expected result to be safely castable from Float dtype, but got result with dtype Int",
    ),
    "in place": (
        lambda t: t.ones(2).int().mul_(1.5),
        "result type Float can't be cast to the desired output type Int",
    ),
    "an integer's mean": (
        lambda t: t.ones(2).int().mean(),
        "could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Int",
    ),
    "two dtypes of a product": (
        lambda t: t.bmm(t.ones(1, 2, 2), t.ones(1, 2, 2).double()),
        "expected scalar type Float but found Double",
    ),
    "no mask": (lambda t: t.where(t.ones(2), 1, 2), "but got a tensor with dtype Float"),
    "complex numbers of integers": (
        lambda t: t.complex(t.ones(2).int(), t.ones(2).int()),
        "Expected both inputs to be Half, Float or Double tensors but got Int and Int",
    ),
    "two masks": (
        lambda t: t.tensor([True]) - t.tensor([True]),
        "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()`",
    ),
    "a mask": (
        lambda t: t.tensor([True]) - t.tensor([1]),
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask",
    ),
    "indices apart": (
        lambda t: t.nonzero(t.ones(2), as_tuple=True, out=t.empty(0, dtype=t.int64)),
        "nonzero does not support the out kwarg when as_tuple is True",
    ),
    "complex steps": (
        lambda t: t.cumulative_trapezoid(t.ones(2, 2), dx=1j),
        "cumulative_trapezoid: Currently, we only support dx as a real number",
    ),
    "strides": (
        lambda t: t.as_strided(t.ones(3, 3), (1, 1), (2, -1)),
        "as_strided: Negative strides are not supported at the moment, got strides: [2, -1]",
    ),
    "ends": (
        lambda t: t.linspace(0, 1j, 5, dtype=t.float32),
        "can't be safely cast to passed dtype Float",
    ),
    "a range of integers": (
        lambda t: t.histc(t.tensor([1, 2, 3]), bins=4, min=5, max=1),
        "max must be larger than min",
    ),
}


@pytest.mark.parametrize(("case", "words"), SAID.values(), ids=SAID)
def test_misfits_are_said_in_pytorchs_words(case: Case, words: str) -> None:
    agree(case, words)


@pytest.mark.parametrize("t", [mindtorch_v2, torch], ids=["mindtorch_v2", "torch"])
def test_a_factor_with_a_zero_has_no_inverse(t: Any) -> None:
    factors = t.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]]])
    with pytest.raises(
        t.linalg.LinAlgError, match=r"\(Batch element 1\): The diagonal element 2 is zero, the inversion"
    ):
        t.cholesky_inverse(factors)


def test_an_output_that_is_refused_stays_as_it_was() -> None:
    def case(t: Any) -> Any:
        out = t.zeros(3, dtype=t.int32)
        with pytest.raises(RuntimeError):
            t.logcumsumexp(rows(t), 0, out=out)
        return out

    agree(case)


# ---------------------------------------------------------------- what has as many elements as its output
FILLS: dict[str, Callable[[Any, Any], Any]] = {
    "arange": lambda t, out: t.arange(0, 4, out=out),
    "range": lambda t, out: t.range(0, 3, out=out),
    "linspace": lambda t, out: t.linspace(0, 3, 4, out=out),
    "logspace": lambda t, out: t.logspace(0, 3, 4, base=2, out=out),
}


@pytest.mark.parametrize("fill", FILLS.values(), ids=FILLS)
def test_what_is_filled_keeps_its_shape(fill: Callable[[Any, Any], Any]) -> None:
    def case(t: Any) -> Any:
        whole = t.zeros(2, 3)
        made = fill(t, whole.narrow(1, 1, 2))
        turned = t.zeros(2, 2).t()
        fill(t, turned)
        return whole, made, made.stride(), turned, fill(t, t.empty(0)), fill(t, t.zeros(3))

    agree(case)


# ---------------------------------------------------------------- numbers beside half precision
ENDS = (0.3, 0.1, 0.7, -0.3, 1e6, -1e6, 1e-9, 65520.0, 1e39, float("inf"), float("nan"), 3, True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons_with_a_number_are_in_the_tensors_dtype(name: str, dtype: str) -> None:
    def case(t: Any) -> Any:
        values = [0.3, 0.1, 0.7, -0.3, float("inf"), -float("inf"), float("nan"), 0.0, 1.0, 3.0, 65504.0]
        x = t.tensor(values, dtype=t.float64).to(getattr(t, dtype))
        compared = [getattr(x, name)(end) for end in ENDS]
        beside = [getattr(x, name)(t.tensor(end, dtype=t.float64)) for end in ENDS]
        single = [getattr(x[0], name)(t.tensor(0.3, dtype=t.float64)), getattr(t.tensor(0.3), name)(x)]
        return compared, beside, single

    agree(case)


SHRINKING: dict[str, Callable[[Any, Any, float], Any]] = {
    "hardshrink": lambda t, x, end: t.nn.functional.hardshrink(x, end),
    "softshrink": lambda t, x, end: t.nn.functional.softshrink(x, end),
    "threshold": lambda t, x, end: t.nn.functional.threshold(x, end, 9),
    "hardtanh": lambda t, x, end: t.nn.functional.hardtanh(x, -end, end),
    "clamp": lambda t, x, end: x.clamp(min=-end, max=end),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", SHRINKING)
def test_activations_with_a_number(name: str, dtype: str) -> None:
    def case(t: Any) -> Any:
        found = []
        for end in (0.3, 0.1, 0.7):
            x = t.tensor([end, -end, 0.3, 0.1, 0.7, 5.0], dtype=getattr(t, dtype), requires_grad=True)
            made = SHRINKING[name](t, x, end)
            made.sum().backward()
            found.append((made, x.grad))
        return found

    agree(case)


def test_logarithms_of_one_and_little_more() -> None:
    values = [1e-19 + 1e-18j, 1e-19 + 0j, 0.3 + 0.2j, -0.3 + 0.2j, 2 + 3j, -1 + 1e-9j, 0j]
    expected, found = (t.log1p(t.tensor(values, dtype=t.complex128)).numpy() for t in (torch, mindtorch_v2))
    np.testing.assert_allclose(found.real, expected.real, rtol=1e-12)
    np.testing.assert_allclose(found.imag, expected.imag, rtol=1e-12)


# ---------------------------------------------------------------- what tensors are made of
class Handed:
    """Hands over a tensor's memory by DLPack."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __dlpack__(self, **options: Any) -> Any:
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.tensor.__dlpack_device__()


class Broken:
    """Says that it is a sequence, and has no items."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, item: Any) -> Any:
        raise TypeError(item)


def is_shared(t: Any, how: Callable[[Any, Any], Any]) -> bool:
    given = t.ones(3)
    return bool(how(t, given).data_ptr() == given.data_ptr())


def nested(*items: Any) -> list[Any]:
    made = list(items)
    made.append(made)
    return made


MADE: dict[str, Case] = {
    "what has memory": lambda t: t.tensor(Handed(t.ones(3))),
    "in another dtype": lambda t: t.tensor(Handed(t.ones(3)), dtype=t.int32),
    "its memory": lambda t: is_shared(t, lambda t, x: t.as_tensor(Handed(x))),
    "not its memory": lambda t: is_shared(t, lambda t, x: t.tensor(Handed(x))),
    "an array of it": lambda t: is_shared(t, lambda t, x: t.asarray(Handed(x))),
    "an array of it, not copied": lambda t: t.asarray(Handed(t.ones(3)), copy=False),
    "a capsule": lambda t: is_shared(t, lambda t, x: t.asarray(t.utils.dlpack.to_dlpack(x))),
    "a capsule, copied": lambda t: is_shared(t, lambda t, x: t.asarray(t.utils.dlpack.to_dlpack(x), copy=True)),
    "an alias of another dtype": lambda t: t.asarray(t.ones(3), dtype=t.float64, copy=False),
    "no sequence": lambda t: t.tensor([[1, 2], 3]),
    "an array and a number": lambda t: t.tensor([[np.zeros(3), 2.0]]),
    "text": lambda t: t.tensor([[1, 2], "ab"]),
    "nothing": lambda t: t.tensor([[1, 2], None]),
    "a list in itself": lambda t: t.tensor(nested()),
    "a list in itself, later": lambda t: t.tensor(nested(0)),
    "a sequence without items": lambda t: t.tensor(Broken()),
    "more than a float": lambda t: t.tensor([1e39, -1e39]),
    "no bytes": lambda t: t.frombuffer(bytearray(8), dtype=t.float32, count=0),
    "a size and an output": lambda t: t.normal(1.0, 0.0, (2,), dtype=t.float32, out=t.empty(0)),
    "an output of another dtype": lambda t: t.normal(1.0, 0.0, (2,), dtype=t.float64, out=t.empty(0)),
    "an output that is followed": lambda t: t.full((2,), 1.0, out=t.empty(0), requires_grad=True),
    "a range that is followed": lambda t: t.range(0, 3, requires_grad=True),
    "a range in a dtype": lambda t: t.range(0, 3, 0.5, dtype=t.float64, out=t.empty(0, dtype=t.float64)),
    "no matrices": lambda t: t.block_diag(),
    "vectors of two devices": lambda t: t.meshgrid(t.ones(2), t.ones(2, device="meta"), indexing="ij"),
    "bytes in random order": lambda t: t.randperm(256, dtype=t.uint8).sort().values,
    "too many bytes in random order": lambda t: t.randperm(257, dtype=t.uint8),
    "new, of a tensor": lambda t: t.ones(2).new(t.ones(2), device="cpu"),
    "truth by NumPy": lambda t: np.greater_equal(t.tensor([1, 2]), 2),
    "numbers by NumPy": lambda t: np.add(t.tensor([1, 2]), 2),
    "segments of nothing": lambda t: t._segment_reduce(t.ones(0), "max", lengths=t.tensor([0, 0])),
    "one storage": lambda t: [t._C._is_alias_of(x := t.ones(2), x[1:]), t._C._is_alias_of(x, t.ones(2))],
}


@pytest.mark.parametrize("case", MADE.values(), ids=MADE)
def test_making_tensors(case: Case) -> None:
    agree_or_raise(case)


@pytest.mark.parametrize("initial", [None, 2.0])
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
def test_gradients_of_segments(reduce: str, initial: float | None) -> None:
    def case(t: Any) -> Any:
        nan = float("nan")
        data = [
            [1.0, 1.0],
            [nan, 1.0],
            [3.0, nan],
            [4.0, 0.0],
            [3.0, 2.0],
            [4.0, 0.0],
            [5.0, 0.0],
            [nan, 3.0],
            [nan, 2.0],
        ]
        x = t.tensor(data, dtype=t.float64, requires_grad=True)
        made = t._segment_reduce(x, reduce, lengths=t.tensor([1, 2, 4, 0, 2]), initial=initial)
        made.sum().backward()
        return made, x.grad

    agree(case)


def test_complex_numbers_beside_a_default_dtype_of_half_precision() -> None:
    def case(t: Any) -> Any:
        t.set_default_dtype(t.float16)
        try:
            return [str(t.full((2,), number).dtype) for number in (1j, 1.0, 1, True)]
        finally:
            t.set_default_dtype(t.float32)

    agree(case)


ONCE: dict[str, Case] = {
    "meshgrid": lambda t: t.meshgrid(t.ones(2)),
    "lists of arrays": lambda t: t.tensor([np.array([0]), np.array([1])]),
    "bucketize": lambda t: t.bucketize(t.ones(3, 4).t(), t.ones(3)),
    "stft": lambda t: t.stft(t.ones(100), 10, return_complex=True),
    "istft": lambda t: t.istft(t.ones(51, 5, dtype=t.complex64), 100, length=100),
}


@pytest.mark.parametrize("case", ONCE.values(), ids=ONCE)
def test_warnings_that_come_once(case: Case) -> None:
    found = []
    for t in (mindtorch_v2, torch):
        t.set_warn_always(True)
        try:
            found.append(warned(case, t))
        finally:
            t.set_warn_always(False)
    assert set(found[0]) == set(found[1]) != set()
