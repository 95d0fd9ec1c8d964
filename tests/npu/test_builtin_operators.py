"""Built-in operators on the NPU: AscendC kernels where they fit, the CPU where they do not; both give one result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from tests.runtime.both import agree_or_raise

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "add alpha": lambda x, y: torch.add(x, y, alpha=-2.5),
    "add number": lambda x, y: x + 1.5,
    "sub": lambda x, y: x - y,
    "sub alpha": lambda x, y: x.sub(y, alpha=3),
    "mul": lambda x, y: x * y,
    "mul number": lambda x, y: x * -0.5,
    "div": lambda x, y: x / y,
    "neg": lambda x, y: -x,
    "exp": lambda x, y: x.exp(),
    "relu": lambda x, y: x.relu(),
    "threshold_backward": lambda x, y: torch.threshold_backward(x, y, 0.25),
    "add_": lambda x, y: x.clone().add_(y, alpha=0.5),
    "mul_": lambda x, y: x.clone().mul_(2),
    "fill_": lambda x, y: x.clone().fill_(3),
    "sum": lambda x, y: x.sum(),
    "add one element": lambda x, y: x.sum().expand(x.shape) + y,
    "mul one element": lambda x, y: y * y[..., :1].sum().expand(x.shape),
    "sub one element": lambda x, y: y - x.sum().expand(x.shape),
}
rng = np.random.default_rng(8)


def both(name: str, x: np.ndarray, y: np.ndarray, view: Callable[[Any], Any]) -> tuple[np.ndarray, np.ndarray]:
    """The operator on the CPU and on the NPU, on views of the same values."""
    results = []
    for device in ("cpu", "npu"):
        a, b = (view(torch.from_numpy(array.copy()).to(device)) for array in (x, y))
        result = OPERATORS[name](a, b)
        assert result.device.type == device
        results.append(result.cpu().numpy())
    return results[0], results[1]


@pytest.mark.parametrize("n", [1, 7, 2048, 20001])
@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize("name", OPERATORS)
def test_kernels_agree_with_the_cpu(name: str, dtype: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDTORCH_NPU_FALLBACK", "error")  # no way round the kernel under test
    if name in ("add_", "mul_", "fill_"):
        monkeypatch.delenv("MINDTORCH_NPU_FALLBACK")  # clone is a copy
    x, y = rng.standard_normal(n).astype(dtype), (rng.standard_normal(n) + 3).astype(dtype)
    expected, actual = both(name, x, y, lambda t: t)
    tolerance = {"f4": 1e-5, "f2": 4e-3}[dtype]
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", OPERATORS)
def test_what_no_kernel_takes_goes_by_the_cpu(name: str) -> None:
    x, y = rng.standard_normal((6, 10)).astype("f4"), (rng.standard_normal((6, 10)) + 3).astype("f4")
    for view in (lambda t: t.t(), lambda t: t[:, ::2], lambda t: t.double(), lambda t: t[:0]):
        expected, actual = both(name, x, y, view)
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        "x.pow(-1)",
        "x.pow_(-2)",
        "h.pow(-2**31)",
        "x.int().pow(-1)",
        "h.fill_(2**62)",
        "h.fill_(-65504)",
        "h.fill_(float('inf'))",
        "x.fill_(1e39)",
        "x.fill_(1j)",
        "x.fill_(2**63)",
        "x.to(torch.complex64).bitwise_xor_(1e300)",
    ],
)
def test_numbers_are_taken_or_refused_as_by_pytorch(call: str) -> None:
    def case(library: Any) -> Any:
        x = library.tensor([-1.0, 0.5, 4.0], device="npu" if library is torch else "cpu")
        return eval(call, {"torch": library, "x": x, "h": x.half()})

    agree_or_raise(case)
