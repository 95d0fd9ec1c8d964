"""In-place operators on expanded tensors: which warn, which refuse, and which do not care, as in PyTorch."""

from __future__ import annotations

import warnings

import pytest
import torch as pytorch

import mindtorch_v2 as ours

BOTH = pytest.mark.parametrize("t", [ours, pytorch], ids=["ours", "pytorch"])
MASK = [True, False, True, True, False, False]
WARN = {
    "masked_fill_": lambda t, x: x.masked_fill_(t.tensor(MASK), 0.5),
    "masked_fill_ by a tensor": lambda t, x: x.masked_fill_(t.tensor(MASK), t.tensor(0.5)),
    "index_fill_": lambda t, x: x.index_fill_(0, t.tensor([2, 1]), 0.5),
    "index_fill_ by a tensor": lambda t, x: x.index_fill_(0, t.tensor([2, 1]), t.tensor(0.5)),
    "index_put_": lambda t, x: x.index_put_((t.tensor([2, 1]),), t.tensor([0.5, 0.5])),
}


@BOTH
@pytest.mark.parametrize("name", WARN)
def test_a_warning_says_that_others_change_too(t, name):
    x = t.ones(1).expand(6)
    with pytest.warns(UserWarning, match=f"Use of {name.split()[0]} on expanded tensors is deprecated") as caught:
        WARN[name](t, x)
    assert x.tolist() == [0.5] * 6
    assert caught[0].filename == __file__


@BOTH
def test_no_warning_where_each_element_has_its_place(t):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for change in WARN.values():
            change(t, t.ones(6, 2)[:, 0])


@BOTH
def test_other_overlaps_are_refused(t):
    mask, index = t.tensor(MASK), t.tensor([2, 1, 0])
    for refused in (lambda: mask[1:].masked_fill_(mask[:-1], False), lambda: index.index_fill_(0, index, 0)):
        with pytest.raises(RuntimeError, match="unsupported operation"):
            refused()


@BOTH
def test_a_threshold_may_be_put_in_place_of_one_element_twice(t):
    x = t.tensor([[0.2, 0.9, float("nan")]]).expand(4, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        t.nn.functional.threshold_(x, 0.5, 0.1)
    assert str(x[3].tolist()) == str(t.tensor([0.1, 0.9, float("nan")]).tolist())


@BOTH
def test_the_gradient_of_a_threshold_in_place(t):
    x = t.tensor([0.2, 0.9], requires_grad=True)
    t.nn.functional.threshold_(x * 1, 0.5, 0.1).backward(t.tensor([3.0, 4.0]))
    assert x.grad.tolist() == [0.0, 4.0]
