"""``torch.distributed`` in one process: names, signatures and errors beside PyTorch's with Gloo."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
import torch as pytorch
import torch.distributed as theirs

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist
from tests.needs import require
from tests.runtime.both import outcome

FUNCTIONS = [name for name in dist.__all__ if inspect.isfunction(getattr(dist, name)) and hasattr(theirs, name)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures(name: str) -> None:
    mine, its = (inspect.signature(getattr(module, name)).parameters for module in (dist, theirs))
    expected = [(n, p.default) for n, p in its.items() if not n.startswith("_")]
    assert [n for n, _ in expected] == [*mine]
    for parameter, default in expected:
        assert str(mine[parameter].default) == str(default), parameter


def test_there_are_most_names() -> None:
    assert len(FUNCTIONS) > 45


def test_availability_is_asked_without_loading_an_engine() -> None:
    require("mpi4py")
    code = (
        "import sys, mindtorch_v2 as torch\n"
        "assert torch.distributed.is_available() and torch.distributed.is_mpi_available()\n"
        "assert not torch.distributed.is_nccl_available() and not torch.distributed.is_backend_available('gloo')\n"
        "assert not torch.distributed.is_initialized() and 'mpi4py' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_without_an_engine() -> None:
    code = (
        "import sys; sys.modules['mpi4py'] = None\n"
        "import mindtorch_v2.distributed as dist, mindtorch_v2.distributed._mpi as mpi\n"
        "try: dist.init_process_group('mpi')\n"
        "except ImportError as error: print(error)\n"
        "try: dist.init_process_group('hccl')\n"
        "except RuntimeError as error: print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True)
    assert "needs mpi4py and an MPI library" in ran.stdout
    assert "openmpi-bin" in ran.stdout
    assert "needs Ascend devices" in ran.stdout


BEFORE: list[Callable[[Any], Any]] = [
    lambda t: t.distributed.get_rank(),
    lambda t: t.distributed.get_world_size(),
    lambda t: t.distributed.all_reduce(t.ones(1)),
    lambda t: t.distributed.get_backend(),
    lambda t: t.nn.parallel.DistributedDataParallel(t.nn.Linear(1, 1)),
    lambda t: t.utils.data.DistributedSampler([1, 2]),
]


@pytest.mark.parametrize("case", BEFORE)
def test_before_there_is_a_group(case: Callable[[Any], Any]) -> None:
    errors = [outcome(library, case).error for library in (pytorch, torch)]
    assert type(errors[0]) is type(errors[1]) is ValueError
    assert str(errors[0]) == str(errors[1])


@pytest.mark.parametrize("backend", ["gloo", "nccl", "cpu:gloo,cuda:nccl"])
def test_engines_that_are_not_here(backend: str) -> None:
    with pytest.raises((RuntimeError, ValueError), match="mpi"):
        dist.init_process_group(backend)


WRONG: dict[str, Callable[[Any, Any], Any]] = {
    "twice": lambda t, d: d.init_process_group("gloo" if t is pytorch else "mpi"),
    "no tensor": lambda t, d: d.all_reduce([t.ones(1)]),
    "no op": lambda t, d: d.all_reduce(t.ones(1), op="sum"),
    "order of complex numbers": lambda t, d: d.all_reduce(t.ones(1, dtype=t.complex64), op=d.ReduceOp.MAX),
    "bits of floats": lambda t, d: d.all_reduce(t.ones(1), op=d.ReduceOp.BAND),
    "no root": lambda t, d: d.broadcast(t.ones(1)),
    "root that is not there": lambda t, d: d.broadcast(t.ones(1), 3),
    "root of reduce": lambda t, d: d.reduce(t.ones(1), 7),
    "list too long": lambda t, d: d.all_gather([t.ones(1), t.ones(1)], t.ones(1)),
    "list too short": lambda t, d: d.all_gather([], t.ones(1)),
    "other shapes": lambda t, d: d.all_gather([t.ones(3)], t.ones(2)),
    "other dtypes": lambda t, d: d.all_gather([t.ones(2).int()], t.ones(2)),
    "gathered size": lambda t, d: d.all_gather_into_tensor(t.ones(3), t.ones(2)),
    "scattered size": lambda t, d: d.reduce_scatter_tensor(t.ones(3), t.ones(2)),
    "split sizes": lambda t, d: d.all_to_all_single(t.ones(2), t.ones(2), [1], [2]),
    "lists of all_to_all": lambda t, d: d.all_to_all([t.ones(2)], [t.ones(2), t.ones(2)]),
    "message to itself": lambda t, d: d.send(t.ones(2), 0),
    "gather without a list": lambda t, d: d.gather(t.ones(2)),
    "scatter without a list": lambda t, d: d.scatter(t.ones(2), None),
    "scatter of too many": lambda t, d: d.scatter(t.ones(2), [t.ones(2), t.ones(2)]),
    "group out of range": lambda t, d: d.new_group([3]),
    "group with one twice": lambda t, d: d.new_group([0, 0]),
    "place in a group": lambda t, d: d.get_global_rank(d.new_group([0]), 4),
    "scatter no objects": lambda t, d: d.scatter_object_list([None], None, 0),
    "no messages": lambda t, d: d.batch_isend_irecv([3]),
    "no message": lambda t, d: d.P2POp(d.all_reduce, t.ones(1), 0),
    "nothing to train": lambda t, d: t.nn.parallel.DistributedDataParallel(t.nn.ReLU()),
    "devices of a module on the CPU": lambda t, d: t.nn.parallel.DistributedDataParallel(
        t.nn.Linear(1, 1), device_ids=[0]
    ),
}
RIGHT: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda t, d: (x := t.ones(2), d.all_reduce(x), x)[1:],
    "average": lambda t, d: (x := t.ones(2), d.all_reduce(x, d.ReduceOp.AVG), x)[1:],
    "handle": lambda t, d: d.all_reduce(t.ones(2), async_op=True).wait(),
    "leaf": lambda t, d: d.all_reduce(t.ones(2, requires_grad=True)),
    "gathered": lambda t, d: (x := [t.zeros(2)], d.all_gather(x, t.ones(2)), x)[1:],
    "objects": lambda t, d: (x := [None], d.all_gather_object(x, {1: 2}), x)[1:],
    "scattered objects": lambda t, d: (x := [None], d.scatter_object_list(x, [5], 0), x)[1:],
    "who": lambda t, d: (d.get_rank(), d.get_world_size(), d.get_process_group_ranks(None), d.is_initialized()),
    "names of ops": lambda t, d: (str(d.ReduceOp.SUM), repr(d.ReduceOp.MAX), d.ReduceOp.RedOpType.MIN.value),
    "engines": lambda t, d: (d.Backend("MPI"), d.Backend.MPI, d.GroupMember.NON_GROUP_MEMBER),
    "limit": lambda t, d: str(d.default_pg_timeout),
    "module": lambda t, d: repr(t.nn.parallel.DistributedDataParallel(t.nn.Linear(1, 1))),
    "states": lambda t, d: [*t.nn.parallel.DistributedDataParallel(t.nn.Linear(1, 1)).state_dict()],
    "one device": lambda t, d: repr(t.nn.DataParallel(t.nn.Linear(1, 1))),
}


@pytest.fixture(scope="module")
def _one_process() -> Any:
    require("mpi4py")
    store = theirs.HashStore()
    theirs.init_process_group("gloo", store=store, rank=0, world_size=1)
    dist.init_process_group("mpi")
    yield
    theirs.destroy_process_group()
    dist.destroy_process_group()


@pytest.mark.usefixtures("_one_process")
@pytest.mark.parametrize("name", [*WRONG])
def test_errors_are_of_pytorchs_classes(name: str) -> None:
    errors = [
        outcome(library, lambda t, d=module: WRONG[name](t, d)).error
        for library, module in ((pytorch, theirs), (torch, dist))
    ]
    assert errors[0] is not None
    assert errors[1] is not None
    assert isinstance(errors[1], type(errors[0])), errors
    assert len(str(errors[1])) > 20


@pytest.mark.usefixtures("_one_process")
@pytest.mark.parametrize("name", [*RIGHT])
def test_results(name: str) -> None:
    found = [outcome(t, lambda t, d=d: RIGHT[name](t, d)) for t, d in ((pytorch, theirs), (torch, dist))]
    assert found[1].error is None, found[1].error
    assert found[0] == found[1]


def test_ways_of_lying_on_processes_are_values() -> None:
    """And of tensors that lie so there are none."""

    def told(library: Any) -> list[Any]:
        kinds = import_module(f"{library.__name__}.distributed.tensor")
        ways = [kinds.Shard(1), kinds.Replicate(), kinds.Partial(), kinds.Partial("avg")]
        return [
            *[(way.is_shard(), way.is_shard(1), way.is_shard(0), way.is_replicate(), way.is_partial()) for way in ways],
            kinds.Shard(1) == kinds.Shard(1),
            [kinds.Shard.local_shard_size_and_offset(size, 4, rank) for size in (3, 5, 8) for rank in range(4)],
            isinstance(library.ones(1), kinds.DTensor),
        ]

    assert told(torch) == told(pytorch)
    with pytest.raises(NotImplementedError, match=r"no tensor\.distribute_tensor here"):
        import_module("mindtorch_v2.distributed.tensor").distribute_tensor(torch.ones(1))
    with pytest.raises(NotImplementedError, match=r"no device_mesh\.init_device_mesh here"):
        dist.init_device_mesh("cpu", (1,))
