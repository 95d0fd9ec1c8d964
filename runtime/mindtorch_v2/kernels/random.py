"""Random numbers: what the kernels in C++ need said in Python, and other devices' numbers.

The kernels draw from a generator's state (`runtime/kernels/cpu/engine.h`). A device other than the CPU gets its numbers
from the same kernels, drawn from its own generator and copied to it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Tensor, device, dtype
from .._generators import Generator, generator_of
from .._narrow_dtypes import is_narrow
from .._ops import ops
from .._type_info import contiguous_format, finfo
from ..library.definitions._variants import resize_out
from ._native import native
from .creation import empty_like

__all__ = [
    "bernoulli",
    "bernoulli_at_elsewhere",
    "bernoulli_elsewhere",
    "bernoulli_into",
    "bernoulli_of_number",
    "cauchy_elsewhere",
    "exponential_elsewhere",
    "geometric_elsewhere",
    "log_normal_elsewhere",
    "multinomial",
    "native_dropout",
    "normal_around",
    "normal_elsewhere",
    "normal_into",
    "normal_of",
    "normal_of_size",
    "normal_of_size_into",
    "normal_wide",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randint_like_low",
    "randint_like_tensor",
    "randint_low",
    "randn",
    "randn_like",
    "random_elsewhere",
    "random_from",
    "random_to",
    "randperm",
    "sample_dirichlet",
    "standard_gamma",
    "uniform_elsewhere",
]

_CPU = _core.device("cpu")
_I64, _BOOL = _core.dtypes["int64"], _core.dtypes["bool"]
_DIGITS = {
    _core.dtypes[name]: bits for name, bits in (("float16", 11), ("bfloat16", 8), ("float32", 24), ("float64", 53))
}
_LARGEST = {  # finite numbers: the bits after the point, the largest exponent
    _core.dtypes[name]: (2 - 2.0**-bits) * 2.0**exponent
    for name, bits, exponent in (("float16", 10, 15), ("bfloat16", 7, 127), ("float32", 23, 127), ("float64", 52, 1023))
}
_FIRST, _LAST = -(2**63), 2**63 - 1
_C_NAMES = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int",
    "int64": "long int", "uint16": "unsigned short int", "uint32": "unsigned int", "uint64": "long unsigned int",
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
}  # fmt: skip

Draw = Callable[..., Tensor]


def _drawing(symbol: str, *types: str) -> Draw:
    """A function that fills a tensor: by a kernel on the CPU, elsewhere from the device's generator, copied to it."""
    kernel = native(symbol, "desc", *types, "generator")

    def draw(self: Tensor, *numbers: Any, generator: Generator | None = None) -> Tensor:
        if self.is_cpu:
            kernel(self, *numbers, generator)
        elif not self.is_meta:
            where = self.device
            host = _core.alloc(self.shape, self.dtype, _CPU)
            kernel(host, *numbers, _core.source_of(_of_device(where, generator)))
            self.copy_(host)
        return self

    return draw


def _of_device(where: device, generator: Generator | None) -> Generator:
    if generator is None:
        return generator_of(where)
    if generator.device.type != where.type:
        raise RuntimeError(f"Expected a '{where.type}' device type for generator but found '{generator.device.type}'")
    return generator


uniform_elsewhere = _drawing("mt_uniform", "f64", "f64")
normal_elsewhere = _drawing("mt_normal", "f64", "f64")
log_normal_elsewhere = _drawing("mt_log_normal", "f64", "f64")
cauchy_elsewhere = _drawing("mt_cauchy", "f64", "f64")
exponential_elsewhere = _drawing("mt_exponential", "f64")
geometric_elsewhere = _drawing("mt_geometric", "f64")
bernoulli_elsewhere = _drawing("mt_bernoulli", "f64")
random_elsewhere = _drawing("mt_random")
_bernoulli_at = _drawing("mt_bernoulli_at", "desc")
_random_range = _drawing("mt_random_from_to", "u64", "i64")
_randperm = _drawing("mt_randperm")


