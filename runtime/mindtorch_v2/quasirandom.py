"""``torch.quasirandom``: the sequence of Sobol, which fills the unit cube more evenly than random numbers do.

The direction numbers are those of Joe and Kuo for 21201 dimensions, which SciPy has.
"""

from __future__ import annotations

import functools
from typing import Any

from . import _core
from ._core import Tensor
from ._creation import tensor
from ._generators import Generator
from ._ops import ops

__all__ = ["SobolEngine"]

_I64 = _core.dtypes["int64"]


@functools.cache
def _table() -> Any:
    """What of every dimension is given: the first direction numbers, and the polynomial by its coefficients' bits."""
    import importlib.util
    from pathlib import Path

    import numpy as np

    found = importlib.util.find_spec("scipy")
    if found is None or found.origin is None:
        raise ImportError(
            "SobolEngine takes its direction numbers from SciPy, which is not installed: pip install scipy"
        )
    with np.load(Path(found.origin).parent / "stats" / "_sobol_direction_numbers.npz") as file:
        return file["vinit"].astype(np.int64), file["poly"].astype(np.int64)


def _directions(dimension: int, bits: int) -> Any:
    """The direction numbers of the first dimensions, as an array (dimension, bits) of integers of so many bits.

    The numbers m of a dimension go on by the recurrence that its polynomial of degree s has:
    m[j] = m[j - s] ^ (m[j - s] << s) ^ the sum of m[j - k] << k over its other coefficients k.
    """
    import numpy as np

    initial, polynomials = _table()
    numbers = np.ones((dimension, bits), dtype=np.int64)
    degrees = np.array([int(one).bit_length() - 1 for one in polynomials[:dimension]])
    for degree in range(1, int(degrees.max(initial=0)) + 1):
        rows = np.flatnonzero(degrees == degree)
        rows = rows[rows > 0]  # the first dimension is all ones
        if not rows.size:
            continue
        numbers[rows, :degree] = initial[rows, :degree]
        of_rows = polynomials[rows]
        for at in range(degree, bits):
            value = numbers[rows, at - degree]
            for k in range(1, degree + 1):
                taken = (of_rows >> (degree - k)) & 1
                value = value ^ (taken * (numbers[rows, at - k] << k))
            numbers[rows, at] = value
    return numbers << np.arange(bits - 1, -1, -1)


class SobolEngine:
    """Draws points of the Sobol sequence in ``dimension`` dimensions, as ``torch.quasirandom.SobolEngine``.

    With ``scramble`` the points are mixed by a random linear map and a shift, of ``seed`` or the default generator's.
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        """Raises ValueError for less than one dimension, and for more than there are direction numbers for."""
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.sobolstate = tensor(_directions(dimension, self.MAXBIT))
        self.shift = tensor([0] * dimension, dtype=_I64)
        if scramble:
            self._scramble()
        self.num_generated = 0

    def _scramble(self) -> None:
        """Mixes the bits of the direction numbers, the highest first, by a lower triangular matrix a dimension."""
        generator = Generator()
        if self.seed is None:
            generator.seed()
        else:
            generator.manual_seed(self.seed)
        bits = self.MAXBIT
        drawn = ops.aten.randint(2, [self.dimension, bits], generator=generator)
        powers = tensor([1 << at for at in range(bits)])
        self.shift = (drawn * powers).sum(1)
        matrices = ops.aten.randint(2, [self.dimension, bits, bits], generator=generator).tril()
        matrices.diagonal(dim1=1, dim2=2).fill_(1)
        falling = powers.flip(0)
        rows = (matrices * falling).sum(2)  # of each matrix the rows, as numbers
        mixed = self.sobolstate * 0
        for at in range(bits):
            both = self.sobolstate & rows[:, at : at + 1]
            for step in (16, 8, 4, 2, 1):  # the parity of the bits
                both = both ^ (both >> step)
            mixed += (both & 1) << (bits - 1 - at)
        self.sobolstate = mixed

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: _core.dtype | None = None) -> Tensor:
        """The next ``n`` points, of shape (n, dimension), in ``dtype`` or the default dtype."""
        kind = _core.get_default_dtype() if dtype is None else dtype
        first = self.num_generated
        counted = ops.aten.arange(first, first + n)
        gray = counted ^ (counted >> 1)  # one bit differs from a point to the next
        points = self.shift.expand(n, self.dimension).clone()
        for bit in range(int(first + n).bit_length()):
            points ^= (gray >> bit & 1).unsqueeze(1) * self.sobolstate[:, bit]
        self.num_generated += n
        drawn: Tensor = points.to(kind) * 2.0**-self.MAXBIT
        return drawn if out is None else out.resize_(drawn.shape).copy_(drawn)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: _core.dtype | None = None) -> Tensor:
        """The next ``2**m`` points. Raises ValueError where those drawn would not be a power of two with them."""
        count = 1 << m
        total = self.num_generated + count
        if total & (total - 1):
            raise ValueError(
                f"The balance of Sobol' points needs their number to be a power of 2: with {self.num_generated} drawn "
                f"before it is {self.num_generated}+2**{m}={total}. Use 'SobolEngine.draw()' for other numbers."
            )
        return self.draw(count, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begins the sequence again; returns the engine."""
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leaves out ``n`` points; returns the engine."""
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        told = [f"dimension={self.dimension}"]
        if self.scramble:
            told.append("scramble=True")
        if self.seed is not None:
            told.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(told)})"
