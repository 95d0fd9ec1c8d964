"""What `test_new_device` runs on the device of `examples/new_device`, each part in a process of its own.

A process has one device of the key PrivateUse1. ``python -m tests.examples.on_new_device PART`` runs a part.
"""

from __future__ import annotations

import gc
import math
import sys
import warnings
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path[:0] = [str(EXAMPLES / "new_device"), str(EXAMPLES / "scaled_add")]

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import slate  # noqa: E402

import mindtorch_v2 as torch  # noqa: E402
from mindtorch_v2 import _core  # noqa: E402
from mindtorch_v2.backends import FallbackWarning, cpu_fallback  # noqa: E402
from mindtorch_v2.library import Library, operator_status, status_table  # noqa: E402

GROWING = ("set_.source_Tensor_storage_offset", "resize_")
EMPTY = (
    *("empty.memory_format", "empty.out", "empty_like", "empty_strided", "empty_strided.out"),
    *("new_empty", "new_empty_strided", "resize", "resize.out", *GROWING),
)


def minimal() -> None:
    """The minimal set of operators, each with PyTorch's name, has a kernel of the device's own, and works."""
    names = "empty.memory_format empty_strided as_strided view _reshape_alias resize_ _copy_from _copy_from_and_resize"
    names += " _local_scalar_dense set_.source_Tensor set_.source_Storage set_.source_Storage_storage_offset"
    for name in names.split():
        assert torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "PrivateUse1"), name
    x = torch.empty(2, 3, device="slate")
    assert str(x.device) == "slate:0"
    assert x.copy_(torch.arange(6.0).reshape(2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert x.t().storage_offset() == 0
    assert x.t()[1:].cpu().tolist() == [[1, 4], [2, 5]]
    x.t()[1:].copy_(torch.tensor([7]))
    assert x.view(6).tolist() == [0, 7, 7, 3, 7, 7]
    assert x[1, 0].item() == 3
    assert x.int().dtype is torch.int32
    assert x.to("cpu", torch.float64).dtype is torch.float64
    assert torch.ops.aten._reshape_alias(x, (3, 2), (2, 1)).tolist() == [[0, 7], [7, 3], [7, 7]]
    y = torch.empty_strided((2, 2), (1, 2), device="slate:1")
    assert (y.stride(), str(y.device)) == ((1, 2), "slate:1")
    y.resize_(40).zero_()
    assert y.untyped_storage().nbytes() == 160
    y[3:].fill_(2)
    y.resize_(100)
    assert y[:6].tolist() == [0, 0, 0, 2, 2, 2]
    z = torch.empty(0, device="slate").set_(x)
    z.add_(1)
    assert x.tolist() == [[1, 8, 8], [4, 8, 8]]
    z.set_(x.untyped_storage(), 1, (2, 2), (3, 1))
    assert z.tolist() == [[8, 8], [8, 8]]
    assert torch.ops.aten._copy_from_and_resize(torch.ones(4, 4), z).sum().item() == 16
    storage = z.untyped_storage()
    storage.resize_(0)
    assert storage.nbytes() == 0
    assert storage.is_slate
    assert torch.ones(3, device="slate").untyped_storage().slate() is not None
    moved = torch.arange(4).untyped_storage().slate(1)
    assert (str(moved.device), torch.empty(0, dtype=torch.int64, device="slate:1").set_(moved).tolist()) == (
        "slate:1",
        [0, 1, 2, 3],
    )
    del x, y, z, storage, moved
    gc.collect()
    assert torch.slate.memory_allocated() == 0


def methods() -> None:
    """Methods and modules under the device's name, and what is refused."""
    x = torch.ones(2).slate()
    assert x.is_slate
    assert not torch.ones(2).is_slate
    assert x.slate() is x
    assert str(x.slate(1).device) == "slate:1"
    assert str(torch.nn.Linear(2, 2).slate("slate:1").weight.device) == "slate:1"
    assert str(torch.device("privateuseone:1")) == "slate:1"
    assert torch._C._get_privateuse1_backend_name() == "slate"
    torch.utils.rename_privateuse1_backend("slate")
    torch.slate.set_device(1)
    assert str(torch.zeros(1, device="slate").device) == "slate:1"
    torch.slate.set_device(0)
    with torch.autocast("slate"):
        assert (torch.ones(2, 2, device="slate") @ torch.ones(2, 2, device="slate")).dtype is torch.bfloat16
    refused = [
        (lambda: torch.zeros(1, device="slate:2"), "there are 2 slate devices"),
        (lambda: torch.utils.rename_privateuse1_backend("brick"), "already been set! Current backend: slate"),
        (lambda: torch.utils.generate_methods_for_privateuse1_backend(), "has already been registered with is_slate"),
        (lambda: torch._register_device_module("slate", sys), "module of 'slate' has already been registered"),
        (lambda: torch._register_device_module("brick", sys), "Expected one of cpu"),
        (lambda: x.slate("cpu"), "Invalid device, must be slate device"),
        (lambda: x + torch.ones(2), "found at least two devices, slate:0 and cpu"),
    ]
    for call, said in refused:
        with pytest.raises(RuntimeError, match=said):
            call()


def fallback() -> None:
    """What has no kernel runs on the CPU, warns once, and is counted; an operator can be left out."""
    x = torch.arange(4.0).slate()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            x.cos()
    told = [str(item.message) for item in caught if item.category is FallbackWarning]
    assert told.count("aten::cos has no kernel for slate: it runs on the CPU, on copies of its tensors") == 1
    assert torch.slate.fallback_report()["aten::cos"] == 3
    assert "aten::neg" not in torch.slate.fallback_report()
    slate.every._destroy()
    library = Library("_", "IMPL")
    library.fallback(cpu_fallback, "PrivateUse1", exclude=["aten::sin"])
    x.cos()
    with pytest.raises(NotImplementedError, match="aten::sin"):
        x.sin()
    library._destroy()
    assert operator_status("aten::sin", "slate") == "absent"
    selective = Library("aten", "IMPL")
    selective.impl_fallback("sin", cpu_fallback, "PrivateUse1")
    x.sin()
    states = status_table("slate")
    assert (states["aten::sin"], states["aten::cos"], states["aten::zeros"]) == ("fallback", "absent", "composite")
    assert states["aten::neg"] == "native"
    with pytest.raises(NotImplementedError, match="aten::cos"):
        x.cos()
    with pytest.raises(NotImplementedError, match="record_stream has no kernel for this device"):
        x.record_stream(torch.Stream("slate"))


def defaults() -> None:
    """Kernels are told which of the devices is meant by default; one without an index is the current one."""
    torch.slate.set_device(1)
    for default, expected in (("slate:0", "slate:0"), ("slate:1", "slate:1"), ("slate", "slate:1")):
        with torch.device(default):
            made = (torch.ones(2), torch.empty_strided((2,), (1,)), torch.nn.Linear(2, 2).weight, torch.randn(2))
            assert {str(tensor.device) for tensor in made} == {expected}
            assert str(torch.get_default_device()) == expected
    torch.set_default_device("slate")
    torch.slate.set_device(0)
    assert str(torch.ones(1).device) == "slate:0"
    assert str(torch.Stream("slate").device) == "slate:0"
    assert torch.Stream("slate") == torch.Stream("slate:0") != torch.Stream("slate:1")
    with pytest.raises(MemoryError):
        torch.empty(1 << 60)
    gc.collect()  # a block for which there was no room has nothing to give back, and warns of nothing
    assert torch.slate.memory_allocated() >= 0


def stubs() -> None:
    """The loop alone, of the device's own: all else about the operator is as on the CPU."""
    seen: list[Any] = []

    def absolute(out: Any, x: Any) -> None:
        seen.append((x.dtype, out.shape == x.shape, x.dim(), x.is_contiguous(), x.is_slate))
        np.abs(slate.array(x), out=slate.array(out))

    def plus(out: Any, x: Any, y: Any = None, *, other: Any = None, alpha: Any = 1) -> None:
        slate.array(out)[...] = slate.array(x) + alpha * (other if y is None else slate.array(y))

    def equal(out: Any, x: Any, y: Any = None, *, other: Any = None) -> None:
        np.equal(slate.array(x), other if y is None else slate.array(y), out=slate.array(out))

    for name, function in (("abs_stub", absolute), ("add_stub", plus), ("eq_stub", equal)):
        slate.aten.impl_stub(name, function)
    torch.slate.fallback_report()
    x, y = torch.arange(-6.0, 6).reshape(3, 4), torch.arange(4.0)
    calls: list[Any] = [
        lambda a, b: a.abs(),
        lambda a, b: a.t().abs(),
        lambda a, b: a[:, ::2].abs(),
        lambda a, b: a[0, 0].abs(),
        lambda a, b: a[:0].abs(),
        lambda a, b: a.int().abs(),
        lambda a, b: a.clone().abs_(),
        lambda a, b: a.clone().t().abs_(),
        lambda a, b: a + b,
        lambda a, b: b + a,
        lambda a, b: torch.add(a.int(), b, alpha=3),
        lambda a, b: a.int() + 2.5,
        lambda a, b: a.int() + torch.tensor(2.5),
        lambda a, b: a.clone().add_(b, alpha=2),
        lambda a, b: a.clone().t()[:, :1].add_(b[:, None]),
        lambda a, b: a == b,
        lambda a, b: a == 2,
        lambda a, b: a.int() == b.double(),
    ]
    for number, call in enumerate(calls):
        got, expected = call(x.slate(), y.slate()), call(x, y)
        assert same(got, expected, values=True), (number, got, expected)
    assert set(seen) == {(torch.float32, True, 1, True, True), (torch.int32, True, 1, True, True)}
    assert not {"aten::abs", "aten::abs_", "aten::add.Tensor", "aten::eq.Tensor"} & set(torch.slate.fallback_report())
    leaf = x.slate().requires_grad_()
    leaf.abs().sum().backward()
    assert leaf.grad.tolist() == x.sign().tolist()
    view = x.slate()
    version = view._version
    view[1].abs_()
    assert (view.tolist()[1], view._version) == (x[1].abs().tolist(), version + 1)
    with pytest.raises(RuntimeError, match="Shape mismatch"):
        x.slate() + torch.ones(5).slate()
    with pytest.raises(RuntimeError, match="can't be cast"):
        x.int().slate().add_(1.5)
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.zeros(1).slate().expand(3).abs_()
    with pytest.raises(RuntimeError, match="is no stub"):
        slate.aten.impl_stub("sum_stub", absolute)
    with pytest.raises(RuntimeError, match="is no stub"):
        slate.aten.impl_stub("abs", absolute)
    with pytest.raises(TypeError, match="required to be a callable"):
        slate.aten.impl_stub("abs_stub", 3)
    names = ("abs", "abs_", "add.Tensor", "add_.Tensor", "eq.Tensor")
    states = [operator_status(f"aten::{name}", "slate") for name in names]
    assert states == ["native", "composite", "native", "native", "native"]
    slate.aten._destroy()
    assert operator_status("aten::abs", "slate") == "fallback"


def training() -> None:
    """The demo's model, trained on the device and on the CPU."""
    import train
    from rich.progress import Progress

    with Progress(disable=True) as progress:
        there, here = train.fit("slate", 40, progress), train.fit("cpu", 40, progress)
    assert train.difference(there, here) <= train.TOLERANCE
    assert there.losses[-1] < there.losses[0] / 2


def operators() -> None:
    """Every built-in operator does on the device what it does on the CPU."""
    from tests.ops import calls

    ran = 0
    for name in (found.partition("::")[2] for found in _core.operator_names() if found.startswith("aten::")):
        for shape in ((), (3,), (2, 3), (0,)):
            got, expected = (run(calls, name, shape, device) for device in ("slate", "cpu"))
            if isinstance(expected, Exception):
                assert type(got) is type(expected), f"{name} {shape}: {got!r}, on the CPU {expected!r}"
                continue
            assert not isinstance(got, Exception), f"{name} {shape}: {got!r}"
            ran += 1
            operator = calls.mine(name)
            values = name not in EMPTY and "nondeterministic_seeded" not in operator.tags
            for one, other in zip(got, expected, strict=True):
                assert same(one, other, values), f"{name} {shape}: {one}, on the CPU {other}"
    assert ran > 600, ran


def run(calls: Any, name: str, shape: tuple[int, ...], device: str) -> Any:
    """What one call gives and leaves in its arguments, or what it raises."""

    def make(torch: Any, argument: str, dtype: str) -> Any:
        size = calls.shape_for(name, shape)
        count = math.prod(size)
        values = torch.arange(count) % 3 if dtype == "int64" else (torch.arange(count) + 1) / (count + 1.0)
        return values.to(getattr(torch, dtype)).reshape(size).clone().to(device)

    operator = calls.mine(name)
    values = calls.arguments(torch, name, make)
    names = [argument.name for argument in operator._schema.arguments]
    if "device" in names:
        values["device"] = device
    if "source" in names and not isinstance(values["source"], torch.Tensor):
        values["source"] = torch.arange(4.0).to(device).untyped_storage()
    if name in ("_copy_from", "_copy_from_and_resize") and device == "cpu":
        return [values["self"]] * 3  # which the CPU has no kernel of
    try:
        result = operator(**values)
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return error
    return [*flat(result), *(tensor for value in values.values() for tensor in flat(value))]


def flat(value: Any) -> list[Any]:
    return [item for part in value for item in flat(part)] if isinstance(value, (list, tuple)) else [value]


def same(one: Any, other: Any, values: bool) -> bool:
    """Whether a result on the device is that on the CPU."""
    if not isinstance(one, torch.Tensor):
        return type(one) is type(other) and (not isinstance(one, (int, float)) or one == other)
    if one.shape != other.shape or one.dtype is not other.dtype or (other.is_cpu and not one.is_slate):
        return False
    return not values or repr(one.cpu().tolist()) == repr(other.tolist())


def tables() -> None:
    """The operator tests that the NPU passes by way of the CPU."""
    from tests.npu.test_builtin_operators import OPERATORS
    from tests.ops.test_devices import MIXED, NUMBERS

    for call in OPERATORS.values():
        for view in (lambda t: t, lambda t: t.t(), lambda t: t[:, ::2], lambda t: t.double(), lambda t: t[:0]):
            x, y = torch.linspace(-3, 3, 60).reshape(6, 10), torch.linspace(1, 2, 60).reshape(6, 10)
            there = call(view(x.slate()), view(y.slate()))
            assert there.is_slate
            assert repr(there.cpu().tolist()) == repr(call(view(x), view(y)).tolist())
    for name, call in NUMBERS.items():
        x, number = torch.tensor([1.0, 2.0, 3.0]), torch.tensor(2.0)
        there = call(torch, number, x.slate())
        assert there.is_slate, name
        assert there.tolist() == call(torch, number, x).tolist(), name
    for call in MIXED.values():
        for first, second in (("cpu", "slate"), ("slate", "cpu"), ("slate", "slate:1"), ("slate", "meta")):
            a, b = torch.ones(3).to(first), torch.ones(3).to(second)
            with pytest.raises(RuntimeError, match="found at least two devices"):
                call(torch, a, b)


if __name__ == "__main__":
    warnings.simplefilter("ignore", FallbackWarning)
    # An `out` of any shape is among the arguments.
    warnings.filterwarnings("ignore", "An output with one or more elements was resized")
    globals()[sys.argv[1]]()
    print("done")
