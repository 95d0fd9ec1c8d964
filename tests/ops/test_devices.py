"""Tensors of several devices in one call: refused, as PyTorch refuses them, but for what it lets pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as pytorch
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch_v2 as ours
from tests.ops import calls
from tests.runtime.both import agree, fresh_namespace

MIXED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda torch, a, b: a + b,
    "add_": lambda torch, a, b: a.add_(b),
    "mul_": lambda torch, a, b: a.mul_(b),
    "add_ of a number": lambda torch, a, b: a[0].add_(b[0]) if a.is_cpu else b[0].add_(a[0]),
    "compare": lambda torch, a, b: a == b,
    "cat": lambda torch, a, b: torch.cat([a, b]),
    "stack": lambda torch, a, b: torch.stack([a, b]),
    "where": lambda torch, a, b: torch.where(a > 0, b, b),
    "where's choices": lambda torch, a, b: torch.where(a > 0, a, b),
    "addcmul": lambda torch, a, b: torch.addcmul(a, a, b),
    "lerp": lambda torch, a, b: torch.lerp(a, b, 0.5),
    "masked_fill": lambda torch, a, b: a.masked_fill(b > 0, 1.0),
    "mm": lambda torch, a, b: a.reshape(1, 3).mm(b.reshape(3, 1)),
    "addmm": lambda torch, a, b: torch.addmm(a.reshape(1, 3), a.reshape(1, 3), b.expand(3, 3)),
    "addmm's bias": lambda torch, a, b: torch.addmm(a, b.reshape(1, 3), b.expand(3, 3)),
    "matmul": lambda torch, a, b: a @ b,
    "linear": lambda torch, a, b: torch.nn.functional.linear(a, b.expand(3, 3)),
    "mse_loss": lambda torch, a, b: torch.nn.functional.mse_loss(a, b),
    "equal": lambda torch, a, b: torch.equal(a, b),
    "gather": lambda torch, a, b: torch.gather(a, 0, b.long() * 0),
    "index_select": lambda torch, a, b: torch.index_select(a, 0, b.long() * 0),
    "scatter_add_": lambda torch, a, b: a.scatter_add_(0, b.long() * 0, a.clone()),
    "index_put_": lambda torch, a, b: a.index_put_([torch.tensor([0, 1, 2])], b),
    "setitem": lambda torch, a, b: a.__setitem__(torch.tensor([0, 1, 2]), b),
}


@pytest.mark.parametrize("devices", ["cpu npu:0", "npu:0 cpu", "cpu meta", "meta cpu", "npu:0 npu:1", "npu:0 meta"])
@pytest.mark.parametrize("name", MIXED)
def test_two_devices_are_refused(name: str, devices: str) -> None:
    first, second = devices.split()
    a, b = ours.ones(3).to(first), ours.ones(3).to(second)
    with pytest.raises(RuntimeError) as error:
        MIXED[name](ours, a, b)
    text = str(error.value)
    assert "Expected all tensors to be on the same device, but found at least two devices, " in text
    assert first in text
    assert second in text
    assert "when checking argument for argument " in text
    assert "in method aten::" in text
    for tensor in (a, b):
        if not tensor.is_meta:
            assert tensor.tolist() == [1, 1, 1]  # nothing was written


def test_the_message_names_the_argument() -> None:
    with pytest.raises(
        RuntimeError,
        match=r"two devices, npu:0 and cpu! \(when checking argument for argument mat2 in method aten::mm\)",
    ):
        ours.mm(ours.ones(2, 2, device="npu"), ours.ones(2, 2))
    with pytest.raises(
        RuntimeError, match=r"found at least two devices, npu:0 and cpu! .* argument self in method aten::add"
    ):
        ours.ones(3) + ours.ones(3, device="npu")


def test_an_index_on_another_device_is_refused_and_one_on_the_cpu_is_not() -> None:
    x = ours.arange(3.0)
    for where in ("npu", "meta"):
        index = ours.tensor([2, 0]).to(where)
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            x[index]
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            x[index] = 1.0
    assert x.npu()[ours.tensor([2, 0])].tolist() == [2, 0]
    on_npu = x.npu()
    on_npu[ours.tensor([2, 0])] = 5.0
    on_npu.index_put_([ours.tensor([1])], ours.tensor(7.0))
    assert on_npu.tolist() == [5, 7, 5]
    agree(lambda torch: tuple(torch.ones(3, device="meta")[torch.tensor([2, 0])].shape))


# ---------------------------------------------------------------- numbers on the CPU
NUMBERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda torch, s, x: s + x,
    "add, other side": lambda torch, s, x: x + s,
    "sub": lambda torch, s, x: s - x,
    "mul": lambda torch, s, x: s * x,
    "div": lambda torch, s, x: s / x,
    "pow": lambda torch, s, x: torch.pow(x, s),
    "maximum": lambda torch, s, x: torch.maximum(s, x),
    "compare": lambda torch, s, x: s < x,
    "remainder": lambda torch, s, x: torch.remainder(s, x),
    "atan2": lambda torch, s, x: torch.atan2(s, x),
    "where": lambda torch, s, x: torch.where(x > 1, s, x),
    "where's condition": lambda torch, s, x: torch.where(s > 1, x, x),
    "addcmul": lambda torch, s, x: torch.addcmul(x, s, x),
    "addcdiv": lambda torch, s, x: torch.addcdiv(s, x, x),
    "lerp": lambda torch, s, x: torch.lerp(s, x, 0.5),
    "lerp's weight": lambda torch, s, x: torch.lerp(x, x, s),
    "add_": lambda torch, s, x: x.clone().add_(s),
    "mul_": lambda torch, s, x: x.clone().mul_(s),
    "fill_": lambda torch, s, x: x.clone().fill_(s),
    "logical_and": lambda torch, s, x: torch.logical_and(s, x),
}


@pytest.mark.parametrize("dtypes", ["float32 float32", "float64 float32", "int64 float32", "float32 int32"])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_on_the_cpu_go_with_tensors_elsewhere(name: str, dtypes: str) -> None:
    if dtypes != "float32 float32" and name.startswith(("lerp", "addc", "mul_", "add_")):
        pytest.skip("PyTorch takes no other dtype there")

    def case(torch: Any, where: str) -> Any:
        number, others = (getattr(torch, dtype) for dtype in dtypes.split())
        return NUMBERS[name](torch, torch.tensor(2, dtype=number), torch.tensor([1, 2, 3], dtype=others, device=where))

    result = case(ours, "npu")
    assert str(result.device) == "npu:0"
    expected = case(pytorch, "cpu")
    assert str(result.dtype).rpartition(".")[2] == str(expected.dtype).rpartition(".")[2]
    assert pytest.approx(result.tolist(), rel=1e-5) == expected.tolist()
    agree(lambda torch: [str((found := case(torch, "meta")).device), str(found.dtype), tuple(found.shape)])


def test_the_gradient_of_a_number_is_where_the_number_is() -> None:
    for name in ("add", "sub", "mul", "div", "where", "lerp", "addcmul"):
        number = ours.tensor(2.0, requires_grad=True)
        other = ours.tensor([1.0, 2.0, 3.0], device="npu").requires_grad_()
        NUMBERS[name](ours, number, other).sum().backward()
        there = pytorch.tensor(2.0, requires_grad=True)
        plain = pytorch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        NUMBERS[name](pytorch, there, plain).sum().backward()
        assert str(number.grad.device) == "cpu"
        assert number.grad.tolist() == pytest.approx(there.grad.tolist())
        assert other.grad.device == other.device
        assert other.grad.tolist() == pytest.approx(plain.grad.tolist())


def test_a_number_on_the_cpu_gets_no_gradient_from_meta() -> None:
    def case(torch: Any) -> None:
        number = torch.tensor(2.0, requires_grad=True)
        (number * torch.ones(3, device="meta")).backward(torch.ones(3, device="meta"))

    agree(case, "Cannot copy out of meta tensor; no data!")


def test_second_derivatives_reach_the_number_that_was_given() -> None:
    number = ours.tensor(3.0, requires_grad=True)
    x = ours.tensor([1.0, 2.0]).npu().requires_grad_()
    (first,) = ours.autograd.grad((x * number * number).sum(), x, create_graph=True)
    first.sum().backward()
    assert number.grad.tolist() == 12.0


def test_a_number_that_is_written_to_does_not_move() -> None:
    number = ours.tensor(2.0)
    with pytest.raises(RuntimeError, match="argument self in method aten::add_"):
        number.add_(ours.tensor(1.0, device="npu"))
    assert number.item() == 2.0


def test_a_gradient_of_another_device_is_refused() -> None:
    x = ours.ones(3, device="npu", requires_grad=True)
    with pytest.raises(RuntimeError, match="expected device npu:0 but got cpu"):
        (x * 2).backward(ours.ones(3))


# ---------------------------------------------------------------- meta
NO_DATA = "Cannot copy out of meta tensor; no data!"
READS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "tolist": (lambda torch, m: m.tolist(), NO_DATA),
    "cpu": (lambda torch, m: m.cpu(), NO_DATA),
    "to": (lambda torch, m: m.to("cpu"), NO_DATA),
    "to of an empty one": (lambda torch, m: m.to("cpu", torch.float64), NO_DATA),
    "to another": (lambda torch, m: m.to(torch.ones(3)), NO_DATA),
    "type_as": (lambda torch, m: m.type_as(torch.ones(3)), NO_DATA),
    "as_tensor": (lambda torch, m: torch.as_tensor(m, device="cpu"), NO_DATA),
    "copy_": (lambda torch, m: torch.ones(3).copy_(m), NO_DATA),
    "slice": (lambda torch, m: torch.ones(3).__setitem__(slice(None), m), NO_DATA),
    "copy": (lambda torch, m: torch.ops.aten.copy(torch.ones(3), m), NO_DATA),
    "numpy": (lambda torch, m: m.numpy(), "can't convert meta device type tensor to numpy"),
    "numpy by force": (lambda torch, m: m.numpy(force=True), NO_DATA),
    "item": (lambda torch, m: m[0].item(), "Tensor.item() cannot be called on meta tensors"),
    "bool": (lambda torch, m: bool(m[0]), "Tensor.item() cannot be called on meta tensors"),
    "float": (lambda torch, m: float(m[0]), "Tensor.item() cannot be called on meta tensors"),
    "index": (lambda torch, m: [1, 2][m[0].long()], "Tensor.item() cannot be called on meta tensors"),
    "a number as an index": (
        lambda torch, m: torch.ones(3)[m[0].long()],
        "Tensor.item() cannot be called on meta tensors",
    ),
    "item of many": (lambda torch, m: m.item(), "a Tensor with 3 elements cannot be converted to Scalar"),
    "equal": (lambda torch, m: torch.equal(m, m), ""),
}


@pytest.mark.parametrize("name", READS)
def test_what_is_on_meta_cannot_be_read(name: str) -> None:
    case, said = READS[name]
    agree(lambda torch: case(torch, torch.ones(3, device="meta")), said)


def test_what_works_on_meta() -> None:
    agree(lambda torch: repr(torch.ones(3, device="meta")))
    agree(lambda torch: tuple(torch.ones(3, device="meta").copy_(torch.ones(3)).shape))
    agree(lambda torch: str(torch.ones(3, device="meta").copy_(torch.ones(1)).device))
    agree(lambda torch: str(torch.as_tensor(torch.ones(3, device="meta")).device))
    agree(lambda torch: str(torch.tensor(torch.ones(3, device="meta")).device))
    agree(lambda torch: str(torch.ones(3).to("meta").device))
    agree(lambda torch: torch.ones(3, device="meta").copy_(torch.ones(4)), "")


def test_reading_meta_from_an_npu_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        ours.ones(3, device="npu").copy_(ours.ones(3, device="meta"))
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        ours.ones(3, device="meta").npu()


# ---------------------------------------------------------------- written to on meta
@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize(
    ("call", "quoted"),
    [
        (lambda make: make().add_(make(3)), "doesn't match the broadcast shape"),
        (lambda make: make().lerp_(make(3), 0.5), "doesn't match the broadcast shape"),
        (lambda make: make(2, 1).addcdiv_(make(2, 3), make(2, 1)), "doesn't match the broadcast shape"),
        (lambda make: make(3).addcmul_(make(), make(2, 3)), "doesn't match the broadcast shape"),
        (lambda make: make(3).add_(make(2)), ""),
        (lambda make: make(2, 3).addcmul_(make(), make(3)), None),
    ],
)
def test_what_is_written_to_is_not_broadcast(call: Any, quoted: str | None, device: str) -> None:
    agree(lambda torch: call(lambda *shape: torch.ones(shape, device=device)), quoted)


# ---------------------------------------------------------------- what a program defines
def test_operators_that_a_program_defines_are_checked_where_they_say_so() -> None:
    lib = ours.library.Library(fresh_namespace(), "FRAGMENT")
    lib.define("free(Tensor x, Tensor lengths) -> Tensor")
    lib.define("bound(Tensor x, Tensor lengths) -> Tensor", device_check="ExactSame")
    for name in ("free", "bound"):
        lib.impl(name, lambda x, lengths: x + int(lengths.sum()), "NPU")
        lib.impl(name, lambda x, lengths: x + int(lengths.sum()), "CPU")
    space = getattr(ours.ops, lib.ns)
    x, lengths = ours.ones(2, device="npu"), ours.tensor([1, 2])
    assert space.free(x, lengths).tolist() == [4, 4]
    assert space.bound(x, lengths.npu()).tolist() == [4, 4]
    with pytest.raises(RuntimeError, match="argument lengths in method"):
        space.bound(x, lengths)
    with pytest.raises(
        ValueError, match="device_check must be one of NoCheck, ExactSame, CPUScalars, CPUIndices, got 'Same'"
    ):
        lib.define("wrong(Tensor x, Tensor y) -> Tensor", device_check="Same")
    assert not hasattr(space, "wrong")


# ---------------------------------------------------------------- beside PyTorch
# But for those that write to a tensor that is given: they call the others, and copy.
OPERATORS = [name for name in calls.operators(least_tensors=2) if not calls.mine(name)._schema.out_arguments]
OPERATORS.remove("searchsorted.Scalar")  # whose result for a number is one
OPERATORS.remove("_native_batch_norm_legit.no_stats")  # PyTorch's ends the process where a weight is on meta
TO_BACKENDS = ("_copy_from", "_copy_from_and_resize")  # PyTorch leaves these to devices from outside, which meta is not
# PyTorch's rules for meta refuse what its kernels take.
STRICTER = ("masked_fill.Tensor", "masked_fill_.Tensor", "div.Tensor_mode", "divide.Tensor_mode", "floor_divide")
STRICTER += ("copysign.Tensor", "copysign_.Tensor", "inner", "prelu", *TO_BACKENDS)
# What only writes to its arguments does nothing of meta here, and looks at nothing.
STRICTER += tuple(name for name in OPERATORS if name.startswith(("_foreach_", "_fused_")))


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_mixed_devices_as_pytorch(data: st.DataObject) -> None:
    """A call gives what PyTorch gives, or refuses to mix; where PyTorch refuses, so do we."""
    name = data.draw(st.sampled_from(OPERATORS))
    where = {}
    for argument in calls.tensor_names(name):
        shape = calls.shape_for(name, data.draw(st.sampled_from([(), (3,), (2, 3), (1, 3)]), argument))
        where[argument] = shape, data.draw(st.sampled_from(["cpu", "meta"]), argument)

    def make(torch: Any, argument: str, dtype: str, device: str = "") -> Any:
        shape, own = where[argument]
        values = torch.ones(shape, dtype=getattr(torch, dtype)) * (dtype != "int64" or "bitwise" in name)
        return values.to(device or own)

    got, expected = calls.call(ours, name, make), calls.call(pytorch, name, make)
    if len({device for _, device in where.values()}) == 1:
        assert "on the same device" not in str(got)
        return
    together = calls.call(ours, name, lambda torch, argument, dtype: make(torch, argument, dtype, "meta"))
    if isinstance(together, Exception):  # the shapes do not fit, or a number is read where one on the CPU could be
        assert isinstance(got, Exception) or "item()" in str(together)
    elif isinstance(got, Exception):
        assert not only_numbers_apart(name, where), f"{name} {where}: {got}"
    else:
        assert name in STRICTER or not isinstance(expected, Exception), f"{name} {where}: PyTorch raises {expected!r}"
        for result, alike in zip(calls.results(got), calls.results(together), strict=True):
            assert (result.shape, result.dtype) == (alike.shape, alike.dtype), f"{name} {where}"
        for result, theirs in zip(calls.results(got), calls.results(expected), strict=name not in STRICTER):
            assert (str(result.device), tuple(result.shape)) == (str(theirs.device), tuple(theirs.shape)), (
                f"{name} {where}"
            )


def only_numbers_apart(name: str, where: dict[str, tuple[tuple[int, ...], str]]) -> bool:
    """Whether the operator works element by element, and all that is on the CPU are numbers that it only reads."""
    operator = calls.mine(name)
    written = {argument.name for argument in operator._schema.arguments if argument.is_write}
    return "pointwise" in operator.tags and all(
        shape == () and argument not in written for argument, (shape, device) in where.items() if device == "cpu"
    )
