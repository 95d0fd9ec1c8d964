"""Views in place, of every kind of tensor in every mode: shapes, histories, gradients and refusals, beside PyTorch."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

import mindtorch_v2

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of PyTorch's own, in forward mode

OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "t_": lambda x: x.t_(),
    "transpose_": lambda x: x.transpose_(0, 1),
    "swapaxes_": lambda x: x.swapaxes_(0, -1),
    "swapdims_": lambda x: x.swapdims_(-1, 0),
    "squeeze_": lambda x: x.squeeze_(),
    "squeeze_ of one": lambda x: x.squeeze_(0),
    "squeeze_ of some": lambda x: x.squeeze_((0, 1)),
    "unsqueeze_": lambda x: x.unsqueeze_(1),
    "as_strided_": lambda x: x.as_strided_((2,), (1,), 1),
    "bad dimension": lambda x: x.transpose_(0, 5),
}
Change = Callable[[Any], Any]


def start(t: Any) -> Any:
    return t.arange(12.0).view(1, 12).clone().requires_grad_()


def described(leaf: Any, *tensors: Any) -> list[Any]:
    total = sum((x * x.detach().cos()).sum() for x in tensors)
    total.backward(retain_graph=True)
    names = [re.sub(r"\d+$", "", type(x.grad_fn).__name__) for x in tensors]
    return [
        *((tuple(x.shape), x.stride(), x.storage_offset(), x._is_view()) for x in tensors),
        names,
        leaf.grad.tolist(),
    ]


def plain(t: Any, change: Change) -> Any:
    x = t.arange(6.0).view(1, 6).clone()
    before = x._version
    return [change(x) is x, tuple(x.shape), x.stride(), x.storage_offset(), x._version - before, x.tolist()]


def leaf(t: Any, change: Change) -> Any:
    return change(start(t))


def leaf_unrecorded(t: Any, change: Change) -> Any:
    x = start(t)
    with t.no_grad():
        change(x)
    return tuple(x.shape), x.is_leaf, x.requires_grad, x._version


def result(t: Any, change: Change) -> Any:
    a = start(t)
    return described(a, change(a * 2))


def view(t: Any, change: Change) -> Any:
    a = start(t)
    base = a * 2
    x = base[:, 2:8]
    change(x)
    return [x._base is base, x._version, described(a, x, base)]


def view_written_to(t: Any, change: Change) -> Any:
    a = start(t)
    base = a * 2
    x = base[:, 2:8]
    change(x).mul_(3)
    return described(a, x, base)


def base_written_to(t: Any, change: Change) -> Any:
    a = start(t)
    base = a * 2
    x = base[:, 2:8]
    base.mul_(3)
    return described(a, change(x), base)


def view_of_a_view(t: Any, change: Change) -> Any:
    a = start(t)
    base = a * 2
    x = base[:, 2:8]
    y = x[:, 1:4]
    change(y).mul_(3)
    x.mul_(2)
    change(x)
    return described(a, y, x, base)


def view_unrecorded(t: Any, change: Change) -> Any:
    base = start(t) * 2
    with t.no_grad():
        x = base[:, 2:8]
    return change(x)


def unrecorded(t: Any, change: Change) -> Any:
    a = start(t)
    x = (a * 2)[:, 2:8]
    with t.no_grad():
        change(x)
    return described(a, x)


def one_of_several(t: Any, change: Change) -> Any:
    return change((start(t) * 2).chunk(2, 1)[0])


def view_of_a_leaf(t: Any, change: Change) -> Any:
    return change(start(t)[:, 1:4])


def inference(t: Any, change: Change) -> Any:
    with t.inference_mode():
        x = t.ones(1, 6)
    return change(x)


def saved(t: Any, change: Change) -> Any:
    a = start(t)
    x = (a * 2).exp()
    change(x).sum().backward()


def differentiated(t: Any, change: Change) -> Any:
    func = importlib.import_module(f"{t.__name__}.func")
    given = t.arange(6.0).view(1, 6)

    def changed(x: Any) -> Any:
        return change(x * 2).sin()

    value, tangent = func.jvp(changed, (given,), (given + 1,))
    gradient = func.grad(lambda x: changed(x).sum())(given)
    return [[round(v, 4) for v in x.flatten().tolist()] + list(x.shape) for x in (value, tangent, gradient)]


def batched(t: Any, change: Change) -> Any:
    func = importlib.import_module(f"{t.__name__}.func")
    return func.vmap(lambda x: change(x * 2).sin())(t.arange(12.0).view(2, 1, 6)).shape


CASES = [
    plain, leaf, leaf_unrecorded, result, view, view_written_to, base_written_to, view_of_a_view, view_unrecorded,
    unrecorded, one_of_several, view_of_a_leaf, inference, saved, differentiated, batched,
]  # fmt: skip


def outcome(case: Any, t: Any, change: Change) -> Any:
    try:
        return case(t, change)
    except (RuntimeError, IndexError):  # of several reasons either may be told
        return "refused"


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_view_in_place_is_as_in_pytorch(name: str) -> None:
    for case in CASES:
        if case is batched and name == "as_strided_":  # which PyTorch does to no sample
            continue
        found, expected = (outcome(case, t, OPERATIONS[name]) for t in (mindtorch_v2, torch))
        assert found == expected, case.__name__


def test_a_view_counts_changes_with_what_got_other_memory() -> None:
    def case(lib: Any) -> Any:
        x = lib.zeros(1, 2)
        view, detached, alone = x[:], x.detach(), lib.zeros(2)
        versions = []
        x.data = lib.ones(2, 3)
        for changed in (x, view, detached, x):
            changed.add_(1)
            versions.append((x._version, view._version, detached._version))
        alone.data = lib.ones(3)
        alone.add_(1)
        return versions, alone._version, x.tolist(), view.tolist()

    assert case(mindtorch_v2) == case(torch)
