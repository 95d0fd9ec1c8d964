"""Bags of a table's rows, and products and diagonals of blocks, beside PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mindtorch_v2
from tests.ops.test_values import refused
from tests.runtime.both import agree

ROWS = 6
MODES = ("sum", "mean", "max")


@given(
    st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=12),
    st.lists(st.integers(0, 12), max_size=4),
    st.sampled_from(MODES),
    st.booleans(),
    st.none() | st.integers(-ROWS, ROWS - 1),
    st.sampled_from(["int32", "int64"]),
)
def test_bags_of_rows(
    indices: list[int], cuts: list[int], mode: str, one_more: bool, padding: int | None, dtype: str
) -> None:
    offsets = [0, *sorted(min(cut, len(indices)) for cut in cuts)]
    whole = [*offsets, len(indices)] if one_more else offsets  # an earlier end PyTorch reads beyond

    def bags(t: Any) -> Any:
        table = t.arange(ROWS * 3.0).reshape(ROWS, 3).sin()
        given = [t.tensor(each, dtype=getattr(t, dtype)) for each in (indices, whole)]
        return t.nn.functional.embedding_bag(
            given[0], table, given[1], mode=mode, include_last_offset=one_more, padding_idx=padding
        )

    agree(bags)
    kind = getattr(mindtorch_v2, dtype)
    of_rows = [mindtorch_v2.tensor(each, dtype=kind) for each in (indices, offsets)]
    padding = -1 if padding is None else padding % ROWS
    _out, bag_of, sizes, _largest = mindtorch_v2.ops.aten._embedding_bag(
        mindtorch_v2.zeros(ROWS, 3), *of_rows, False, MODES.index(mode), False, None, one_more, padding
    )
    ends = offsets[1:] if one_more else [*offsets[1:], len(indices)]
    if ends and (mode == "max" or padding >= 0):  # as in PyTorch, the last bag goes on to the end then
        ends[-1] = len(indices)
    assert bag_of.dtype is kind
    assert bag_of.tolist() == np.searchsorted(ends, np.arange(len(indices)), "right").tolist()
    starts = [0, *ends[:-1]]
    assert (
        sizes.tolist()
        == [sum(index != padding for index in indices[a:b]) for a, b in zip(starts, ends, strict=False)][: len(ends)]
    )


@pytest.mark.parametrize(
    ("indices", "offsets", "one_more"),
    [([0, 6], [0], False), ([0, -1], [0], False), ([0, 1], [1], False), ([0, 1], [0, 3], True), ([0, 1], [], True)],
)
def test_what_is_no_bag_is_refused(indices: list[int], offsets: list[int], one_more: bool) -> None:
    refused(
        lambda t: t.nn.functional.embedding_bag(
            t.tensor(indices), t.ones(ROWS, 3), t.tensor(offsets, dtype=t.int64), include_last_offset=one_more
        )
    )


def test_offsets_out_of_order_are_refused() -> None:
    given = mindtorch_v2.tensor([0, 1, 2]), mindtorch_v2.ones(ROWS, 3), mindtorch_v2.tensor([0, 2, 1])
    with pytest.raises(RuntimeError, match="order"):
        mindtorch_v2.nn.functional.embedding_bag(*given)


SHAPES = st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple)


def _made(t: Any, shape: tuple[int, ...], dtype: str = "float32") -> Any:
    return t.arange(1.0, np.prod(shape, dtype=int) + 1.0).reshape(shape).to(getattr(t, dtype))


@given(SHAPES, SHAPES, st.sampled_from(["float32", "int64", "complex64"]), st.sampled_from([1, 64]))
def test_kroneckers_products(own: tuple[int, ...], theirs: tuple[int, ...], dtype: str, wider: int) -> None:
    long = (*theirs[:-1], theirs[-1] * wider)
    agree(lambda t: t.kron(_made(t, own), _made(t, long, dtype)))


@given(st.lists(st.lists(st.integers(0, 3), max_size=2).map(tuple), min_size=1, max_size=4), st.booleans())
def test_matrices_along_a_diagonal(shapes: list[tuple[int, ...]], alike: bool) -> None:
    given = [shapes[0]] * 3 if alike else shapes
    kinds = ["float32", "int32", "float64"]
    agree(lambda t: t.block_diag(*(_made(t, each, kinds[i % 3]) for i, each in enumerate(given))))

    def gradients(t: Any) -> Any:
        leaves = [_made(t, each).requires_grad_() for each in given]
        out = t.block_diag(*leaves)
        return t.autograd.grad(out, leaves, _made(t, tuple(out.shape)))

    if all(all(each) for each in given):  # beside nothing PyTorch takes another block's gradient
        agree(gradients)
