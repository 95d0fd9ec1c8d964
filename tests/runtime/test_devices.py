"""What ``torch.device`` takes, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.both import agree

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


@pytest.mark.parametrize("given", [(True,), (1.0,), (None,), ("cpu", True), ("cpu", 1.0)])
def test_a_value_of_another_type(given: Any) -> None:
    agree(lambda torch: torch.device(*given), "")
