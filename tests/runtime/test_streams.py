"""``torch.Stream`` and ``torch.Event`` beside PyTorch's, and of a device that has streams of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import npu
from tests.runtime.both import agree, agree_or_raise

CASES: dict[str, Callable[[Any], Any]] = {
    "how a stream is printed": lambda torch: repr(torch.Stream("cpu")),
    "a stream of meta": lambda torch: repr(torch.Stream(torch.device("meta"))),
    "by keyword": lambda torch: repr(torch.Stream(device="cpu", priority=-1)),
    "how an event is printed": lambda torch: [repr(torch.Event("cpu")), repr(torch.Event("meta", enable_timing=True))],
    "its numbers": lambda torch: [torch.Stream("cpu").device_index, torch.Stream("cpu").stream_id],
    "all work is done": lambda torch: [torch.Stream("cpu").query(), torch.Event("cpu").query()],
    "waiting": lambda torch: [torch.Stream("cpu").synchronize(), torch.Event("cpu").synchronize()],
    "one stream a device": lambda torch: torch.Stream("cpu") == torch.Stream("cpu") != torch.Stream("meta"),
    "waiting for what was not recorded": lambda torch: torch.Stream("cpu").wait_event(torch.Event("cpu")),
    "an event waits": lambda torch: torch.Event("cpu").wait(),
}
REFUSED: dict[str, Callable[[Any], Any]] = {
    "a number with a fraction": lambda torch: torch.Stream(3.5),
    "a device that is none": lambda torch: torch.Stream("floor"),
    "an event after its work": lambda torch: torch.Stream("cpu").record_event(),
    "another stream": lambda torch: torch.Stream("cpu").wait_stream(torch.Stream("cpu")),
    "a recorded event": lambda torch: torch.Event("cpu").record(),
}


@pytest.mark.parametrize("name", CASES)
def test_without_streams_as_in_pytorch(name: str) -> None:
    agree(CASES[name])


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_in_pytorch(name: str) -> None:
    agree_or_raise(REFUSED[name])


def test_a_device_with_streams_has_its_own() -> None:
    made, event = torch.Stream("npu:1", priority=-2), torch.Event("npu", enable_timing=True)
    assert type(made) is npu.Stream
    assert type(event) is npu.Event
    assert made.device == torch.device("npu:1")
    assert made.priority == -2
    with made:
        event.record()
        assert npu.current_stream() == made
    made.wait_event(event)
    made.synchronize()
    assert event.query()


def test_the_default_is_the_accelerator() -> None:
    assert type(torch.Stream()) is npu.Stream
    assert type(torch.Event()) is npu.Event
