"""Random numbers from NumPy's generators; seeded by ``torch.manual_seed``."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor, copied_to, device, dtype
from ..backends import backend_of

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "Generator",
    "bernoulli_",
    "bernoulli_at_",
    "default_generator",
    "normal_",
    "rand",
    "randint",
    "randint_low",
    "randn",
    "randperm",
    "uniform_",
]


class Generator:
    """A source of random numbers with a seed of its own, as ``torch.Generator``."""

    def __init__(self, device: device | str | None = "cpu") -> None:
        self.device = _core.device("cpu" if device is None else device)
        if backend_of(self.device).generator is None:
            raise RuntimeError(
                f"Generator(): there are no random numbers on {self.device.type}: expected a device that has some"
            )
        self._seed = 67280421310721  # PyTorch's default seed
        self._state: np.random.Generator | None = None

    @property
    def numpy(self) -> np.random.Generator:
        """The NumPy generator behind it, made at the first use."""
        if self._state is None:
            import numpy

            self._state = numpy.random.Generator(numpy.random.PCG64(self._seed))
        return self._state

    def manual_seed(self, seed: int) -> Generator:
        """Starts the sequence that belongs to ``seed``.

        Raises RuntimeError for what is no integer, as a bool is not, ValueError for one beyond 64 bits.
        """
        if isinstance(seed, bool) or not isinstance(seed, Integral):
            raise RuntimeError(f"manual_seed expected an int, but got {type(seed).__name__}")
        number = int(seed)
        if not -(2**63) <= number < 2**64:
            raise ValueError(f"Overflow when unpacking long long: the seed {number} needs more than 64 bits")
        self._seed, self._state = number % 2**64, None
        return self

    def initial_seed(self) -> int:
        """The seed that the sequence started from."""
        return self._seed

    def seed(self) -> int:
        """Starts a sequence from a seed that the operating system draws, and returns it."""
        import secrets

        self.manual_seed(secrets.randbits(63))
        return self._seed


# The largest finite number of each dtype, from the bits after its point and its largest exponent.
_LARGEST = {
    _core.dtypes[name]: (2 - 2.0**-bits) * 2.0**exponent
    for name, bits, exponent in (("float16", 10, 15), ("bfloat16", 7, 127), ("float32", 23, 127), ("float64", 52, 1023))
}

default_generator = Generator()
_core.hooks.fill(generator_type=Generator)


def _draw(size: Sequence[int], target: dtype, where: device | None, draw: Any) -> Tensor:
    """A tensor whose values ``draw(generator)`` gives as a NumPy array of the right size."""
    wanted = where or _core.get_default_device()
    if wanted.type == "meta" or 0 in size:  # NumPy makes no array of some sizes that have no elements
        return _core.alloc(size, target, wanted)
    result = _write(_core.alloc(size, target, _core.device("cpu")), draw(default_generator.numpy))
    return result if wanted.type == "cpu" else copied_to(result, device=wanted)


def _write(tensor: Tensor, values: Any) -> Tensor:
    """Stores a NumPy array of the tensor's shape in it."""
    import numpy as np

    if tensor.dtype is _core.dtypes["bfloat16"]:
        single = _core.alloc(tensor.shape, _core.dtypes["float32"], tensor.device)
        _write(single, values)
        tensor.copy_(single)
    else:
        np.asarray(_core.as_memoryview(tensor))[...] = values
    return tensor


def _require_float(name: str, target: dtype) -> dtype:
    if not target.is_floating_point:
        raise NotImplementedError(f'"{name}" not implemented for {target}: it gives floating-point numbers')
    return target


def rand(size: Sequence[int], *, dtype: dtype | None = None, device: device | None = None, **options: Any) -> Tensor:
    """Random numbers, evenly distributed over [0, 1)."""
    target = _require_float("rand", dtype or _core.get_default_dtype())
    single = "float64" if target is _core.dtypes["float64"] else "float32"
    return _draw(size, target, device, lambda generator: generator.random(size, single))


def randn(size: Sequence[int], *, dtype: dtype | None = None, device: device | None = None, **options: Any) -> Tensor:
    """Random numbers, normally distributed with mean 0 and variance 1."""
    target = _require_float("randn", dtype or _core.get_default_dtype())
    single = "float64" if target is _core.dtypes["float64"] else "float32"
    return _draw(size, target, device, lambda generator: generator.standard_normal(size, single))


