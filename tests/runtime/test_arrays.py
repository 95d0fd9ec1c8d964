"""What passes between tensors and NumPy is the same with NumPy 1 and NumPy 2, whose promotion and protocols differ."""

from __future__ import annotations

import numpy as np
import pytest

import mindtorch_v2 as torch


def test_an_array_without_a_copy_has_the_tensors_memory() -> None:
    x = torch.zeros(2)
    x.__array__(np.float32, copy=False)[0] = 1
    x.__array__(copy=False)[1] = 2
    assert x.tolist() == [1, 2]


def test_an_array_with_a_copy_has_its_own_memory() -> None:
    x = torch.zeros(2)
    for dtype in (None, np.float32, np.float64):
        x.__array__(dtype, copy=True)[:] = 1
    assert x.tolist() == [0, 0]


def test_another_dtype_without_a_copy_is_refused() -> None:
    expected = r"got float64 for a tensor of torch\.float32"
    with pytest.raises(ValueError, match=expected):
        torch.zeros(2).__array__(np.float64, copy=False)


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="NumPy 1 never asks for no copy")
def test_numpy_hands_the_refusal_on() -> None:
    with pytest.raises(ValueError, match="leave copy out"):
        np.asarray(torch.zeros(2), dtype="f8", copy=False)


@pytest.mark.parametrize("number", [np.float64(2), np.float32(2), np.float16(2), np.int64(2), np.uint8(2)])
def test_numbers_of_numpy_count_as_pythons(number: np.number) -> None:
    half = torch.ones(3, dtype=torch.float16)
    for result in (half * number, number * half, half.add(number)):
        assert type(result) is torch.Tensor
        assert result.dtype is torch.float16
    assert (torch.ones(3, dtype=torch.int8) + np.int64(100)).dtype is torch.int8


@pytest.mark.parametrize("value", [np.bool_(True), np.uint8(255), np.int16(-3), np.float16(0.5), np.complex64(1j)])
def test_a_tensor_of_a_number_has_its_dtype(value: np.generic) -> None:
    x = torch.tensor(value)
    assert str(x.dtype).endswith(value.dtype.name)
    assert x.item() == value.item()
