"""PyTorch's inner names that libraries import: there, and of what they are in PyTorch."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
import warnings
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
from torch.nn.modules.linear_cross_entropy import _linear_cross_entropy_batch_chunked
from torch._C import Graph, ScriptMethod, Value
from torch.nn.modules.loss import _Loss, _WeightedLoss
from torch.nn.modules.module import _IncompatibleKeys
from torch.nn.modules.utils import _list_with_default, _ntuple, _pair, _quadruple, _reverse_repeat_tuple, _single
from torch.nn.modules import Linear, SyncBatchNorm
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter
from torch.nn.init import _calculate_correct_fan, _calculate_fan_in_and_fan_out
from torch.nn.functional import _canonical_mask, _none_or_dtype
from torch.nn.utils._named_member_accessor import NamedMemberAccessor
from torch.optim.lr_scheduler import _LRScheduler, _format_param
from torch.utils._foreach_utils import Indices, TensorListList, _group_tensors_by_device_and_dtype
from torch.utils._foreach_utils import _device_has_foreach_support, _has_foreach_support
from torch.utils._typing_utils import copy_method_params, not_none
from torch.utils.backend_registration import _privateuse1_backend_name
from torch._prims_common import DeviceLikeType
from torch.cuda.random import get_rng_state_all
import torch
assert isinstance(torch.nn.BatchNorm2d(2), _BatchNorm)
assert isinstance(torch.nn.Linear(1, 1).load_state_dict({}, strict=False), _IncompatibleKeys)
assert not torch.xpu.is_available() and torch.xpu.device_count() == 0
assert not torch.cuda.is_current_stream_capturing() and not torch.backends.cuda.is_built()
torch.backends.cuda.matmul.allow_tf32 = True
assert torch.backends.cuda.matmul.allow_tf32
assert torch._disable_dynamo(len) is len and torch._C._log_api_usage_once("here") is None
assert _privateuse1_backend_name == "npu"
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


def inner(torch: Any, name: str) -> Any:
    return importlib.import_module(f"{torch.__name__}.{name}")


MASKS = {
    "none": lambda t: None, "bools": lambda t: t.tensor([True, False]), "numbers": lambda t: t.ones(2).double(),
    "integers": lambda t: t.tensor([1, 0]),
}  # fmt: skip


@pytest.mark.parametrize("other", [None, "bool", "float32", "float64"])
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("looks", [True, False])
def test_masks(name: str, other: str | None, looks: bool) -> None:
    def case(torch: Any) -> Any:
        functional, mask = torch.nn.functional, MASKS[name](torch)
        kind = None if other is None else getattr(torch, other)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = functional._canonical_mask(mask, "mask", kind, "other", torch.float16, looks)
        return found, [str(each.message) for each in caught], str(functional._none_or_dtype(mask))

    agree_or_raise(case)


def groups(torch: Any, *lists: Any) -> Any:
    utils = inner(torch, "utils._foreach_utils")
    found = utils._group_tensors_by_device_and_dtype([each(torch) for each in lists], with_indices=True)
    return sorted((str(key), value) for key, value in found.items())


def three(t: Any) -> Any:
    return [t.ones(2), t.ones(3).double(), t.ones(4)]


@pytest.mark.parametrize(
    "lists",
    [
        [three],
        [three, lambda t: [None, t.ones(3).double(), None]],
        [three, lambda t: []],
        [three, lambda t: [t.tensor(1.0)] * 3],
        [three, lambda t: [each.bfloat16() for each in three(t)]],
        [three, lambda t: [each.int() for each in three(t)]],
        [three, lambda t: three(t)[:2]],
        [three, lambda t: [1, 2, 3]],
        [lambda t: [None, *three(t)[1:]], three],
        [lambda t: []],
        [lambda t: t.ones(3)],
    ],
)
def test_groups_of_tensors(lists: Any) -> None:
    agree_or_raise(lambda torch: groups(torch, *lists))


def test_lists_that_operators_take() -> None:
    def case(torch: Any) -> Any:
        utils, tensors = inner(torch, "utils._foreach_utils"), three(torch)
        cpu, meta = torch.device("cpu"), torch.device("meta")
        return [
            utils._device_has_foreach_support(cpu), utils._device_has_foreach_support(meta),
            utils._has_foreach_support([*tensors, None], cpu),
            utils._has_foreach_support([torch.nn.Parameter(tensors[0])], cpu),
        ]  # fmt: skip

    agree(case)


@pytest.mark.parametrize("rate", [lambda t: 0.1, lambda t: [0.1, 0.2], lambda t: (0.1,), lambda t: t.tensor(3.0)])
def test_an_option_of_each_group(rate: Any) -> None:
    def case(torch: Any) -> Any:
        made = [{"params": [torch.ones(1, requires_grad=True)]} for _ in range(2)]
        given = rate(torch)
        found = inner(torch, "optim.lr_scheduler")._format_param("lr", torch.optim.SGD(made, lr=1), given)
        return found, found[0] is given, found[0] is found[1]

    agree_or_raise(case)


def test_what_is_asked_of_c() -> None:
    def case(torch: Any) -> Any:
        before, x = torch._C._is_any_autocast_enabled(), torch.ones(2)
        with torch.autocast("cpu"):
            inside = torch._C._is_any_autocast_enabled()
        compatible = torch._has_compatible_shallow_copy_type
        nn, scores, classes = torch._C._nn, torch.ones(2, 3), torch.tensor([0, 1])
        losses = nn.cross_entropy_loss(scores, classes, None, 1), nn.nll_loss_nd(scores, classes, None, 2)
        padded = nn.pad_sequence([x, torch.ones(3)], True, 5.0)
        return before, inside, compatible(x, x.double()), compatible(x, x.to("meta")), losses, padded

    agree(case)
    add = mindtorch_v2._C._add_docstr

    def bare() -> None: ...

    assert add(bare, "what it does") is bare
    assert bare.__doc__ == "what it does"
    with pytest.raises(RuntimeError, match="already has a docstring"):
        add(bare, "again")
    with pytest.raises(TypeError, match="don't know how to add docstring to type 'Undocumented'"):
        add(Undocumented(), "never")


class Undocumented:
    __slots__ = ()
    __doc__ = None


@pytest.mark.parametrize("options", [{}, {"get_infos": True}, {"pivot": False}], ids=str)
def test_lu(options: dict[str, Any]) -> None:
    agree_or_raise(lambda t: t.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]).lu(**options))


def test_a_slice_turned_back() -> None:
    def case(t: Any) -> Any:
        whole = t.arange(40.0).reshape(4, 10)
        found = whole[:, 2:6].slice_inverse(whole, 1, 2, 6)
        return found, found.data_ptr() == whole.data_ptr(), found._base is whole

    agree(case)
    agree_or_raise(lambda t: t.ones(2, 2).slice_inverse(t.ones(4, 10), 0, 0, 2))


def test_a_device_that_is_nowhere() -> None:
    agree_or_raise(lambda t: t.ones(2).ipu())


@pytest.mark.parametrize("asked", [(True, True, True), (False, True, False), (False, False, False)])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("bias", [True, False])
def test_a_loss_in_chunks(asked: tuple[bool, ...], reduction: str, bias: bool) -> None:
    def case(torch: Any) -> Any:
        torch.manual_seed(0)
        x, w, b = torch.randn(7, 4), torch.randn(5, 4), torch.randn(5) if bias else None
        target, weight = torch.tensor([0, 3, 1, -100, 4, 2, 2]), torch.rand(5)
        inner_names = torch.nn if torch is mindtorch_v2 else inner(torch, "nn.modules.linear_cross_entropy")
        rest = ("accurate", torch.float32)
        flags = asked if bias else (*asked[:2], False)
        whole = inner_names._linear_cross_entropy_batch_chunked(
            x, w, target, b, weight, reduction, -100, 0.0, 3, *rest, False, *flags
        )
        rows = inner_names._linear_cross_entropy_batch_chunked_no_reduction(x, w, target, b, weight, -100, 3, *rest)
        return whole, rows

    agree(case)


def test_a_loss_in_chunks_is_not_smoothed() -> None:
    x = mindtorch_v2.ones(2, 2)
    with pytest.raises(NotImplementedError, match="does not support label smoothing"):
        mindtorch_v2.nn._linear_cross_entropy_batch_chunked(
            x, x, mindtorch_v2.tensor([0, 1]), None, None, "mean", -100, 0.1, 1, "auto", mindtorch_v2.float32,
            False, True, True, False,
        )  # fmt: skip
    with pytest.raises(RuntimeError, match="there is no TorchScript here"):
        mindtorch_v2._C.ScriptMethod()
