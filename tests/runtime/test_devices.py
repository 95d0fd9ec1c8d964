"""What ``torch.device`` takes, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch_v2
from tests.runtime.both import agree
from tests.runtime.on_threads import together

ONES_THAT_ARE = [("cpu",), ("cpu:0",), ("cpu", 1), ("meta",)]


@pytest.mark.parametrize("given", ONES_THAT_ARE)
def test_a_device(given: Any) -> None:
    agree(lambda torch: (str(torch.device(*given)), torch.device(*given).type, torch.device(*given).index))


@pytest.mark.parametrize("given", [(-1,), ("cpu", -1), ("meta", -1), ("cpu", -2)])
def test_a_negative_index(given: Any) -> None:
    agree(lambda torch: torch.device(*given), "Device index must not be negative")


@pytest.mark.parametrize("use", ["to", "zeros", "default"])
def test_a_negative_index_where_a_device_is_taken(use: str) -> None:
    def case(torch: Any) -> Any:
        if use == "to":
            return torch.ones(1).to(-1)
        return torch.zeros(1, device=-1) if use == "zeros" else torch.set_default_device(-1)

    agree(case, "Device index must not be negative")


@pytest.mark.parametrize("text", ["cpu:-1", "cpu:", "cpu:01", "cpu: 1", "cpu:1:2", "cpu:x", "cpu:\u0663", "cpu:\u00b2"])
def test_a_string_that_is_no_device(text: str) -> None:
    agree(lambda torch: torch.device(text), "Invalid device string")


def test_an_empty_string() -> None:
    agree(lambda torch: torch.device(""), "Device string must not be empty")


def test_a_device_as_a_context() -> None:
    def case(torch: Any) -> Any:
        def where() -> tuple[str, str]:
            return str(torch.ones(1).device), str(torch.get_default_device())

        found = [where()]
        device = torch.device("meta")
        with device as entered:
            found += [where(), entered == device]
            with torch.device("cpu:0"):
                found.append(str(torch.ones(1).device))
                with device:
                    found.append(where())
                    assert torch.empty(1, device="cpu").device.type == "cpu"
            with pytest.raises(ZeroDivisionError), torch.device("cpu"):
                torch.ones(1) / (1 // 0)
            found.append(where())
        return [*found, where(), *(str(f().device) for f in torch_makers(torch))]

    agree(case)


def torch_makers(torch: Any) -> Any:
    """What makes tensors, as it does by default."""
    return (
        lambda: torch.tensor(1.0),
        lambda: torch.arange(3),
        lambda: torch.empty_strided((2,), (1,)),
        lambda: torch.nn.Linear(2, 2).weight,
        lambda: torch.ones(2, device="cpu").new_ones(2),
        lambda: torch.zeros_like(torch.ones(2, device="cpu")),
        lambda: torch.from_numpy(np.ones(2)),
        lambda: torch.Tensor([1.0]),
        lambda: torch.as_tensor(np.ones(2)),
        lambda: torch.full((2,), 3.0),
        lambda: torch.rand(2),
    )


def test_the_default_device_is_a_threads_own() -> None:
    def case(torch: Any) -> Any:
        def where() -> str:
            return str(torch.ones(1).device)

        try:
            torch.set_default_device("meta")
            mine = [*(str(f().device) for f in torch_makers(torch)), str(torch.get_default_device())]
            (others,) = together(where)
            inside = torch.device("meta")
            with inside, torch.device("cpu"):
                mine.append(where())
        finally:
            torch.set_default_device(None)
        return mine, others, where()

    agree(case)


def test_a_device_that_was_not_entered_is_not_left() -> None:
    with pytest.raises(RuntimeError, match="was not entered"):
        mindtorch_v2.device("meta").__exit__(None, None, None)


@pytest.mark.parametrize("given", [(True,), (1.0,), (None,), ("cpu", True), ("cpu", 1.0)])
def test_a_value_of_another_type(given: Any) -> None:
    agree(lambda torch: torch.device(*given), "")