def randint(high: int, size: Sequence[int], **options: Any) -> Tensor:
    """Random integers from 0 to high - 1."""
    return randint_low(0, high, size, **options)


def randint_low(
    low: int,
    high: int,
    size: Sequence[int],
    *,
    dtype: dtype | None = None,
    device: device | None = None,
    **options: Any,
) -> Tensor:
    """Random integers from low to high - 1."""
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    target = dtype or _core.get_default_dtype()  # where None is given, not left out
    if (device or _core.get_default_device()).type != "meta":
        _require_bounds(low, high, target)
    return _draw(size, target, device, lambda generator: generator.integers(low, high, size))


def _require_bounds(low: int, high: int, target: dtype) -> None:
    if target.is_complex:
        raise RuntimeError(f"randint(): a dtype for integers, floating-point numbers or truth values, got {target}")
    if target.is_floating_point:
        least, largest = -_LARGEST[target], _LARGEST[target]
    elif target is _core.dtypes["bool"]:
        least, largest = 0, 1
    else:
        bits = 8 * target.itemsize
        least, largest = (-1 << bits - 1, (1 << bits - 1) - 1) if target.is_signed else (0, (1 << bits) - 1)
    for name, bound in (("from", low), ("to - 1", high - 1)):
        if not least <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {target}, which holds {least} to {largest}: got {bound}")


def randperm(n: int, *, dtype: dtype | None = None, device: device | None = None, **options: Any) -> Tensor:
    """The integers from 0 to n - 1 in random order."""
    return _draw((n,), dtype or _core.dtypes["int64"], device, lambda generator: generator.permutation(n))


def _source(generator: Any) -> Any:
    """NumPy's source of numbers of a generator, or of the default one."""
    if generator is None:
        return default_generator.numpy
    return generator.numpy


def normal_(self: Tensor, mean: float, std: float, *, generator: Generator | None = None) -> Tensor:
    """Every element drawn from a normal distribution."""
    _core.refuse_internal_overlap("aten::normal_", self)
    source = _source(generator)
    if self.numel() == 0:  # of any shape: NumPy's arrays have a largest one, though nothing is in them
        return self
    return _write(self, source.normal(mean, abs(std), tuple(self.shape)))  # abs: -0.0, too, is no spread


def uniform_(self: Tensor, from_: float, to: float, *, generator: Generator | None = None) -> Tensor:
    """Every element drawn evenly from [from, to)."""
    largest = _LARGEST[self.dtype]
    for name, bound in (("from", from_), ("to", to)):
        if not -largest <= bound <= largest:
            raise RuntimeError(f"uniform_: {name}={bound} is out of bounds for {self.dtype}")
    if from_ > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}")
    if to - from_ > largest:
        raise RuntimeError(f"uniform_ expects to - from <= {largest}, but found from={from_} and to={to}")
    _core.refuse_internal_overlap("aten::uniform_", self)
    source = _source(generator)
    if self.numel() == 0:
        return self
    drawn = source.random(tuple(self.shape), "float32" if self.itemsize < 8 else "float64")
    return _write(self, from_ + (to - from_) * drawn)


def bernoulli_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Every element 1 with probability p, else 0."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    _core.refuse_internal_overlap("aten::bernoulli_", self)
    source = _source(generator)
    return _write(self, source.random(tuple(self.shape), "float32") < p) if self.numel() else self


def bernoulli_at_(self: Tensor, p: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Every element 1 with the probability that ``p``, broadcast to self, has at its place, else 0."""
    if not self.numel():  # of any shape: NumPy's arrays have a largest one
        return self
    if self.is_complex():
        raise NotImplementedError(f'"bernoulli_" not implemented for {self.dtype}')
    if not p.is_floating_point():
        raise NotImplementedError(f'"bernoulli_" not implemented for {p.dtype}: probabilities are floating-point')
    each = p.detach().to(_core.dtypes["float64"]).expand(self.shape).numpy()
    if not (each.min() >= 0 and each.max() <= 1):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true: a probability lies between 0 and 1")
    return _write(self, _source(generator).random(tuple(self.shape), "float64") < each)
