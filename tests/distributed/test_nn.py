"""``torch.distributed.nn``: names and signatures beside PyTorch's, and what two processes find (nn_on_two.py)."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest
import torch.distributed.nn.functional as theirs

import mindtorch_v2.distributed as dist
from tests.distributed import nn_on_two
from tests.distributed.starting import found_by, need_mpi

FUNCTIONS = [*dist.nn.__all__, "_all_gather_base"]
IMPORTS = """
import sys
import mindtorch_v2
mindtorch_v2.install_as_torch()
import torch.distributed.nn
from torch.distributed.nn.functional import _all_gather_base, all_gather
assert torch.distributed.nn is mindtorch_v2.distributed.nn
assert torch.distributed.nn.all_gather is all_gather is mindtorch_v2.distributed.nn.functional.all_gather
assert not hasattr(torch.distributed.nn, "RemoteModule")
assert "mpi4py" not in sys.modules and "mindtorch_v2.nn" not in sys.modules
"""


def test_there_are_pytorchs_functions() -> None:
    functions = {name for name, value in inspect.getmembers(theirs, inspect.isfunction) if not name.startswith("_")}
    assert functions == {*dist.nn.__all__}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures(name: str) -> None:
    mine, its = (inspect.signature(getattr(module, name)).parameters for module in (dist.nn.functional, theirs))
    assert [(n, p.kind) for n, p in mine.items()] == [(n, p.kind) for n, p in its.items()]
    assert [str(p.default) for p in mine.values()] == [str(p.default) for p in its.values()]


def test_it_is_imported_from_pytorchs_place(child_env: dict[str, str]) -> None:
    subprocess.run([sys.executable, "-c", IMPORTS], env=child_env, check=True, timeout=60)


def test_before_there_is_a_group() -> None:
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        dist.nn.all_reduce(nn_on_two.torch.ones(1))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    need_mpi()
    return found_by("tests.distributed.nn_on_two", tmp_path_factory.mktemp("nn"))


@pytest.mark.parametrize("name", [*nn_on_two.CHECKS])
def test_together(name: str, found: list[dict[str, str]]) -> None:
    for rank, results in enumerate(found):
        assert results.get(name, "was not reached") == "", f"rank {rank}"
