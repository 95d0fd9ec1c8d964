"""`torch._check` and its kin, `_assert_async` and its, beside PyTorch's."""

from __future__ import annotations

import pytest

from tests.runtime.both import agree

CHECKS = ["_check", "_check_index", "_check_value", "_check_type", "_check_not_implemented"]


@pytest.mark.parametrize("name", CHECKS)
def test_a_condition_that_fails_raises_the_checks_own_error(name):
    agree(lambda t: getattr(t, name)(True))
    agree(lambda t: getattr(t, name)(False), quoted="Expected cond to be True, but got False")
    agree(lambda t: getattr(t, name)(False, lambda: f"not {t.arange(3)}"), quoted="not tensor([0, 1, 2])")
    agree(lambda t: getattr(t, name)(False, "text"), quoted="message must be a callable")
    agree(lambda t: getattr(t, name)("yes"), quoted="cond must be a bool, but got <class 'str'>")
    agree(lambda t: getattr(t, name)(t.tensor(True)), quoted="cond must be a bool, but got ")


def test_sizes_and_errors_of_the_callers():
    agree(lambda t: t._check_with(KeyError, False, lambda: "gone"), quoted="gone")
    agree(lambda t: t._check_is_size(3))
    agree(lambda t: t._check_is_size(-1), quoted="Expected cond to be True")
    agree(lambda t: t._check_is_size(3, max=2), quoted="Expected cond to be True")


def test_all_elements():
    agree(lambda t: t._check_tensor_all(t.ones(2, 3, dtype=t.bool)))
    agree(lambda t: t._check_tensor_all(t.zeros(0, dtype=t.bool)))
    agree(lambda t: t._check_tensor_all(t.tensor([True, False])), quoted="Expected cond to be True, but got False")
    agree(lambda t: t._check_tensor_all_with(IndexError, t.tensor(False), lambda: "no"), quoted="no")
    agree(lambda t: t._check_tensor_all(True), quoted="cond must be a tensor, but got <class 'bool'>")
    agree(
        lambda t: t._check_tensor_all(t.ones(1)), quoted="cond tensor must have dtype torch.bool, but got torch.float32"
    )
    agree(lambda t: t._test_check_tensor(t.tensor([True])))
    agree(lambda t: t._test_check_tensor(t.tensor([True, False])), quoted="Test message for TORCH_CHECK_TENSOR_ALL")


@pytest.mark.parametrize("value", [1, 0.5, True, 1j, 0, 0.0, False, 0j])
def test_a_value_that_must_not_be_zero(value):
    zero = None if value else "Expected Tensor with single nonzero value, but got zero"
    agree(lambda t: t._assert_async(t.tensor(value)), quoted=zero)
    agree(lambda t: t._assert_async(t.tensor(value), "in my words"), quoted=zero and "in my words")


def test_what_has_no_single_value():
    agree(lambda t: t._assert_async(t.tensor([])), quoted="Boolean value of Tensor with no values is ambiguous")
    agree(lambda t: t._assert_async(t.zeros(2)), quoted="Boolean value of Tensor with more than one value is ambiguous")
    agree(lambda t: t._assert_async(t.zeros((), device="meta")))
    agree(lambda t: t._assert_scalar(1, "words"))
    agree(lambda t: t._assert_scalar(0, "words"), quoted="words")


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.ones(3, 3),
        lambda t: t.ones(3, 3).t(),
        lambda t: t.ones(1, 3).expand(4, 3),
        lambda t: t.ones(0, 1, 3).expand(0, 4, 3),
        lambda t: t.ones(10).as_strided((2, 1, 5), (1, 0, 2)),
        lambda t: t.ones(20).as_strided((2, 1, 5), (10, 0, 2)),
        lambda t: t.ones(3, 4)[:, ::2],
        lambda t: t.ones(2, device="meta"),
    ],
)
def test_whether_elements_share_a_place(make):
    agree(lambda t: t._debug_has_internal_overlap(make(t)))
