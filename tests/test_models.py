"""Libraries written for PyTorch, unmodified: two models of transformers, trained, generating, saved and loaded."""

from __future__ import annotations

import pytest

from benchmarks import model_steps, models
from tests.needs import needed


@pytest.mark.slow
@pytest.mark.parametrize("release", [models.OLDEST, models.NEWEST])
@pytest.mark.parametrize(("name", "compared"), [("BERT", 3), ("GPT-2", 6), (model_steps.TRAINER, 3)])
def test_a_model_of_transformers_agrees(name: str, compared: int, release: str) -> None:
    needed("torch")
    found = models.compare(name, models.environment(release))
    assert found.whole, found
    assert len(found.agrees) == compared


def test_a_difference_is_told() -> None:
    found = models.Comparison("GPT-2", {"training": True, "greedy": False}, 1e-7)
    assert not found.whole
    assert "| GPT-2 | equal | **differs** |  |  |  |  |  | 1.0e-07 |" in models.page([found], models.OLDEST)
