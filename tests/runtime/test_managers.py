"""What was never entered cannot be left: there is nothing to restore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (torch.no_grad, RuntimeError),
        (torch.inference_mode, RuntimeError),
        (torch.overrides.BaseTorchFunctionMode, RuntimeError),
        (TorchDispatchMode, IndexError),  # PyTorch's class of error
        (torch._C.DisableTorchFunction, RuntimeError),
        (lambda: torch.npu.device(0), RuntimeError),
        (lambda: torch.npu.stream(torch.npu.Stream()), RuntimeError),
        (lambda: torch.npu.graph(torch.npu.NPUGraph()), RuntimeError),
    ],
)
def test_leaving_what_was_not_entered(make: Callable[[], Any], error: type[Exception]) -> None:
    manager = make()
    with pytest.raises(error, match="is left without having been entered"):
        manager.__exit__(None, None, None)


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_anomaly_mode_is_restored_to_what_it_was_where_it_was_made() -> None:
    torch.autograd.detect_anomaly().__exit__()
    assert not torch.autograd.anomaly_mode.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(True).__exit__(None)
    assert not torch.autograd.anomaly_mode.is_anomaly_enabled()
