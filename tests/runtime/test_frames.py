"""Calls in which Python has no frame: what is called, bound, run and recorded is the core's alone."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import mindtorch_v2 as torch

x, y = torch.ones(4, 4), torch.ones(4, 4)
row, turned = torch.ones(1, 4), torch.ones(4, 4).t()

VIEWS: dict[str, Callable[[], object]] = {
    "view": lambda: x.view(16),
    "view, inferred": lambda: x.view(-1, 2),
    "view, strided": lambda: turned.view(2, 2, 4),
    "reshape": lambda: x.reshape(2, 8),
    "transpose": lambda: x.transpose(0, 1),
    "t": lambda: x.t(),
    "permute": lambda: x.permute(1, 0),
    "movedim": lambda: x.movedim(0, 1),
    "select": lambda: x.select(1, 2),
    "an integer": lambda: x[1],
    "slice": lambda: x.slice(0, 1, 3),
    "narrow": lambda: x.narrow(0, 1, 2),
    "unsqueeze": lambda: x.unsqueeze(0),
    "squeeze": lambda: row.squeeze(0),
    "expand": lambda: row.expand(4, 4),
    "as_strided": lambda: x.as_strided((2, 2), (1, 2)),
    "detach": lambda: x.detach(),
    "a slice": lambda: x[1:3],
    "an integer and slices": lambda: x[1, :-1],
    "slices": lambda: x[:, ::2],
    "unbind": lambda: x.unbind(),
    "split": lambda: torch.ops.aten.split(x, 3),
    "split, sizes": lambda: torch.ops.aten.split_with_sizes(x, [1, 3]),
    "chunk": lambda: x.chunk(2),
}
COPIES: dict[str, Callable[[], object]] = {
    "to, nothing to do": lambda: x.to(torch.float32),
    "to, the same device": lambda: x.to("cpu"),
    "to, a dtype": lambda: x.to(torch.float64),
    "to, a copy": lambda: x.to(torch.float32, copy=True),
    "double": lambda: x.double(),
    "_to_copy": lambda: torch.ops.aten._to_copy(x, dtype=torch.float64),
    "clone": lambda: x.clone(),
    "clone, strided": lambda: turned.clone(),
    "clone, with gaps": lambda: x[:, ::2].clone(),
    "contiguous": lambda: turned.contiguous(),
    "reshape": lambda: turned.reshape(16),
    "cat": lambda: torch.cat([x, y]),
    "cat, strided": lambda: torch.cat([x, turned], 1),
    "stack": lambda: torch.stack([x, y]),
}
REDUCTIONS: dict[str, Callable[[], object]] = {
    "sum": lambda: x.sum(),
    "sum, a dimension": lambda: x.sum(1),
    "sum, several": lambda: x.sum((0, -1), keepdim=True),
    "sum, a dtype": lambda: x.sum(dtype=torch.float64),
    "mean": lambda: x.mean(),
    "mean, a dimension": lambda: x.mean(1),
    "prod": lambda: x.prod(),
    "prod, a dimension": lambda: x.prod(0),
    "max": lambda: x.max(),
    "min": lambda: x.min(),
    "amax": lambda: x.amax(1),
    "amin": lambda: x.amin((0, 1)),
    "argmax": lambda: x.argmax(1),
    "argmin": lambda: x.argmin(),
    "any": lambda: x.any(),
    "all": lambda: x.all(1),
}
# Steps of chains that are recorded, and whose gradients formulas say.
RECORDED: dict[str, Callable[[Any], Any]] = {
    "+ 1": lambda z: z + 1,
    "* a constant": lambda z: z * y,
    "sin": lambda z: z.sin(),
    "view": lambda z: z.view(16).view(4, 4),
    "transpose": lambda z: z.transpose(0, 1),
    "clone": lambda z: z.clone(),
    "double": lambda z: z.double().float(),
    "sum": lambda z: z + z.sum(),
    "sum, a dimension": lambda z: z + z.sum(1),
    "mean": lambda z: z + z.mean(0, keepdim=True),
}


def frames(call: Callable[[], object]) -> list[str]:
    """The names of the Python functions that a call runs, but for its own."""
    entered: list[str] = []

    def note(frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            entered.append(frame.f_code.co_qualname if hasattr(frame.f_code, "co_qualname") else frame.f_code.co_name)

    call()  # what is made at the first call
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered[1:]


def test_frames_are_seen() -> None:
    assert frames(lambda: frames.__name__.upper() and note_name()) == ["note_name"]


def note_name() -> str:
    """A function of Python."""
    return "name"


@pytest.mark.parametrize("call", VIEWS.values(), ids=VIEWS)
def test_views_are_made_without_a_frame(call: Callable[[], object]) -> None:
    assert frames(call) == []


@pytest.mark.parametrize("call", COPIES.values(), ids=COPIES)
def test_copies_are_made_without_a_frame(call: Callable[[], object]) -> None:
    assert frames(call) == []


@pytest.mark.parametrize("call", REDUCTIONS.values(), ids=REDUCTIONS)
def test_reductions_run_without_a_frame(call: Callable[[], object]) -> None:
    assert frames(call) == []


@pytest.mark.parametrize("step", RECORDED.values(), ids=RECORDED)
def test_gradients_are_recorded_and_run_without_a_frame(step: Callable[[Any], Any]) -> None:
    a = torch.ones(4, 4).requires_grad_()
    a.grad = torch.zeros(4, 4)  # to which the gradient is added

    def there_and_back() -> None:
        step(a).backward(x)

    assert set(frames(there_and_back)) <= {step.__qualname__, step.__name__}


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
@pytest.mark.parametrize(
    "mode",
    [
        lambda: torch.autograd.set_detect_anomaly(True),
        lambda: torch.autograd.graph.saved_tensors_hooks(lambda saved: saved, lambda kept: kept),
    ],
    ids=["anomaly mode", "saved-tensor hooks"],
)
def test_a_mode_that_was_left_costs_nothing(mode: Callable[[], contextlib.AbstractContextManager[Any]]) -> None:
    a = torch.ones(4, 4).requires_grad_()

    def there_and_back() -> None:
        (a + 1).backward(x)

    there_and_back()
    with mode():
        assert frames(there_and_back) != []
    assert frames(there_and_back) == []
