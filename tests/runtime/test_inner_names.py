"""PyTorch's inner names that libraries import: there, and of what they are in PyTorch."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from typing import Any

import pytest
import torch as pytorch

import mindtorch_v2
from tests.runtime.both import agree, agree_or_raise

BASES = {
    "_BatchNorm": "batchnorm", "_NormBase": "batchnorm", "_InstanceNorm": "instancenorm", "_ConvNd": "conv",
    "_ConvTransposeNd": "conv", "_DropoutNd": "dropout", "_Loss": "loss", "_WeightedLoss": "loss",
    "_MaxPoolNd": "pooling", "_AvgPoolNd": "pooling", "_AdaptiveAvgPoolNd": "pooling", "_AdaptiveMaxPoolNd": "pooling",
    "_LPPoolNd": "pooling", "_MaxUnpoolNd": "pooling", "_ConstantPadNd": "padding", "_CircularPadNd": "padding",
    "LazyModuleMixin": "lazy", "NonDynamicallyQuantizableLinear": "linear",
}  # fmt: skip
IMPORTS = """
import mindtorch_v2
mindtorch_v2.install_as_torch()
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.modules.loss import _Loss, _WeightedLoss
from torch.nn.modules.module import _IncompatibleKeys
from torch.nn.modules.utils import _list_with_default, _ntuple, _pair, _quadruple, _reverse_repeat_tuple, _single
from torch.nn.modules import Linear, SyncBatchNorm
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter
from torch.nn.init import _calculate_correct_fan, _calculate_fan_in_and_fan_out
from torch.optim.lr_scheduler import _LRScheduler
from torch.cuda.random import get_rng_state_all
import torch
assert isinstance(torch.nn.BatchNorm2d(2), _BatchNorm)
assert isinstance(torch.nn.Linear(1, 1).load_state_dict({}, strict=False), _IncompatibleKeys)
assert not torch.xpu.is_available() and torch.xpu.device_count() == 0
assert not torch.cuda.is_current_stream_capturing() and not torch.backends.cuda.is_built()
torch.backends.cuda.matmul.allow_tf32 = True
assert torch.backends.cuda.matmul.allow_tf32
"""


def test_they_are_imported_from_pytorchs_places(child_env: dict[str, str]) -> None:
    subprocess.run([sys.executable, "-c", IMPORTS], env=child_env, check=True)


@pytest.mark.parametrize("name", BASES)
def test_the_same_classes_derive_from_a_base(name: str) -> None:
    theirs = getattr(importlib.import_module(f"torch.nn.modules.{BASES[name]}"), name)
    ours = getattr(mindtorch_v2.nn, name)
    shared = [
        cls
        for cls in dir(pytorch.nn)
        if inspect.isclass(getattr(pytorch.nn, cls)) and inspect.isclass(getattr(mindtorch_v2.nn, cls, None))
    ]
    assert shared
    expected = {cls for cls in shared if issubclass(getattr(pytorch.nn, cls), theirs)}
    assert {cls for cls in shared if issubclass(getattr(mindtorch_v2.nn, cls), ours)} == expected


def test_a_loss_of_ones_own_derives_from_them() -> None:
    def case(torch: Any) -> Any:
        base = importlib.import_module("torch.nn.modules.loss") if torch is pytorch else torch.nn

        class Focal(base._WeightedLoss):  # type: ignore[misc, name-defined]
            def forward(self, x: Any, y: Any) -> Any:
                return (torch.nn.functional.cross_entropy(x, y, self.weight, reduction="none") ** 2).mean()

        loss = Focal(torch.tensor([1.0, 2.0]), reduction="sum")
        x = torch.tensor([[0.5, 1.0], [2.0, -1.0]])
        return loss(x, torch.tensor([0, 1])), loss.reduction, list(loss.state_dict())

    agree(case)


@pytest.mark.parametrize(
    "call",
    [
        lambda utils: (utils._pair(3), utils._pair([1, 2]), utils._triple("ab"), utils._single(None)),
        lambda utils: (utils._ntuple(5)(0.5), utils._quadruple(range(2)), utils._ntuple(2, "of_two").__name__),
        lambda utils: utils._reverse_repeat_tuple((1, 2, 3), 2),
        lambda utils: utils._list_with_default([None, 3], [7, 8, 9]),
        lambda utils: utils._list_with_default(4, [7, 8, 9]),
        lambda utils: utils._list_with_default([None, 3], [7, 8]),
    ],
)
def test_options_for_each_dimension(call: Any) -> None:
    agree_or_raise(lambda torch: call(importlib.import_module(f"{torch.__name__}.nn.modules.utils")))


@pytest.mark.parametrize("mode", ["fan_in", "fan_out", "FAN_IN", "fan"])
def test_fans(mode: str) -> None:
    def case(torch: Any) -> Any:
        weight = torch.zeros(3, 4, 5)
        return torch.nn.init._calculate_fan_in_and_fan_out(weight), torch.nn.init._calculate_correct_fan(weight, mode)

    agree_or_raise(case)


def test_torchscript_is_taken_as_where_it_is_switched_off() -> None:
    """PyTorch with PYTORCH_JIT=0, which a process reads at its start."""
    jit = mindtorch_v2.jit

    @jit.script
    def doubled(x: Any) -> Any:
        return x * 2

    class Net(mindtorch_v2.nn.Module):  # type: ignore[misc, name-defined]
        @jit.ignore
        def ignored(self) -> int:
            return 1

        @jit.ignore(drop=True)
        def dropped(self) -> int:
            return 2

        @jit.unused
        def unused(self) -> int:
            return 3

        @jit.export
        def exported(self) -> int:
            return 4

    net = Net()
    assert doubled(mindtorch_v2.tensor(3.0)).item() == 6
    assert (net.ignored(), net.dropped(), net.unused(), net.exported()) == (1, 2, 3, 4)
    assert jit.script(net) is net
    assert not isinstance(net, (jit.ScriptModule, jit.RecursiveScriptModule))
    assert jit.annotate(list[int], [1]) == [1]
    assert jit.isinstance([1], list[int])
    assert not jit.isinstance(1, (list[int], dict))
    with pytest.raises(RuntimeError, match="expected a function, a module or a class, got int"):
        jit.script(3)
    with pytest.raises(RuntimeError, match="there is no TorchScript here"):
        jit.ScriptFunction()
