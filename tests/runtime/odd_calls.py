"""Calls in a line each, of which PyTorch's and ours are made under the same names, and compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.runtime.both import agree_or_raise


class BadIndex:
    def __index__(self) -> int:
        raise ValueError("no index")


class Indexed:
    def __index__(self) -> int:
        return 3


def calls(groups: Mapping[str, str]) -> list[str]:
    """The calls of all groups."""
    return [line.strip() for lines in groups.values() for line in lines.split("\n") if line.strip()]


def judge(call: str) -> None:
    """That a call has PyTorch's value, or its class of error.

    `v` is a vector of floats, `a` a matrix, `s` a number, `i` and `m` hold integers and truth values, `e` nothing.
    """

    def case(torch: Any) -> Any:
        names = {
            "torch": torch,
            "np": np,
            "BadIndex": BadIndex,
            "Indexed": Indexed,
            "v": torch.arange(3.0),
            "a": torch.arange(6.0).reshape(2, 3),
            "s": torch.tensor(2.5),
            "i": torch.arange(3),
            "m": torch.tensor([True, False, True]),
            "e": torch.zeros(0),
        }
        result = eval(call, names)
        return names["v"].requires_grad if result is None else result

    agree_or_raise(case)
