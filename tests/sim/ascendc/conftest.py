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


@pytest.fixture(scope="module", params=["0", "1"], ids=["unchecked", "checked"], autouse=True)
def checker(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test runs twice: under the checker, which must find nothing, and without it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINDTORCH_SIM_CHECK", request.param)
        yield request.param


@pytest.fixture(scope="session")
def kernel_library() -> Callable[[str], ctypes.CDLL]:
    """Builds one of the sources in kernels/ and opens it."""
    opened: dict[tuple[str, bool], ctypes.CDLL] = {}

    def library(source: str) -> ctypes.CDLL:
        key = (source, build.checking())
        if key not in opened:
            opened[key] = ctypes.CDLL(str(build.build_ascendc(Path(source).stem, [KERNELS / source])))
        return opened[key]

    return library
