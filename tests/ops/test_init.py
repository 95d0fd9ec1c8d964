"""First values of parameters, from a generator of the caller's."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch


@pytest.mark.parametrize("fill", [torch.nn.init.normal_, torch.nn.init.uniform_])
def test_the_numbers_are_those_of_the_generator(fill):
    def drawn(*, positional: bool) -> list[float]:
        generator = torch.Generator()
        generator.manual_seed(5)
        start = torch.zeros(4)
        made = fill(start, 0.0, 2.0, generator) if positional else fill(start, 0.0, 2.0, generator=generator)
        assert made is start
        return made.tolist()

    assert drawn(positional=True) == drawn(positional=False)
    assert drawn(positional=True) != fill(torch.zeros(4), 0.0, 2.0).tolist()
