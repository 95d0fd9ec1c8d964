"""Values and gradients are those that PyTorch gave when the snapshots were taken; PyTorch itself is not needed."""

from __future__ import annotations

import numpy as np
import pytest

import mindtorch_v2
from tests.needs import needed
from tests.snapshots.cases import DATA, FAMILIES, arrays

CASES = [(family, name) for family, cases in FAMILIES.items() for name in cases]
TOLERANCE = 2e-5


def _kept(family: str, name: str) -> list[np.ndarray]:
    with np.load(DATA / f"{family}.npz") as archive:
        return [archive[key] for key in archive.files if key.rpartition("/")[0] == name]


def _same(found: list[np.ndarray], kept: list[np.ndarray]) -> None:
    assert [(a.dtype, a.shape) for a in found] == [(a.dtype, a.shape) for a in kept]
    for mine, theirs in zip(found, kept, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize(("family", "name"), CASES)
def test_results_are_those_that_were_kept(family: str, name: str) -> None:
    _same(arrays(mindtorch_v2, FAMILIES[family][name]), _kept(family, name))


@pytest.mark.parametrize("family", FAMILIES)
def test_snapshots_are_of_these_cases_and_of_pytorch(family: str) -> None:
    torch = needed("torch")
    with np.load(DATA / f"{family}.npz") as archive:
        assert {key.rpartition("/")[0] for key in archive.files} == set(FAMILIES[family])
    for name, case in FAMILIES[family].items():
        _same(arrays(torch, case), _kept(family, name))
