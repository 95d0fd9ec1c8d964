"""Fixtures of the tests of AscendC kernels: a device, and the libraries built from kernels/."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mindtorch_v2.npu import build, paths
from tests.sim.ascendc.device import Device

KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture
def npu() -> Iterator[Device]:
    device = Device(paths.simulator_library())
    yield device
    device.free_all()


@pytest.fixture(scope="session")
def kernel_library(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ctypes.CDLL]:
    """Builds one of the sources in kernels/ and opens it."""
    opened: dict[str, ctypes.CDLL] = {}

    def library(source: str) -> ctypes.CDLL:
        if source not in opened:
            opened[source] = ctypes.CDLL(str(build.build_ascendc(Path(source).stem, [KERNELS / source])))
        return opened[source]

    return library
