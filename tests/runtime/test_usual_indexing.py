"""Elements picked and set, which the core does at once where they are few: what PyTorch gives, whoever follows."""

from __future__ import annotations

import copy
import itertools
import pickle
from typing import Any

import pytest

import mindtorch_v2
from tests.runtime.both import Case, agree
from tests.runtime.test_usual_calls import DTYPES


def numbers(torch: Any, *shape: int, dtype: str = "float32") -> Any:
    size = 1
    for n in shape:
        size *= n
    return (torch.arange(size) % 2 if dtype == "bool" else torch.arange(size)).reshape(shape).to(getattr(torch, dtype))


def told(t: Any) -> Any:
    return list(t.shape), str(t.dtype), t.float().tolist() if not t.is_complex() else t.tolist()


ITEMS: dict[str, Any] = {
    "none": lambda torch: None,
    "dots": lambda torch: ...,
    "int": lambda torch: -1,
    "slice": lambda torch: slice(1, None),
    "step": lambda torch: slice(None, None, 2),
    "whole": lambda torch: slice(None),
    "positions": lambda torch: torch.tensor([1, 0, -2]),
    "table": lambda torch: torch.tensor([[0], [1]], dtype=torch.int32),
    "columns": lambda torch: torch.tensor([[0, 7], [1, 7], [-1, 7]])[:, 0],
    "mask": lambda torch: torch.tensor([True, False]),
    "square": lambda torch: torch.tensor([[True, False], [False, True]]),
    "bytes": lambda torch: torch.tensor([0, 1], dtype=torch.uint8),
    "nowhere": lambda torch: torch.tensor([False, False]),
    "true": lambda torch: True,
    "list": lambda torch: [0, 1],
    "outside": lambda torch: torch.tensor([2]),
    "far": lambda torch: 2,
    "fraction": lambda torch: torch.tensor([0.5]),
    "zero": lambda torch: torch.tensor(0),
}


@pytest.mark.filterwarnings("ignore:indexing with dtype")
@pytest.mark.parametrize("first", ITEMS)
def test_indices_of_all_kinds(first: str) -> None:
    def case(torch: Any, *names: str) -> Any:
        index = tuple(ITEMS[name](torch) for name in names)
        found = []
        for x in (numbers(torch, 2, 2, 2), numbers(torch, 2, 2, 2).transpose(0, 2), numbers(torch, 2)):
            try:
                found.append(told(x[index]))
            except (IndexError, RuntimeError, TypeError) as error:
                found.append(type(error).__name__)
        return found

    for names in [(first,), *((first, name) for name in ITEMS), *((first, "dots", name) for name in ITEMS)]:
        if names[:2] == ("dots", "dots"):  # PyTorch takes the second for all dimensions again
            continue
        agree(lambda torch, names=names: case(torch, *names))  # type: ignore[misc]


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_of_all_dtypes(dtype: str) -> None:
    def case(torch: Any) -> Any:
        x = numbers(torch, 2, 3, 2, dtype=dtype)
        i, mask = torch.tensor([1, -1, 0]), torch.tensor([[True, False, True], [False, False, True]])
        return [told(t) for t in (x[i], x[:, i], x[..., i], x[i, i], x[:, i, i], x[mask], x[0, 0][i], x[:, :, i[:2]])]

    agree(case)


@pytest.mark.parametrize("dtype", DTYPES[:12])
def test_flat_places_and_slices(dtype: str) -> None:
    def case(torch: Any) -> Any:
        x = numbers(torch, 3, 2, dtype=dtype)
        i, more = torch.tensor([2, 0, 2]), numbers(torch, 3, 2, dtype=dtype)
        flat = torch.tensor([[5, -6], [0, 3]])
        at = torch.tensor([[0, 2], [1, 1], [2, 0]])
        found = [x.take(flat), x.take(i[::2]), x.t().take(flat), x.nonzero(), x.t().nonzero(), x.masked_select(x != 0)]
        found += [x.index_copy(0, torch.tensor([2, 0, 1]), more), x.t().index_copy(-1, i[:1], more[:1].t())]
        found += [x.scatter(0, at, more), x.scatter(-1, at[:, 1:] % 2, more), x.scatter_add(0, at, more)]
        found += [
            x.index_add(0, i, more),
            x.t().index_add(1, i.int(), more.t()),
            x.index_add(0, i, more[0].expand(3, 2)),
        ]
        found += [x[0].index_add(0, i[1:] % 2, more[0]), x.index_add(1, i[1:2], more[:, :1])]
        return [told(t) for t in found]

    agree(case)


