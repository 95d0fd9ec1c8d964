"""`set_`, `resize_` as an operator, `empty_strided`, `_reshape_alias`: beside PyTorch, on the CPU, meta and the NPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as ours
from tests.runtime.both import agree, agree_or_raise

DEVICES = ["cpu", "meta"]


def seen(tensor: Any) -> tuple[Any, ...]:
    """What of a tensor `set_` may change."""
    values = None if tensor.is_meta else tensor.tolist()
    geometry = tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset()
    return (
        *geometry,
        str(tensor.dtype),
        str(tensor.device),
        tensor._version,
        tensor.untyped_storage().nbytes(),
        values,
    )


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a tensor": lambda torch, t, s: t.set_(s),
    "a view": lambda torch, t, s: t.set_(s[1:, ::2]),
    "a transposed one": lambda torch, t, s: t.set_(s.t()),
    "an expanded one": lambda torch, t, s: t.set_(s[:1].expand(4, 3)),
    "an empty one": lambda torch, t, s: t.set_(s[:0]),
    "itself": lambda torch, t, s: t.set_(t),
    "a view of itself": lambda torch, t, s: t.set_(t[1:]),
    "a storage": lambda torch, t, s: t.set_(s.untyped_storage()),
    "a part of a storage": lambda torch, t, s: t.set_(s.untyped_storage(), 1, (2, 2)),
    "a part, strided": lambda torch, t, s: t.set_(s.untyped_storage(), 1, (2, 2), (1, 2)),
    "a part, by its overload": lambda torch, t, s: torch.ops.aten.set_.source_Storage_storage_offset(
        t, s.untyped_storage(), 1, [2]
    ),
    "a part of a tensor": lambda torch, t, s: t.set_(s, 2, (2,), (2,)),
    "a part of a view": lambda torch, t, s: t.set_(s[1:], 1, (2,)),
    "a part of columns": lambda torch, t, s: t.set_(s.t(), 0, (2,)),
    "as many, beyond the end": lambda torch, t, s: t.set_(s, 4, (4,)),
    "as many, of a storage, beyond the end": lambda torch, t, s: t.set_(s.untyped_storage(), 4, (4,)),
    "as many, strided as before, beyond the end": lambda torch, t, s: t.set_(s, 4, (4,), (1,)),
    "as many": lambda torch, t, s: t.set_(s, 2, (4,)),
    "as many, by strides that stay": lambda torch, t, s: t[::2].set_(s, 1, (2,)).tolist(),
    "an overload's number": lambda torch, t, s: torch.ops.aten.set_.source_Storage(t, 3),
    "an overload's number for a part": lambda torch, t, s: torch.ops.aten.set_.source_Storage_storage_offset(
        t, 3, 0, []
    ),
    "an overload's tensor": lambda torch, t, s: torch.ops.aten.set_.source_Storage(t, s),
    "one element": lambda torch, t, s: t.set_(s.untyped_storage(), 5, (), ()),
    "nothing": lambda torch, t, s: t.set_(),
    "another dtype": lambda torch, t, s: t.set_(s.long()),
    "another dtype's storage": lambda torch, t, s: t.set_(s.short().untyped_storage()),
    "an odd number of bytes": lambda torch, t, s: t.set_(s.byte()[0].clone().untyped_storage()),
    "meta": lambda torch, t, s: t.set_(torch.zeros(3, device="cpu" if t.is_meta else "meta")),
    "meta's storage": lambda torch, t, s: t.set_(
        torch.zeros(3, device="cpu" if t.is_meta else "meta").untyped_storage()
    ),
    "a negative offset": lambda torch, t, s: t.set_(s.untyped_storage(), -1, (2,)),
    "a negative size": lambda torch, t, s: t.set_(s.untyped_storage(), 0, (-2,)),
    "a negative stride": lambda torch, t, s: t.set_(s.untyped_storage(), 0, (2,), (-1,)),
    "too many strides": lambda torch, t, s: t.set_(s.untyped_storage(), 0, (2,), (1, 1)),
    "a number": lambda torch, t, s: t.set_(3),
    "2**62 elements": lambda torch, t, s: t.set_(s.untyped_storage(), 0, (2**62,)),
    "2**63 elements": lambda torch, t, s: t.set_(s.untyped_storage(), 0, (2**32, 2**31)),
    "a part of nothing": lambda torch, t, s: t.set_(s.untyped_storage(), 100, (0,)),
    "resize_": lambda torch, t, s: torch.ops.aten.resize_(t, [2, 1]),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CALLS)
def test_as_pytorch(name: str, device: str) -> None:
    if device == "meta" and name in ("a negative stride", "2**62 elements"):
        pytest.skip("PyTorch lets meta tensors have strides and sizes that no tensor with memory has")

    def case(torch: Any) -> Any:
        t = torch.zeros(4, device=device)
        view = t[1:]
        s = torch.arange(6.0, device=device).reshape(2, 3)
        result = CALLS[name](torch, t, s)
        return result is t, seen(t), seen(s), tuple(view.shape), view._version

    agree_or_raise(case)


def test_a_storage_grows_for_a_part_of_it() -> None:
    def case(torch: Any) -> Any:
        s = torch.arange(3.0)
        t = torch.zeros(0).set_(s.untyped_storage(), 2, (5,))
        t.fill_(7)
        return s.tolist(), s.untyped_storage().nbytes(), t.tolist(), t.untyped_storage().nbytes()

    agree(case)


def test_memory_is_shared_and_versions_are_not() -> None:
    def case(torch: Any) -> Any:
        t, s = torch.zeros(3).add_(1).add_(1), torch.arange(3.0)
        before = t._version
        t.set_(s)
        versions = [before, t._version, s._version]
        t.add_(10)
        versions += [t._version, s._version]
        s.mul_(2)
        return versions, t._version, s._version, t.tolist(), s.tolist(), t.data_ptr() == s.data_ptr()

    agree(case)


def test_what_was_saved_notices() -> None:
    def case(torch: Any) -> None:
        x, w = torch.ones(2, requires_grad=True), torch.ones(2)
        y = x * w
        w.set_(torch.full((2,), 5.0))
        y.sum().backward()

    agree(case, "has been modified by an inplace operation")


def test_data_goes_on_counting() -> None:
    def case(torch: Any) -> Any:
        t = torch.zeros(2).add_(1)
        t.data = torch.ones(3)
        versions = [t._version]
        t.add_(1)
        t.set_(torch.zeros(1))
        return [*versions, t._version]

    agree(case)


@pytest.mark.parametrize("name", ["leaf", "computed", "source", "no grad", "view"])
def test_where_gradients_are(name: str) -> None:
    def case(torch: Any) -> Any:
        leaf, plain = torch.zeros(2, requires_grad=True), torch.ones(3)
        if name == "no grad":
            with torch.no_grad():
                leaf.set_(plain)
            return leaf.requires_grad, leaf.is_leaf, leaf.tolist()
        changed = {"leaf": leaf, "computed": leaf * 2, "source": plain, "view": (leaf * 2)[:1]}[name]
        changed.set_(leaf if name == "source" else plain)
        return changed.requires_grad, changed.is_leaf

    agree_or_raise(case)


def test_backward_through_it_is_refused() -> None:
    for torch_case in ("computed", "source"):

        def case(torch: Any, name: str = torch_case) -> None:
            leaf = torch.zeros(2, requires_grad=True)
            changed = leaf * 2 if name == "computed" else torch.ones(2)
            changed.set_(torch.ones(2) if name == "computed" else leaf)
            changed.sum().backward()

        agree_or_raise(case)


def test_a_view_shows_other_memory_afterwards() -> None:
    def case(torch: Any) -> Any:
        base = torch.zeros(4)
        view = base[:2]
        view.set_(torch.ones(3))
        view.add_(1)
        return base.tolist(), view.tolist()

    agree(case)


STRIDED: dict[str, Callable[[Any], Any]] = {
    "columns": lambda torch: torch.empty_strided((2, 3), (1, 2)),
    "gaps": lambda torch: torch.empty_strided((2, 3), (10, 2), dtype=torch.int16),
    "empty": lambda torch: torch.empty_strided((2, 0), (1, 2)),
    "no dimensions": lambda torch: torch.empty_strided((), ()),
    "one for many": lambda torch: torch.empty_strided((4,), (0,)),
    "too few strides": lambda torch: torch.empty_strided((2, 3), (2,)),
    "a negative stride": lambda torch: torch.empty_strided((2, 3), (-1, 2)),
    "a negative size": lambda torch: torch.empty_strided((-2,), (1,)),
    "too large": lambda torch: torch.empty_strided((2**62, 2), (4, 1)),
    "meta": lambda torch: torch.empty_strided((2, 3), (1, 2), device="meta"),
    "a leaf": lambda torch: torch.empty_strided((2, 3), (1, 2), requires_grad=True),
    "no dtype": lambda torch: torch.empty_strided((2, 3), (1, 2), dtype=None),
}


@pytest.mark.parametrize("name", STRIDED)
def test_empty_strided(name: str) -> None:
    def case(torch: Any) -> Any:
        made = STRIDED[name](torch)
        geometry = tuple(made.shape), made.stride(), made.untyped_storage().nbytes()
        return *geometry, str(made.dtype), str(made.device), made.requires_grad

    agree_or_raise(case)


def test_reshape_alias() -> None:
    def case(torch: Any) -> Any:
        x = torch.arange(6.0, requires_grad=True)
        y = torch.ops.aten._reshape_alias(x * 1, (2, 3), (3, 1))
        (y * y).sum().backward()
        return y.tolist(), y.grad_fn.name(), x.grad.tolist(), y._is_view()

    agree(case)


# ---------------------------------------------------------------- the NPU
def test_on_an_npu() -> None:
    t, s = ours.zeros(4, device="npu"), ours.arange(6.0).npu()
    assert t.set_(s) is t
    t.add_(1)
    assert (s.tolist(), t._version, s._version) == ([1, 2, 3, 4, 5, 6], 2, 0)
    t.set_(s.untyped_storage(), 1, (20,))
    assert (s.untyped_storage().nbytes(), t[:5].tolist()) == (84, [2, 3, 4, 5, 6])
    with pytest.raises(RuntimeError, match='device "npu:0" to a storage on different device "cpu"'):
        t.set_(ours.zeros(2))
    with pytest.raises(RuntimeError, match='device "npu:0" to a storage on different device "npu:1"'):
        t.set_(ours.zeros(2, device="npu:1").untyped_storage())
    assert ours.empty_strided((2, 3), (1, 2), device="npu").stride() == (1, 2)


@pytest.mark.parametrize("where", ["cpu npu", "npu cpu", "npu npu:1", "meta meta", "npu meta"])
def test_copy_from(where: str) -> None:
    first, second = where.split()
    source, target = ours.arange(3.0).to(first), ours.zeros(3, dtype=ours.int32).to(second)
    assert ours.ops.aten._copy_from(source, target) is target
    assert target._version == 1
    if second != "meta":
        assert target.tolist() == [0, 1, 2]
    assert ours.ops.aten._copy_from_and_resize(ours.ones(2, 2).to(first), target) is target
    assert tuple(target.shape) == (2, 2)
    assert target._version > 1