def bernoulli_at_elsewhere(self: Tensor, p: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Every element 1 with the probability that ``p`` has at its place, else 0."""
    return _bernoulli_at(self, p.detach().to(_CPU), generator=generator)


# ---------------------------------------------------------------- from sizes
_uniform = native("mt_uniform", "desc", "f64", "f64", "generator")
_normal = native("mt_normal", "desc", "f64", "f64", "generator")


def rand(
    size: Sequence[int],
    *,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """Random numbers, evenly distributed over [0, 1)."""
    result = _core.alloc(size, dtype, device)
    if not result.is_cpu:
        return uniform_elsewhere(result, 0.0, 1.0, generator=generator)
    _uniform(result, 0.0, 1.0, generator)
    return result


def randn(
    size: Sequence[int],
    *,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """Random numbers, normally distributed with mean 0 and variance 1."""
    result = _core.alloc(size, dtype, device)
    if not result.is_cpu:
        return normal_elsewhere(result, 0.0, 1.0, generator=generator)
    _normal(result, 0.0, 1.0, generator)
    return result


def normal_of_size(mean: float, std: float, size: Sequence[int], **options: Any) -> Tensor:
    """Random numbers, normally distributed."""
    generator = options.pop("generator", None)
    result = _core.alloc(size, options.get("dtype"), options.get("device"))
    filled: Tensor = result.normal_(mean, std, generator=generator)
    return filled


def randint(high: int, size: Sequence[int], **options: Any) -> Tensor:
    """Random integers from 0 to high - 1."""
    return randint_low(0, high, size, **options)


def randint_low(
    low: int,
    high: int,
    size: Sequence[int],
    *,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    device: device | None = None,
    **options: Any,
) -> Tensor:
    """Random integers from low to high - 1."""
    return random_from(_core.alloc(size, dtype, device), low, high, generator=generator)


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    device: device | None = None,
    **options: Any,
) -> Tensor:
    """The integers from 0 to n - 1 in random order."""
    target = dtype or _I64
    if target is _BOOL or target.is_complex or is_narrow(target):
        raise NotImplementedError(f'"randperm" not implemented for {target}: expected a dtype for integers')
    last = 2 ** _DIGITS[target] if target.is_floating_point else _bounds(target)[1]
    if n - 1 > last:
        raise RuntimeError(f"randperm(): n cannot be greater than {last + 1} for {target}, got {n}")
    drawn = _randperm(_core.alloc((n,), _I64, device), generator=generator)
    if target is _I64:
        return drawn
    result: Tensor = drawn.to(target)
    return result


# ---------------------------------------------------------------- integers
def _bounds(target: dtype) -> tuple[int, int]:
    """The first and the last integer of a dtype for integers."""
    if target is _BOOL:
        return 0, 1
    bits = 8 * target.itemsize
    return (-1 << bits - 1, (1 << bits - 1) - 1) if target.is_signed else (0, (1 << bits) - 1)


_BOUNDS = {
    target: _bounds(target) for target in _core.dtypes.values() if target not in _DIGITS and not target.is_complex
}


def random_to(self: Tensor, to: int, *, generator: Generator | None = None) -> Tensor:
    """Every element an integer from 0 to ``to`` - 1."""
    return random_from(self, 0, to, generator=generator)


def random_from(self: Tensor, first: int, to: int | None, *, generator: Generator | None = None) -> Tensor:
    """Every element an integer from ``first`` to ``to`` - 1; without ``to``, to the last of the dtype."""
    target = self.dtype
    bounds = _BOUNDS.get(target)
    if bounds is not None and to is not None and bounds[0] <= first < to <= bounds[1]:  # as it mostly is
        return _random_range(self, to - first, first, generator=generator)
    if to is not None and first >= to:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={first} >= to={to}")
    if target.is_complex:
        raise NotImplementedError(f'"random_from_to_kernel_cpu" not implemented for {target}: it draws integers')
    if to is None and first == _FIRST:
        if target not in (_I64, *(_core.dtypes[n] for n in ("float64", "float32", "bfloat16"))):
            raise RuntimeError("random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16")
        return _random_range(self, 0, 0, generator=generator)
    floating = target.is_floating_point
    if floating:
        _check_magnitudes(first, first if to is None else to - 1, target)
    if to is None:
        last = min(2 ** _DIGITS[target], _LAST) if floating else min(_bounds(target)[1], _LAST)
    else:
        last = (_lowered(to, target) if floating else to) - 1
    start = _raised(first, target) if floating else first
    if start > last:
        raise RuntimeError(
            f"random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got from={start} >= "
            f"to={last + 1}"
        )
    _check_bounds(start, last, target)
    return _random_range(self, (last - start + 1) % 2**64, start, generator=generator)


def _rounded(number: int, target: dtype) -> int:
    """An integer as a floating-point dtype has it."""
    return int(ops.aten.scalar_tensor(number, dtype=target, device=_CPU).item())


def _raised(first: int, target: dtype) -> int:
    """The first integer that is not below ``first`` once it is rounded to a dtype."""
    if abs(first) <= 2 ** _DIGITS[target]:
        return first
    following = _rounded(first + 1, target)
    if following >= first:
        return first
    return following + (1 << (abs(first + 1).bit_length() - _DIGITS[target]))


def _lowered(to: int, target: dtype) -> int:
    """The end below which no integer becomes ``to`` or more once it is rounded to a dtype."""
    if abs(to) <= 2 ** _DIGITS[target]:
        return to
    before = _rounded(to - 1, target)
    if before < to:
        return to
    return before - (1 << (abs(to - 1).bit_length() - _DIGITS[target]))


def _check_magnitudes(first: int, last: int, target: dtype) -> None:
    for what, bound in (("from", first), ("to - 1", last)):
        if abs(bound) > _LARGEST[target]:
            name = _C_NAMES[str(target).removeprefix("torch.")]
            raise RuntimeError(f"{what} is out of bounds for {name}: got {bound}")


def _check_bounds(first: int, last: int, target: dtype) -> None:
    name = _C_NAMES[str(target).removeprefix("torch.")]
    if target.is_floating_point:
        for what, bound in (("from", first), ("to - 1", last)):
            if abs(bound) > 2 ** _DIGITS[target]:
                warnings.warn(
                    f"{what} is out of bounds [-(2^{_DIGITS[target]}), 2^{_DIGITS[target]}]. Due to precision "
                    f"limitations {name} can support discrete uniform distribution only within this range.",
                    UserWarning,
                    stacklevel=3,
                )
        return
    least, greatest = _bounds(target)
    for what, bound in (("from", first), ("to - 1", last)):
        if not least <= bound <= greatest:
            raise RuntimeError(f"{what} is out of bounds for {name}, which holds {least} to {greatest}: got {bound}")


# ---------------------------------------------------------------- like another tensor
def rand_like(self: Tensor, *, generator: Generator | None = None, **options: Any) -> Tensor:
    """A tensor of self's size of random numbers from [0, 1)."""
    result = empty_like(self, **options)
    if not result.is_cpu:
        return uniform_elsewhere(result, 0.0, 1.0, generator=generator)
    _uniform(result, 0.0, 1.0, generator)
    return result


def randn_like(self: Tensor, *, generator: Generator | None = None, **options: Any) -> Tensor:
    """A tensor of self's size of normally distributed random numbers."""
    result = empty_like(self, **options)
    if not result.is_cpu:
        return normal_elsewhere(result, 0.0, 1.0, generator=generator)
    _normal(result, 0.0, 1.0, generator)
    return result


def randint_like(self: Tensor, high: int, *, generator: Generator | None = None, **options: Any) -> Tensor:
    """A tensor of self's size of random integers from 0 to high - 1."""
    return random_from(empty_like(self, **options), 0, high, generator=generator)


def randint_like_tensor(self: Tensor, high: Tensor, **options: Any) -> Tensor:
    """As `randint_like`, with the bound in a tensor of one element."""
    if high.numel() != 1 or high.dim() != 0:
        raise RuntimeError("high must be a scalar tensor and on CPU")
    return randint_like(self, int(high.item()), **options)


def randint_like_low(
    self: Tensor, low: int, high: int, *, generator: Generator | None = None, **options: Any
) -> Tensor:
    """A tensor of self's size of random integers from low to high - 1."""
    return random_from(empty_like(self, **options), low, high, generator=generator)


# ---------------------------------------------------------------- of parameters in tensors
def _rows_like(self: Tensor) -> Tensor:
    """New memory in rows, however self lies: PyTorch draws in the order of elements here."""
    return empty_like(self, memory_format=contiguous_format)


def bernoulli(self: Tensor, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that self has at a place, else 0."""
    result: Tensor = _rows_like(self).bernoulli_(self, generator=generator)
    return result


def bernoulli_into(self: Tensor, *, generator: Generator | None = None, out: Tensor) -> Tensor:
    """`bernoulli` into a tensor, which takes the shape of self."""
    result: Tensor = out.resize_(self.shape).bernoulli_(self, generator=generator)
    return result


def bernoulli_of_number(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """A tensor as self, with every element 1 with probability p, else 0."""
    result: Tensor = _rows_like(self).bernoulli_(p, generator=generator)
    return result


def normal_around(mean: Tensor, std: float, *, generator: Generator | None = None) -> Tensor:
    """Normally distributed around ``mean``."""
    result: Tensor = _rows_like(mean).normal_(0, std, generator=generator).add_(mean)
    return result


def normal_wide(mean: float, std: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Normally distributed, ``std`` wide."""
    _check_spread(std)
    result: Tensor = _rows_like(std).normal_(0, 1, generator=generator).mul_(std).add_(mean)
    return result


def normal_of(mean: Tensor, std: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Normally distributed around ``mean``, ``std`` wide."""
    _check_spread(std)
    shape = _core.broadcast_shapes(mean.shape, std.shape)
    blank = _rows_like(mean) if mean.shape == shape else _core.alloc(shape, mean.dtype, mean.device)
    result: Tensor = blank.normal_(0, 1, generator=generator).mul_(std).add_(mean)
    return result


def normal_into(mean: Any, std: Any, *, generator: Generator | None = None, out: Tensor) -> Tensor:
    """`normal` into a tensor of floating-point numbers, which gets the shape that mean and std are broadcast to."""
    _check_drawn(out)
    return _drawn_into(out, ops.aten.normal(mean, std, generator=generator))


def normal_of_size_into(
    mean: float, std: float, size: Sequence[int], *, generator: Generator | None = None, out: Tensor
) -> Tensor:
    """`normal` of a size into a tensor of floating-point numbers."""
    _check_drawn(out)
    drawn = ops.aten.normal(mean, std, size, generator=generator, dtype=out.dtype, device=out.device)
    return _drawn_into(out, drawn)


def _check_drawn(out: Tensor) -> None:
    if not (out.is_floating_point() or out.is_complex()):
        raise NotImplementedError(f'"normal_kernel_cpu" not implemented for {_core.scalar_types[out.dtype.name]!r}')


def _drawn_into(out: Tensor, drawn: Tensor) -> Tensor:
    resize_out(out, drawn)
    result: Tensor = out.copy_(drawn)
    return result


def _check_spread(std: Tensor) -> None:
    if std.is_complex():
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if std.device.type != "meta" and std.numel() and not bool((std.min() >= 0).item()):
        raise RuntimeError("normal expects all elements of std >= 0.0")


_poisson = native("mt_poisson", "desc", "desc", "generator")


def poisson(self: Tensor, generator: Generator | None = None) -> Tensor:
    """How often something happens that happens self times on average."""
    result = _core.alloc(self.shape, self.dtype, self.device)  # as PyTorch's: its order does not keep to strides
    if self.is_floating_point() and not bool((self.detach() >= 0).all().item()):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    _poisson(self.detach(), result, generator)
    return result


_standard_gamma = native("mt_standard_gamma", "desc", "desc", "generator")


def standard_gamma(self: Tensor, generator: Generator | None = None) -> Tensor:
    """Gamma-distributed numbers of shape self; none is smaller than the dtype's smallest normal number."""
    result = _core.alloc(self.shape, self.dtype, self.device)
    _standard_gamma(self.detach(), result, generator)
    result.clamp_(min=finfo(self.dtype).tiny)
    return result


def sample_dirichlet(self: Tensor, generator: Generator | None = None) -> Tensor:
    """Gamma-distributed numbers as shares of their sum; in float64 until the end, and neither 0 nor 1."""
    drawn = standard_gamma(self.detach().double(), generator)
    limits = finfo(self.dtype)
    shares: Tensor = (drawn / drawn.sum(-1, True)).to(self.dtype)
    shares.clamp_(limits.tiny, 1 - limits.eps)
    return shares


_draw_by_weights = native("mt_draw_by_weights", "desc", "desc", "generator")
_largest = native("mt_largest", "desc", "desc")


def multinomial(self: Tensor, num_samples: int, replacement: bool, *, generator: Generator | None = None) -> Tensor:
    """Indices into each row of weights.

    Without replacement those of the largest of weight / exponentially distributed number: who comes first in a race in
    which each arrives at a rate of its weight.
    """
    weights = self.detach()
    result = _core.alloc((*weights.shape[:-1], num_samples), _I64, _CPU)
    if result.numel() == 0:
        return result
    if replacement and num_samples > 1:
        _check_weights(weights)
        _draw_by_weights(weights, result, generator)
        return result
    if not bool(((weights.max() < float("inf")) & (weights.min() >= 0)).item()):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    _check_sums(weights)
    race = weights / empty_like(weights).exponential_(1, generator=generator)
    if num_samples == 1:
        first: Tensor = race.argmax(-1, True)
        return first
    _largest(race, result)
    return result


def _check_weights(weights: Tensor) -> None:
    if bool((weights < 0).any().item()):
        raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
    if not bool(weights.isfinite().all().item()):
        raise RuntimeError("invalid multinomial distribution (encountering probability entry = infinity or NaN)")
    _check_sums(weights)


def _check_sums(weights: Tensor) -> None:
    if bool((weights.sum(-1) == 0).any().item()):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """``input`` with elements zeroed with probability p and the rest scaled, and where they were kept."""
    if input.numel() == 0:
        return input.clone(), empty_like(input)
    mask = empty_like(input, dtype=_BOOL)
    if train is not None and not train:
        return input.clone(), mask.fill_(True)
    kept = 1 - p
    mask.bernoulli_(kept)
    return input.mul(mask).mul_(1 / kept if kept else 0.0), mask
