"""Calls with gradients in two processes, beside PyTorch's over Gloo in the same two. Run by test_nn.py.

A case is a function of the library and the process's number: what came of a call, and what it was given. The gradients
are those of a function of the results that is not linear, and whose weights differ by process; then gradients of these.
"""

from __future__ import annotations

import datetime
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import torch as pytorch

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist
from mindtorch_v2.distributed.nn import functional
from tests.distributed.on_two import Checks, main, raises

Case = Callable[[Any, Any, int], tuple[Sequence[Any], Sequence[Any]]]
CASES: dict[str, Case] = {}
CHECKS: Checks = {}


def case(function: Case) -> Case:
    CASES[function.__name__] = function
    return function


def check(function: Callable[[int], None]) -> Callable[[int], None]:
    CHECKS[function.__name__] = function
    return function


def numbers(t: Any, rank: int, *shape: int) -> Any:
    """Whole numbers, which add up exactly; others in the other process."""
    count = t.Size(shape).numel()
    return (t.arange(1.0, count + 1, dtype=t.float64) + 10 * rank).reshape(shape).requires_grad_()


def plain(values: Sequence[Any]) -> list[Any]:
    return [None if v is None else (tuple(v.shape), v.requires_grad, v.tolist()) for v in values]


def weighed(values: Sequence[Any], rank: int) -> Any:
    """The sum of cubes, each value with a weight of its own."""
    return sum(((i + 2) * (rank + 1) * value**3).sum() for i, value in enumerate(values))


def told(t: Any, run: Case, rank: int) -> list[Any]:
    """Results, gradients and gradients of these."""
    functions = import_module(f"{t.__name__}.distributed.nn.functional")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # PyTorch's, that it will have other names for them
        results, given = run(t, functions, rank)
        if not any(result.requires_grad for result in results):
            return plain(results)
        first = t.autograd.grad(weighed(results, rank), given, create_graph=True)
        second = t.autograd.grad(weighed(first, rank), given)
    return [plain(results), plain(first), plain(second)]


def compare(run: Case, rank: int) -> None:
    theirs, ours = (told(library, run, rank) for library in (pytorch, torch))
    assert ours == theirs, f"PyTorch gives {theirs}, mindtorch_v2 gives {ours}"


@case
def broadcast(t: Any, f: Any, rank: int) -> Any:
    x = numbers(t, rank, 2, 3)
    return [f.broadcast(x, 1)], [x]


@case
def reduce(t: Any, f: Any, rank: int) -> Any:
    x = numbers(t, rank, 2, 3)
    result = f.reduce(x, 1)
    return [result if rank == 1 else result * 0], [x]  # what Gloo leaves elsewhere is not said


@case
def reduce_of_the_largest(t: Any, f: Any, rank: int) -> Any:
    x = numbers(t, rank, 2)
    result = f.reduce(x, 0, t.distributed.ReduceOp.MAX)
    return [result if rank == 0 else result * 0], [x]


@case
def all_reduce(t: Any, f: Any, rank: int) -> Any:
    x = numbers(t, rank, 2, 3)
    return [f.all_reduce(x)], [x]


@case
def all_reduce_of_products(t: Any, f: Any, rank: int) -> Any:
    x = numbers(t, rank, 2)
    return [f.all_reduce(x, t.distributed.ReduceOp.PRODUCT)], [x]


@case
def all_reduce_of_columns(t: Any, f: Any, rank: int) -> Any:
    x = numbers(t, rank, 2, 3)
    return [f.all_reduce(x.t()), f.all_reduce(x.sum())], [x]


@case
def gather(t: Any, f: Any, rank: int) -> Any:
    x = numbers(t, rank, 2, 3)
    return f.gather(x, dst=1), [x]


@case
def gather_of_columns(t: Any, f: Any, rank: int) -> Any:
    x = numbers(t, rank, 2, 3)
    return f.gather(x.t()), [x]


@case
def scatter(t: Any, f: Any, rank: int) -> Any:
    given = [numbers(t, rank, 2, 3), numbers(t, rank + 2, 2, 3)]
    return [f.scatter(given, src=1)], given


@case
def scatter_of_rows(t: Any, f: Any, rank: int) -> Any:
    x = numbers(t, rank, 2, 3)
    return [f.scatter(x)], [x]


@case
def reduce_scatter(t: Any, f: Any, rank: int) -> Any:
    given = [numbers(t, rank, 2, 3), numbers(t, rank + 2, 2, 3)]
    output = t.zeros(2, 3, dtype=t.float64)
    result = f.reduce_scatter(output, given)
    assert not output.requires_grad
    assert result.data_ptr() == output.data_ptr()
    assert result.tolist() == output.tolist()
    return [result], given


@case
def all_gather(t: Any, f: Any, rank: int) -> Any:
    x = numbers(t, rank, 2, 3)
    return f.all_gather(x), [x]


