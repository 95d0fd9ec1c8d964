"""Sizes, strides, offsets and device indices that fit in no 64 bits, or in no memory: PyTorch's error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch_v2
from mindtorch_v2 import _core, ops
from tests.runtime.both import agree

HUGE = 2**62

REFUSED: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda t: t.zeros(HUGE + 4),
    "empty_of_four_bytes": lambda t: t.empty(HUGE + 1)[10:20].fill_(3),
    "zeros_float64": lambda t: t.zeros((2**61 + 1,), dtype=t.float64),
    "more_bytes_than_63_bits": lambda t: t.empty(2**61),
    "product": lambda t: t.empty(HUGE, 4),
    "product_that_is_0": lambda t: t.empty(HUGE, 4, 0),
    "strides_of_an_empty_tensor": lambda t: t.empty(0, 2**32, 2**32),
    "empty_on_meta": lambda t: t.empty(2**32, 2**32, device="meta"),
    "bytes_on_meta": lambda t: t.empty(2**31, 2**31, device="meta"),
    "ones": lambda t: t.ones(HUGE),
    "full": lambda t: t.full((HUGE, 4), 1.0),
    "eye": lambda t: t.eye(2**32),
    "eye_negative": lambda t: t.eye(-1),
    "linspace": lambda t: t.linspace(0, 1, 2**63 - 1),
    "arange": lambda t: t.arange(HUGE),
    "arange_of_floats": lambda t: t.arange(1e30),
    "arange_to_infinity": lambda t: t.arange(float("inf")),
    "arange_to_nan": lambda t: t.arange(float("nan")),
    "arange_of_tiny_steps": lambda t: t.arange(0, 1, 1e-300),
    "new_zeros": lambda t: t.zeros(3).new_zeros((HUGE, 4)),
    "empty_like": lambda t: t.empty_like(t.zeros(1, dtype=t.uint8).expand(HUGE), dtype=t.float64),
    "clone": lambda t: t.zeros(1).expand(HUGE).clone(),
    "arithmetic": lambda t: t.zeros(1).expand(HUGE) + 1,
    "broadcast": lambda t: t.empty(2**32, 1, device="meta") + t.empty(2**32, device="meta"),
    "matmul": lambda t: t.empty(2**32, 1, device="meta") @ t.empty(1, 2**32, device="meta"),
    "repeat": lambda t: t.zeros(3).repeat(HUGE),
    "repeat_product": lambda t: t.zeros(3).repeat(HUGE, 4),
    "as_strided_reach": lambda t: t.ones(4).as_strided((3,), (2**61,)).sum(),
    "as_strided_sum": lambda t: t.ones(3).as_strided((2, 2), (100, HUGE - 100)).tolist(),
    "as_strided_offset": lambda t: t.ones(3).as_strided((1,), (1,), 2**63 - 1),
    "as_strided_negative_offset": lambda t: t.ones(3).as_strided((0,), (1,), -1),
    "as_strided_negative_size": lambda t: t.ones(3).as_strided((-1,), (1,)),
    "as_strided_numel": lambda t: t.ones(1).as_strided((HUGE, 2), (0, 0)),
    "as_strided_numel_of_0": lambda t: t.ones(1).as_strided((HUGE, 4), (0, 0)),
    "as_strided_from_afar": lambda t: t.zeros(4).as_strided((0,), (1,), HUGE).as_strided((1,), (1,)),
    "expand": lambda t: t.ones(1).expand(2**40, 2**40),
    "resize_": lambda t: t.ones(3).resize_(HUGE + 1),
    "resize_product": lambda t: t.ones(3).resize_(2**40, 2**40),
    "resize_from_an_offset": lambda t: t.zeros(3)[1:].resize_(2**61 - 1),
    "resize_from_afar": lambda t: t.zeros(4).as_strided((0,), (1,), 2**63 - 1).resize_(1),
    "resize_on_meta": lambda t: t.zeros(3, device="meta").resize_(2**32, 2**32),
    "resize_negative": lambda t: t.ones(3).resize_(-1),
    "view_of_an_empty_tensor": lambda t: t.zeros(0).view(HUGE, 4, 0),
    "view_with_a_wildcard": lambda t: t.zeros(0).view(2**32, 2**32, -1),
    "reshape": lambda t: t.zeros(3).reshape(HUGE, 4),
    "step_of_a_slice": lambda t: t.zeros(3, 3)[:: 2**62],
    "step_of_more_than_64_bits": lambda t: t.zeros(3, 3)[:: 2**63],
    "numpy": lambda t: t.zeros(1).expand(HUGE).numpy(),
    "storage": lambda t: t.UntypedStorage(HUGE),
    "negative_storage": lambda t: t.zeros(1).untyped_storage().resize_(-1),
    "storage_of_words": lambda t: t.zeros(1).untyped_storage().resize_("a"),
    "out_of_memory": lambda t: t.empty(2**46),
}

TOO_WIDE: dict[str, Callable[[Any], Any]] = {
    "empty": lambda t: t.empty(2**63),
    "empty_of_a_tuple": lambda t: t.empty((-(2**64),)),
    "expand": lambda t: t.ones(1).expand(2**63),
    "resize_": lambda t: t.ones(3).resize_(2**63),
    "as_strided": lambda t: t.ones(3).as_strided((1,), (1,), 2**63),
    "select": lambda t: t.zeros(3, 3).select(2**63, 0),
    "size": lambda t: t.zeros(3, 3).size(2**63),
    "storage": lambda t: t.zeros(1).untyped_storage().resize_(2**63),
}

GIVEN: dict[str, Callable[[Any], Any]] = {
    "empty_sizes": lambda t: t.empty(HUGE, 0, 4).stride(),
    "most_bytes_of_meta": lambda t: t.empty(2**63 - 1, dtype=t.uint8, device="meta").numel(),
    "empty_view_far_away": lambda t: t.ones(3).as_strided((0,), (1,), 2**63 - 1).storage_offset(),
    "empty_view_without_an_address": lambda t: t.zeros(4).as_strided((0,), (1,), HUGE).data_ptr(),
    "as_strided_of_0": lambda t: t.ones(3).as_strided((0, HUGE, HUGE), (1, 1, 1)).numel(),
    "expand": lambda t: t.ones(1).expand(2**63 - 1).numel(),
    "slice_ends": lambda t: t.zeros(3, 3)[-(2**70) : 2**63],
    "one_index_far_apart": lambda t: t.zeros(1).as_strided((1,), (HUGE,)).tolist(),
    "split": lambda t: t.zeros(3, 3).split(HUGE)[0],
    "chunk": lambda t: t.zeros(3, 3).chunk(HUGE)[0],
    "array_of_many": lambda t: t.zeros(1).expand(2**60).numpy().shape,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_fits_in_no_memory_is_refused_with_pytorchs_error(name: str) -> None:
    agree(REFUSED[name], quoted="")


@pytest.mark.parametrize("name", TOO_WIDE)
def test_an_int_of_more_than_64_bits_is_refused_with_pytorchs_error(name: str) -> None:
    agree(TOO_WIDE[name], quoted="Overflow when unpacking long")


@pytest.mark.parametrize("name", GIVEN)
def test_what_fits_is_given(name: str) -> None:
    agree(GIVEN[name])


def test_unsigned_arange_does_not_write_beyond_its_memory() -> None:
    with pytest.raises(RuntimeError, match="overflow"):
        ops.aten.arange.start(-5, HUGE, dtype=mindtorch_v2.uint32)


def test_the_message_names_sizes_and_strides() -> None:
    with pytest.raises(RuntimeError, match=r"sizes=\[3\] and strides=\[2305843009213693952\]"):
        mindtorch_v2.ones(4).as_strided((3,), (2**61,))


def test_the_message_names_operator_and_argument_of_a_wide_int() -> None:
    with pytest.raises(ValueError, match=r"aten::select.*argument 'dim'"):
        mindtorch_v2.ones(4).select(2**63, 0)


def test_too_little_memory_is_a_runtime_error_and_a_memory_error() -> None:
    with pytest.raises(MemoryError, match="you tried to allocate 281474976710656 bytes") as caught:
        mindtorch_v2.empty(2**46)
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.requested == 2**48  # type: ignore[attr-defined]


@pytest.mark.parametrize("dim", [2**31, -(2**31) - 1, 2**32, 2**62, -(2**63)])
@pytest.mark.parametrize("ask", ["size", "stride"])
def test_a_dimension_beyond_32_bits_is_out_of_range(ask: str, dim: int) -> None:
    agree(lambda t: getattr(t.zeros(3, 3), ask)(dim), quoted="Dimension out of range")


def test_nbytes_of_an_expanded_tensor_is_exact() -> None:
    assert mindtorch_v2.zeros(1).expand(2**62).nbytes == 2**64  # PyTorch's wraps to 0


# ---------------------------------------------------------------- what only the core's own functions can be asked
@pytest.mark.parametrize(
    ("first", "count", "step"), [(0, 2**62, 4), (2, 2, 2**62), (0, 2, -1), (1, 2**63 - 1, 2**63 - 1)]
)
def test_sliced_stays_within_its_dimension(first: int, count: int, step: int) -> None:
    with pytest.raises((IndexError, RuntimeError)):
        _core.sliced(mindtorch_v2.arange(6), 0, first, count, step)


def test_from_buffer_takes_no_negative_size() -> None:
    array = np.zeros(3, dtype="float32")
    with pytest.raises(RuntimeError, match="Negative sizes"):
        _core.from_buffer(array, array.ctypes.data, (-1, 3), (1, 1), mindtorch_v2.float32)
    with pytest.raises(RuntimeError, match="overflow"):
        _core.from_buffer(array, array.ctypes.data, (3,), (2**61,), mindtorch_v2.float32)


def test_a_wrapper_may_have_sizes_of_0_and_any_strides() -> None:
    class Wrapper(mindtorch_v2.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise NotImplementedError

    made = mindtorch_v2.Tensor._make_wrapper_subclass(Wrapper, (0, 2), strides=(5, 1))
    assert (made.shape, made.stride()) == ((0, 2), (5, 1))
    with pytest.raises(RuntimeError, match="overflow"):
        mindtorch_v2.Tensor._make_wrapper_subclass(Wrapper, (3,), strides=(2**61,))


# ---------------------------------------------------------------- devices
@pytest.mark.parametrize(
    "index", [64, 2**31 - 1, 2**31, 2**63], ids=["beyond_the_tables", "largest", "beyond_32_bits", "beyond_64_bits"]
)
@pytest.mark.parametrize(
    "use",
    [
        lambda index: mindtorch_v2.zeros(3).to(index),
        lambda index: mindtorch_v2.zeros(3, device=f"npu:{index}"),
        lambda index: mindtorch_v2.zeros(0, device=f"npu:{index}") + 1,
        lambda index: mindtorch_v2.zeros(3).npu(index),
        lambda index: _core.alloc((), None, index),
    ],
    ids=["to", "zeros", "empty", "npu", "alloc"],
)
def test_a_device_that_cannot_be_is_an_error_where_it_is_used(use: Callable[[int], Any], index: int) -> None:
    with pytest.raises(RuntimeError):
        use(index)


DEVICES: dict[str, Callable[[Any], Any]] = {
    "negative": lambda t: t.device(-1),
    "negative_with_a_type": lambda t: t.device("cuda", -1),
    "wide": lambda t: t.device(2**64),
    "in_a_string": lambda t: t.device("cuda:2147483648"),
    "very_wide_in_a_string": lambda t: t.device("cuda:99999999999999999999"),
}


@pytest.mark.parametrize("name", DEVICES)
def test_an_index_that_no_device_has_is_refused(name: str) -> None:
    agree(DEVICES[name], quoted="")


def test_a_device_never_changes() -> None:
    """Tensors share it."""
    where = mindtorch_v2.ones(1).device
    where.__init__("npu", 1)  # type: ignore[misc]
    assert mindtorch_v2.ones(1).device == mindtorch_v2.device("cpu")


@pytest.mark.parametrize("index", [-(2**31), -1, 64, 2**31 - 1])
@pytest.mark.parametrize(
    "ask",
    [
        _core.npu_memory,
        _core.npu_reset_peak_memory,
        _core.npu_reset_accumulated_memory,
        lambda index: _core.npu_limit_memory(index, 1),
        _core.npu_current_stream,
        lambda index: _core.npu_swap_stream(index, 0),
        _core.npu_set_device,
    ],
)
def test_the_tables_of_npus_are_not_read_beyond_their_ends(ask: Callable[[int], Any], index: int) -> None:
    with pytest.raises(RuntimeError, match="at most 64 NPUs"):
        ask(index)
