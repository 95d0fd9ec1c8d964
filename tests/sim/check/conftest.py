"""Fixtures of the checker's tests: a device, and the kernels of kernels/, built to be checked."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mindtorch_v2.npu import build, paths
from tests.sim.ascendc.device import Device
from tests.sim.check.cases import KERNELS


@pytest.fixture
def npu() -> Iterator[Device]:
    device = Device(paths.simulator_library())
    yield device
    device.free_all()


@pytest.fixture(scope="session")
def checked_library() -> Callable[[str], ctypes.CDLL]:
    """Builds one of the sources in kernels/ for the checker and opens it."""
    opened: dict[str, ctypes.CDLL] = {}

    def library(source: str) -> ctypes.CDLL:
        if source not in opened:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("MINDTORCH_SIM_CHECK", "1")
                opened[source] = ctypes.CDLL(str(build.build_ascendc(Path(source).stem, [KERNELS / source])))
        return opened[source]

    return library