@case
def all_gather_of_columns(t: Any, f: Any, rank: int) -> Any:
    x = numbers(t, rank, 2, 3)
    return [*f.all_gather(x.t()), *f.all_gather(x.sum())], [x]


@case
def one_of_what_is_gathered(t: Any, f: Any, rank: int) -> Any:
    x = numbers(t, rank, 3)
    return [f.all_gather(x)[1]], [x]


@case
def all_gather_base(t: Any, f: Any, rank: int) -> Any:
    """Gloo has no gradients of it."""
    output = t.zeros(4, dtype=t.float64)
    result = f._all_gather_base(output, numbers(t, rank, 2))
    assert result.requires_grad
    assert result.data_ptr() == output.data_ptr()
    return [output, result.detach()], []


@case
def all_to_all(t: Any, f: Any, rank: int) -> Any:
    given = [numbers(t, rank, 2, 3), numbers(t, rank + 2, 2, 3)]
    outputs = [t.zeros(2, 3, dtype=t.float64) for _ in given]
    results = f.all_to_all(outputs, given)
    assert type(results) is tuple
    assert all(a is b for a, b in zip(results, outputs, strict=True))
    return results, given


@case
def all_to_all_into_parts_of_one(t: Any, f: Any, rank: int) -> Any:
    x = numbers(t, rank, 4, 3)
    whole = t.zeros(4, 3, dtype=t.float64)
    results = f.all_to_all([*whole.chunk(2)], x.chunk(2))
    return [whole, *results], [x]


@case
def all_to_all_single(t: Any, f: Any, rank: int) -> Any:
    x = numbers(t, rank, 4, 3)
    output = t.zeros(4, 3, dtype=t.float64)
    result = f.all_to_all_single(output, x)
    assert result.data_ptr() == output.data_ptr()
    return [result], [x]


@case
def all_to_all_single_of_other_sizes(t: Any, f: Any, rank: int) -> Any:
    ins, outs = ([1, 2], [1, 3]) if rank == 0 else ([3, 1], [2, 1])
    x = numbers(t, rank, sum(ins), 2)
    return [f.all_to_all_single(t.zeros(sum(outs), 2, dtype=t.float64), x, outs, ins)], [x]


@case
def without_gradients(t: Any, f: Any, rank: int) -> Any:
    x = numbers(t, rank, 2).detach()
    outputs = [t.zeros(2, dtype=t.float64) for _ in range(2)]
    f.all_to_all(outputs, [x, x])
    return [f.all_reduce(x), f.broadcast(x, 0), *f.all_gather(x), *f.gather(x), f.scatter([x, x]), *outputs, x], []


@case
def one_after_another(t: Any, f: Any, rank: int) -> Any:
    x, y = numbers(t, rank, 2), numbers(t, rank + 2, 2)
    total = f.all_reduce(x * y)
    return [f.broadcast(total * x, 0), *f.all_gather(total + y)], [x, y]


CHECKS.update({name: partial(compare, run) for name, run in CASES.items()})


# ---------------------------------------------------------------- what PyTorch has not, or not with Gloo
@check
def gradients_of_all_gather_base(rank: int) -> None:
    for shape in ((4,), (2, 2)):
        x, other = numbers(torch, rank, 2), numbers(torch, 1 - rank, 2)
        y = functional._all_gather_base(torch.zeros(shape, dtype=torch.float64), x)
        factor = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64).reshape(shape) * (rank + 1)
        (grad,) = torch.autograd.grad((y**2 * factor).sum(), x, create_graph=True)
        mine = torch.tensor([[1.0, 2.0], [3.0, 4.0]][rank], dtype=torch.float64) * 3
        assert grad.tolist() == (2 * x * mine).tolist()
        (again,) = torch.autograd.grad((grad * other).sum(), x)
        assert again.tolist() == (2 * other * mine).tolist()


@check
def all_to_all_of_other_shapes(rank: int) -> None:
    """The r-th row of the table is what process r sends."""
    shapes = [[(1,), (2, 2)], [(3,), ()]]
    given = [numbers(torch, rank, *shape) for shape in shapes[rank]]
    outputs = [torch.zeros(row[rank], dtype=torch.float64) for row in shapes]
    results = functional.all_to_all(outputs, given)
    (results[0].sum() + 5 * (rank + 1) * results[1].sum()).backward()
    assert [tuple(one.shape) for one in results] == [row[rank] for row in shapes]
    assert [one.grad.unique().tolist() for one in given] == ([[1], [1]] if rank == 0 else [[5], [10]])


