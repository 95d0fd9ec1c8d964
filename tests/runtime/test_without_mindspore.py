"""Where MindSpore is not installed, what needs it says so and what to do; what can do without it does."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _mindspore, npu
from mindtorch_v2.library import mindspore_kernel


@pytest.fixture(autouse=True)
def _not_installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "mindspore", None)  # what Python finds no specification for
    _mindspore.available.cache_clear()
    yield
    _mindspore.available.cache_clear()


def test_a_kernel_of_its_is_refused() -> None:
    with pytest.raises(ImportError, match="MindSpore's Mul: expected MindSpore, but mindspore is not installed: "):
        mindspore_kernel("Mul")(torch.ones(2), torch.ones(2))


def test_its_stream_is_refused() -> None:
    with pytest.raises(ImportError, match=r"npu\.mindspore\.stream: expected MindSpore, but"), npu.mindspore.stream():
        pass


def test_large_products_are_our_own() -> None:
    assert (torch.ones(300, 260) @ torch.ones(260, 280)).eq(260).all()


@pytest.mark.parametrize("python", [(3, 10), (3, 11), (3, 12)])
def test_it_can_be_installed(python: tuple[int, int]) -> None:
    assert _mindspore.how_to_get_it(python) == "pip install 'mtcodegen[mindspore]'"


def test_it_has_no_wheel() -> None:
    expected = "it has no wheel for Python 3.13; use Python 3.10 to 3.12, or kernels of another kind"
    assert _mindspore.how_to_get_it((3, 13)) == expected
