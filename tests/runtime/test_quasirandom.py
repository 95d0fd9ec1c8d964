"""The sequence of Sobol, beside PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch_v2
from mindtorch_v2.quasirandom import SobolEngine
from tests.runtime.both import agree


@pytest.mark.parametrize("scramble", [False, True])
@pytest.mark.parametrize("dimension", [1, 2, 40])
def test_points(dimension: int, scramble: bool) -> None:
    def case(t: Any) -> Any:
        engine = t.quasirandom.SobolEngine(dimension, scramble=scramble, seed=11)
        drawn = [engine.draw(n).tolist() for n in (1, 2, 5)]
        engine.fast_forward(3)
        drawn.append(engine.draw(2, dtype=t.float64).tolist())
        made = engine.num_generated
        return drawn, made, engine.reset().draw(2).tolist(), engine.sobolstate.tolist()[-1], repr(engine)

    agree(case)


def test_all_dimensions() -> None:
    agree(lambda t: t.quasirandom.SobolEngine(21201).sobolstate[::53].tolist())


def test_a_power_of_two() -> None:
    agree(lambda t: t.quasirandom.SobolEngine(2).draw_base2(3).tolist())
    engine = SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match="power of 2"):
        engine.draw_base2(2)


def test_points_in_a_given_tensor() -> None:
    out = mindtorch_v2.empty(0)
    assert SobolEngine(3).draw(2, out=out) is out
    assert out.tolist() == [[0, 0, 0], [0.5, 0.5, 0.5]]


@pytest.mark.parametrize("dimension", [0, 21202])
def test_dimensions_that_there_are_not(dimension: int) -> None:
    with pytest.raises(ValueError, match="dimensionality"):
        SobolEngine(dimension)


def test_chances_drawn_into_a_given_tensor() -> None:
    def case(t: Any) -> Any:
        t.manual_seed(3)
        out = t.empty(20)
        return t.bernoulli(t.full((20,), 0.5), out=out) is out, out.tolist()

    agree(case)