@check
def results_are_nobodys_views(rank: int) -> None:
    """They can be changed in place."""
    x = numbers(torch, rank, 2)
    for parts in (functional.all_gather(x), functional.gather(x), [functional.all_reduce(x)]):
        assert not any(one._is_view() for one in parts)
        parts[0].mul_(2)
        (grad,) = torch.autograd.grad(parts[0].sum(), x)
        assert grad.shape == x.shape
    assert x.tolist() == numbers(torch, rank, 2).tolist()


@check
def places_are_those_among_all(rank: int) -> None:
    """In a group where processes have other numbers, too."""
    turned = dist.new_group([1, 0], sort_ranks=False)
    x = numbers(torch, rank, 1)
    y = functional.broadcast(x, 1, turned)
    (y * (rank + 2)).sum().backward()
    assert y.item() == 11
    assert x.grad.item() == [0, 5][rank]
    parts = functional.gather(x, 1, turned)
    assert [one.item() for one in parts] == [[0, 0], [11, 1]][rank]
    assert functional.scatter(parts, 1, turned).item() == 1 + 10 * rank
    assert functional.reduce(x, 1, group=turned).item() == [1, 12][rank]
    dist.destroy_process_group(turned)


@check
def groups_of_one(rank: int) -> None:
    groups = [dist.new_group([one]) for one in (0, 1)]
    x = numbers(torch, rank, 3)
    mine = groups[rank]
    for y in (
        functional.all_reduce(x, group=mine),
        functional.broadcast(x, rank, mine),
        functional.reduce(x, rank, group=mine),
        *functional.gather(x, rank, mine),
        functional.scatter([x], rank, mine),
        *functional.all_gather(x, mine),
        functional.reduce_scatter(torch.zeros_like(x), [x], group=mine),
        functional._all_gather_base(torch.zeros_like(x), x, mine),
        *functional.all_to_all([torch.zeros_like(x)], [x], mine),
        functional.all_to_all_single(torch.zeros_like(x), x, group=mine),
    ):
        assert y.tolist() == x.tolist()
        assert torch.autograd.grad((y * 2).sum(), x)[0].tolist() == [2, 2, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that the process is not in the group
        assert functional.all_reduce(x, group=groups[1 - rank]).tolist() == x.tolist()
    dist.destroy_process_group(mine)


@check
def receivers_say_what_they_receive(rank: int) -> None:
    given = [numbers(torch, rank, 2) for _ in range(2 if rank == 0 else 1)]
    y = functional.scatter(given)
    (y * (rank + 1)).sum().backward()
    assert y.tolist() == [1, 2]
    assert [one.grad.tolist() for one in given] == ([[0, 0]] if rank else [[1, 1], [2, 2]])


@check
def averages(rank: int) -> None:
    x = numbers(torch, rank, 2)
    y = functional.all_reduce(x, dist.ReduceOp.AVG)
    (y * (rank + 1)).sum().backward()
    assert y.tolist() == [6, 7]
    assert x.grad.tolist() == [1.5, 1.5]


@check
def on_the_simulated_npu(rank: int) -> None:
    x = torch.ones(2, device="npu", requires_grad=True)
    parts = functional.all_gather(x * (rank + 1))
    total = functional.all_reduce(parts[0] * parts[1])
    (total * (rank + 1)).sum().backward()
    assert total.device.type == x.grad.device.type == "npu"
    assert total.tolist() == [4, 4]
    assert x.grad.tolist() == [12, 12]


@check
def errors(rank: int) -> None:
    """Those that are raised before anything is sent."""
    x = torch.ones(2)
    with raises(TypeError, "tensors in every process", "None"):
        functional.scatter(None)
    with raises(IndexError, "got none"):
        functional.scatter([])
    with raises(AssertionError, "of one shape", "(2,), (1,)"):
        functional.scatter([x, x[:1]])
    with raises(TypeError, "`tensor` of type torch.Tensor"):
        functional.all_reduce([x])
    with raises(ValueError, "invalid root rank: 5"):
        functional.broadcast(x, 5)
    with raises(TypeError, "expected op to be a ReduceOp"):
        functional.reduce(x, 0, "sum")
    with raises(RuntimeError, "expected length 2", "got 1"):
        functional.reduce_scatter(x, [x])
    with raises(RuntimeError, "input tensor list size 1"):
        functional.all_to_all([x, x], [x])
    with raises(RuntimeError, "Split sizes doesn't match"):
        functional.all_to_all_single(torch.ones(2), x, [1, 1], [2, 2])
    with raises(RuntimeError, "expected 4 elements, got 3"):
        functional._all_gather_base(torch.ones(3), x)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    pytorch.distributed.init_process_group(
        "gloo",
        store=pytorch.distributed.FileStore(str(folder / "store"), 2),
        rank=int(os.environ["RANK"]),
        world_size=2,
        timeout=datetime.timedelta(seconds=20),
    )
    main(folder, CHECKS)
    pytorch.distributed.destroy_process_group()