REFUSED: dict[str, Case] = {
    "take outside": lambda torch: torch.ones(2).take(torch.tensor([2])),
    "take from nothing": lambda torch: torch.ones(0).take(torch.tensor([0])),
    "take at int32": lambda torch: torch.ones(2).take(torch.tensor([1], dtype=torch.int32)),
    "add outside": lambda torch: torch.ones(2, 2).index_add(0, torch.tensor([2]), torch.ones(1, 2)),
    "add too few": lambda torch: torch.ones(2, 2).index_add(0, torch.tensor([0, 1]), torch.ones(1, 2)),
    "add of another size": lambda torch: torch.ones(2, 2).index_add(0, torch.tensor([0]), torch.ones(1, 3)),
    "add of another dtype": lambda torch: torch.ones(2).index_add(0, torch.tensor([0]), torch.ones(1).double()),
    "copy outside": lambda torch: torch.ones(2, 2).index_copy(0, torch.tensor([-1]), torch.ones(1, 2)),
    "copy too few": lambda torch: torch.ones(2, 2).index_copy(0, torch.tensor([0, 1]), torch.ones(1, 2)),
    "copy of another size": lambda torch: torch.ones(2, 2).index_copy(0, torch.tensor([0]), torch.ones(1, 3)),
    "copy of another rank": lambda torch: torch.ones(2, 2).index_copy(0, torch.tensor([0]), torch.ones(1)),
    "scatter outside": lambda torch: torch.ones(2).scatter(0, torch.tensor([2]), torch.ones(1)),
    "scatter of too few": lambda torch: torch.ones(2).scatter(0, torch.tensor([0, 1]), torch.ones(1)),
    "scatter beyond": lambda torch: torch.ones(1, 2).scatter(1, torch.zeros(2, 1).long(), torch.ones(2, 1)),
    "add beyond": lambda torch: torch.ones(1, 2).scatter_add(1, torch.zeros(2, 1).long(), torch.ones(2, 1)),
    "add to itself": lambda torch: (lambda x: x.index_add_(0, torch.tensor([0, 1]), x))(torch.ones(2, 2)),
    "scatter to the expanded": lambda torch: torch.ones(1).expand(2).scatter_(0, torch.tensor([0]), torch.ones(1)),
    "dim outside": lambda torch: torch.ones(2).scatter_add(1, torch.tensor([0]), torch.ones(1)),
    "diagonal of one": lambda torch: torch.ones(2).diagonal(),
    "diagonal of the same": lambda torch: torch.ones(2, 2).diagonal(0, 1, -1),
    "mask of another size": lambda torch: torch.ones(2)[torch.tensor([True])],
    "set outside": lambda torch: torch.ones(2).__setitem__(2, 1.0),
    "set a leaf": lambda torch: torch.ones(2, requires_grad=True).__setitem__(0, 1.0),
    "set in inference": lambda torch: torch.inference_mode(lambda: torch.ones(2))().__setitem__(0, 1.0),
    "set another size": lambda torch: torch.ones(2, 2).__setitem__(0, torch.ones(3)),
    "set too large": lambda torch: torch.ones(2).long().__setitem__(0, 2**64),
    "set a word": lambda torch: torch.ones(2).__setitem__(0, "1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused(name: str) -> None:
    import torch

    with pytest.raises(Exception) as theirs:  # noqa: PT011 - whatever PyTorch raises
        REFUSED[name](torch)
    with pytest.raises(theirs.type):
        REFUSED[name](mindtorch_v2)


def test_diagonals() -> None:
    def case(torch: Any) -> Any:
        x = numbers(torch, 2, 3, 4)
        found = []
        for offset, (one, two) in itertools.product((-5, -2, -1, 0, 1, 3, 7), ((0, 1), (2, 0), (-1, -2))):
            d = x.diagonal(offset, one, two)
            found.append((told(d), d.storage_offset()))
        return found, told(torch.zeros(0, 2).diagonal()), told(numbers(torch, 2, 3).trace())

    agree(case)


def changed(torch: Any, *changes: Any) -> Any:
    """What a tensor of a dtype holds after assignments, and how often it was changed."""
    found = []
    for dtype in DTYPES[:12]:
        x = numbers(torch, 2, 3, dtype=dtype)
        for index, value in changes:
            x[index] = value(torch) if callable(value) else value
        found.append((told(x), x._version))
    return found


@pytest.mark.parametrize("value", [0, 1, 1.0, 7, True])
@pytest.mark.parametrize("index", [(0, 0), (-1, 2), (1, -3), 0, (0, slice(None)), (..., 1), None])
def test_numbers_are_set(index: Any, value: Any) -> None:
    agree(lambda torch: changed(torch, (index, value), ((1, 1), value)))


@pytest.mark.parametrize("index", [0, (slice(None), slice(None)), (0, ...), -1])
def test_tensors_are_set(index: Any) -> None:
    agree(lambda torch: changed(torch, (index, lambda torch: torch.ones(torch.ones(2, 3)[index].shape))))


def test_a_number_of_another_dtype_is_set_by_a_mask() -> None:
    masks = (
        ([True, False], lambda torch: torch.tensor(2)),
        ([[True, False, True]] * 2, lambda torch: torch.tensor([[1.0]])),
    )
    agree(lambda torch: [changed(torch, (torch.tensor(mask), value)) for mask, value in masks])


def past_what_is_set(torch: Any) -> Any:
    x = torch.ones(2, 2, requires_grad=True)
    y = x * 2
    y[0, 0] = 3.0
    y[1] = x[0] * 2
    return torch.autograd.grad((y * y).sum(), x)


FOLLOWED: dict[str, Case] = {
    "gradient of what is picked": lambda torch: (
        lambda x: torch.autograd.grad((x[torch.tensor([0, 0])] * x[x > 0][0] + x[None, ..., 1]).sum(), x)
    )(torch.ones(2, 2, requires_grad=True)),
    "gradient past what is set": past_what_is_set,
    "gradient of slices": lambda torch: (
        lambda x, y: torch.autograd.grad(
            (x.index_add(0, torch.tensor([1, 1]), y).index_copy(1, torch.tensor([0, 1]), y * y) ** 2).sum(), (x, y)
        )
    )(torch.ones(2, 2, requires_grad=True), torch.full((2, 2), 3.0, requires_grad=True)),
    "gradient of places": lambda torch: (
        lambda x, y: torch.autograd.grad(
            (
                x.scatter(0, torch.tensor([[0, 1], [1, 0]]), y) * x.scatter_add(0, torch.tensor([[1, 1], [1, 0]]), y)
            ).sum()
            + x.take(torch.tensor([3, 3])).sum()
            + x.trace()
            + x.diagonal(1).sum(),
            (x, y),
        )
    )(torch.ones(2, 2, requires_grad=True), torch.full((2, 2), 3.0, requires_grad=True)),
    "changed after it was saved": lambda torch: (
        lambda x, y: [y.__setitem__((0,), 3.0), refused(lambda: x * y), None][0]
    )(torch.ones(2, requires_grad=True), torch.ones(2)),
    "vmap": lambda torch: torch.vmap(lambda x: x[None, ..., 0] + x[torch.tensor([1])] + x.diagonal())(
        torch.ones(3, 2, 2)
    ),
    "vmap over positions": lambda torch: torch.vmap(lambda i: numbers(torch, 4)[i])(torch.tensor([[1, 0], [3, 3]])),
    "set in vmap": lambda torch: torch.vmap(lambda x: [x := x.clone(), x.__setitem__(0, 5.0), x][2])(torch.ones(3, 2)),
    "tangents": lambda torch: torch.func.jvp(
        lambda x: [y := x * 1, y.__setitem__(0, 5.0), y[torch.tensor([0, 1])]][2], (torch.ones(2),), (torch.ones(2),)
    ),
    "conjugates": lambda torch: (
        lambda x: (x[torch.tensor([0])], x.take(torch.tensor([1])), x[x.real > 1], x.nonzero())
    )(torch.tensor([1 + 2j, 3 - 1j]).conj()),
    "set a conjugate": lambda torch: (lambda x: [x.conj().__setitem__(0, 2 + 1j), x.tolist()])(torch.tensor([1 + 2j])),
    "set a view of the expanded": lambda torch: (lambda x: [x.expand(3, 2).__setitem__((2, 0), 5.0), x.tolist()])(
        torch.ones(2)
    ),
    "set a lazy clone": lambda torch: (
        lambda x: (lambda y: [y.__setitem__(0, 5.0), x.tolist(), y.tolist()])(torch._lazy_clone(x))
    )(torch.ones(2)),
    "deep": lambda torch: told(numbers(torch, *[1] * 61, 2)[..., torch.tensor([[1]])]),
    "cpu": lambda torch: (lambda x: (x.cpu() is x, x.cpu(memory_format=torch.preserve_format) is x))(torch.ones(2)),
    "cpu of grad": lambda torch: (lambda x: x.cpu() is x)(torch.ones(2, requires_grad=True)),
}


def refused(call: Any) -> str:
    try:
        call()
    except RuntimeError:
        return "refused"
    return "fine"


@pytest.mark.parametrize("name", FOLLOWED)
def test_those_who_follow_see_it(name: str) -> None:
    agree(FOLLOWED[name])


def test_changes_are_counted() -> None:
    def case(torch: Any) -> Any:
        x, y = torch.ones(2, requires_grad=True), torch.ones(2)
        z = x * y
        y[0] = 3.0
        return refused(lambda: z.sum().backward()), y._version

    agree(case)


def test_modes_see_what_is_set_and_picked() -> None:
    def case(torch: Any) -> Any:
        import importlib

        modes = importlib.import_module(torch.__name__ + ".utils._python_dispatch")
        seen: list[str] = []

        class Mode(modes.TorchDispatchMode):  # type: ignore[misc, name-defined]
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                seen.append(str(func))
                return func(*args, **(kwargs or {}))

        x, i = torch.ones(2, 2), torch.tensor([1])
        with Mode():
            x[i], x[None], x[..., 0], x[0, i], x[:, None, i]
            x[0] = x[1]
        return seen

    agree(case)


def test_cpu_of_another_device() -> None:
    x = mindtorch_v2.ones(2, device="npu")
    assert x.cpu().device.type == "cpu"
    assert x.cpu().tolist() == [1, 1]
    with pytest.raises(TypeError):
        x.cpu(1, 2)


def test_indices_are_counted() -> None:
    def case(torch: Any) -> Any:
        i, wide = torch.tensor([0, 3, 1, 3]), torch.tensor([[2, 0], [1, 1]])
        one_hot = torch.nn.functional.one_hot
        found = [
            torch.bincount(i),
            torch.bincount(i, minlength=6),
            torch.bincount(i, torch.ones(4)),
            torch.bincount(i[:0]),
        ]
        found += [torch.bincount(i[::2]), torch.bincount(i.int()), torch.bincount(torch.tensor([5000]))]
        found += [one_hot(i), one_hot(wide, 4), one_hot(wide.t()), one_hot(torch.tensor(2)), one_hot(i[:0], 3)]
        found += [torch.vmap(lambda row: one_hot(row, 3))(wide), one_hot(torch.tensor([5000])).sum()]
        found += [torch.repeat_interleave(i), torch.repeat_interleave(i.int()), torch.repeat_interleave(i[::2])]
        found += [
            torch.ones(4, 2).repeat_interleave(i, 0),
            torch.repeat_interleave(i, 2),
            torch.repeat_interleave(i[:1]),
        ]
        found += [torch.repeat_interleave(torch.tensor([0, 4095, 4095]))]
        return [told(t) for t in found]

    agree(case)


@pytest.mark.parametrize("case", [
    lambda torch: torch.bincount(torch.tensor([-1])),
    lambda torch: torch.bincount(torch.tensor([[1]])),
    lambda torch: torch.bincount(torch.tensor([1]), minlength=-1),
    lambda torch: torch.nn.functional.one_hot(torch.tensor([-1])),
    lambda torch: torch.nn.functional.one_hot(torch.tensor([3]), 3),
    lambda torch: torch.nn.functional.one_hot(torch.tensor([0]), 0),
    lambda torch: torch.nn.functional.one_hot(torch.tensor([0]).int()),
    lambda torch: torch.repeat_interleave(torch.tensor([-1])),
    lambda torch: setattr(torch.finfo(torch.float32), "eps", 1.0),
    lambda torch: torch.finfo(torch.int64),
    lambda torch: torch.iinfo(torch.float32),
    lambda torch: torch.iinfo(3),
    lambda torch: setattr(torch.ones(1), "layout", torch.strided),
])  # fmt: skip
def test_wrong_counts_and_limits(case: Case) -> None:
    agree(case, "")


def test_limits_and_layouts() -> None:
    def case(torch: Any) -> Any:
        kinds = [getattr(torch, name) for name in DTYPES[1:]]
        infos = [(torch.finfo if d.is_floating_point or d.is_complex else torch.iinfo)(d) for d in kinds]
        return (
            [(i.bits, float(i.min), float(i.max), i.dtype, getattr(i, "eps", None)) for i in infos],
            [i == (torch.finfo if hasattr(i, "eps") else torch.iinfo)(d) for i, d in zip(infos, kinds, strict=True)],
            torch.finfo().dtype, torch.finfo(torch.float16) == torch.finfo(torch.float32),
            str(torch.ones(1).layout), torch.ones(1).layout is torch.strided,
        )  # fmt: skip

    agree(case)


def test_limits_are_copied() -> None:
    limits = mindtorch_v2.finfo(mindtorch_v2.float16), mindtorch_v2.iinfo(mindtorch_v2.int8)
    assert pickle.loads(pickle.dumps(limits)) == limits == copy.deepcopy(limits)
