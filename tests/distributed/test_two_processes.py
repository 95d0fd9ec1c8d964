"""Two processes, started by mpirun: what they do together (on_two.py), and what becomes of both where one fails."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.distributed.starting import found_by, need_mpi, started
from tests.needs import needed

on_two = needed("tests.distributed.on_two")
ENDS = {
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "raised": "raise ValueError('no such batch')",
    "exited": "sys.exit(3)",
    "waits": "time.sleep(60)",
}
SCRIPT = """
import datetime, os, signal, sys, time
import mindtorch_v2.distributed as dist
dist.init_process_group(timeout=datetime.timedelta(seconds=1.5))
assert os.environ["RANK"] == str(dist.get_rank()) and os.environ["LOCAL_WORLD_SIZE"] == "2", os.environ
if dist.get_rank() == 1:
    {end}
try:
    dist.monitored_barrier()
except dist.DistBackendError as error:
    print(error, file=sys.stderr)
dist.barrier()
"""
NAMES = {
    "killed": ["process rank 1"],
    "raised": ["rank 1 failed", "no such batch"],
    "exited": ["rank 1 failed", "exit status 3"],
    "waits": ["ranks 1 failed to come", "barrier: not done after 1.5 s: rank 0 waits for others of the ranks 0, 1"],
}


@pytest.fixture(scope="module", autouse=True)
def _mpi() -> None:
    need_mpi()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, _mpi: None) -> list[dict[str, str]]:
    return found_by("tests.distributed.on_two", tmp_path_factory.mktemp("two"))


@pytest.mark.parametrize("name", [*on_two.CHECKS])
def test_together(name: str, found: list[dict[str, str]]) -> None:
    for rank, results in enumerate(found):
        assert results.get(name, "was not reached") == "", f"rank {rank}"


@pytest.mark.parametrize("way", [*ENDS])
def test_one_that_fails_ends_all_and_is_named(way: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(end=ENDS[way]))
    begun = time.monotonic()
    ran = started(str(script))
    assert ran.returncode != 0
    assert [text for text in NAMES[way] if text not in ran.stderr] == []
    assert time.monotonic() - begun < 50  # not the minute that one would wait
