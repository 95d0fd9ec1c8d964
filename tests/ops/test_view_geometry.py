"""Views made in the core, beside PyTorch: sizes, strides, offsets, what they show, and what is refused."""

from __future__ import annotations

import pytest
import torch as pytorch
from hypothesis import given
from hypothesis import strategies as st

import mindtorch_v2 as torch
from mindtorch_v2 import _core

SIZES = st.lists(st.integers(0, 4), max_size=4)
WHOLE = st.integers(-5, 5)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("view"), st.lists(st.integers(-2, 12), max_size=3)),
        st.tuples(st.just("reshape"), st.lists(st.integers(-2, 12), max_size=3)),
        st.tuples(st.just("transpose"), WHOLE, WHOLE),
        st.tuples(st.just("select"), WHOLE, WHOLE),
        st.tuples(st.just("__getitem__"), WHOLE),
        st.tuples(st.just("__getitem__"), st.builds(slice, WHOLE, WHOLE, st.integers(1, 3))),
        st.tuples(st.just("squeeze")),
        st.tuples(st.just("squeeze"), WHOLE),
        st.tuples(st.just("t")),
    ),
    max_size=4,
)


def outcome(library, sizes, steps):
    """The geometry of a chain of views and their values, or the class of the error."""
    count = 1
    for size in sizes:
        count *= size
    x = library.arange(count).reshape(sizes)
    for name, *arguments in steps:
        try:
            x = getattr(x, name)(*arguments)
        except (RuntimeError, IndexError) as error:
            return IndexError if isinstance(error, IndexError) else RuntimeError
    return tuple(x.shape), x.stride(), x.storage_offset(), x.tolist()


@given(sizes=SIZES, steps=STEPS)
def test_chains_of_views(sizes, steps) -> None:
    assert outcome(torch, sizes, steps) == outcome(pytorch, sizes, steps)


@pytest.mark.parametrize("shape", [(2**62, 4), (2**62, 2**62), (-1, 2**62), (4, -1, -1), (-3, 4), (5,), (0, -1)])
def test_shapes_that_do_not_fit(shape) -> None:
    for x in (torch.ones(4, 3), torch.ones(3, 4).t(), torch.ones(0, 3)):
        other = pytorch.ones(tuple(x.shape)) if x.is_contiguous() else pytorch.ones(3, 4).t()
        try:
            expected = tuple(other.view(shape).shape)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                x.view(shape)
        else:
            assert tuple(x.view(shape).shape) == expected


def test_the_core_refuses_what_is_outside() -> None:
    x = torch.arange(6).reshape(2, 3)
    for call in (
        lambda: _core.transposed(x, 0, 2),
        lambda: _core.permuted(x, (0, -3)),
        lambda: _core.sliced(x, 2, 0, 1, 1),
        lambda: _core.sliced(x, 1, 1, 2, 2),
        lambda: _core.sliced(x, 1, -1, 1, 1),
        lambda: _core.sliced(x, 0, 2, -1, 1),
    ):
        with pytest.raises(IndexError, match=r"[dD]imension"):
            call()
    assert not _core.has_view(x.t(), (6,))
    assert _core.has_view(x.t(), (3, 2, -1))
    with pytest.raises(RuntimeError, match="invalid for input of size 6"):
        _core.has_view(x, (4, -1))
