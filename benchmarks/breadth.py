"""Many calls in many dtypes against PyTorch's, which no kernel was tuned to: what is slow shows here first.

``python -m benchmarks.breadth [TEXT] [--threads N]`` prints the calls whose name has the text in it, the slowest last:
microseconds of either, and their ratio; and the geometric mean of each dtype. Data are the same numbers on both sides.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.many_calls import LIMIT, Call, ManyCalls

__all__ = ["DTYPES", "calls"]

ROWS, COLUMNS, CHOSEN = 512, 1024, 256
DTYPES = ("float32", "float64", "bfloat16", "int64", "int32", "uint8", "bool")
TEXT = f"""A call with one thread on {ROWS} x {COLUMNS} elements, as geometric means, and how many calls take more than
{LIMIT} of PyTorch's time. Written by `python -m benchmarks.breadth --write`."""

ONE = """
    neg abs sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan tanh sigmoid erf erfc floor ceil round trunc frac
    sign reciprocal square asin atan sinh cosh isnan isfinite logical_not bitwise_not lgamma digamma
"""
ACTIVATIONS = """
    relu gelu silu elu selu leaky_relu hardtanh hardswish hardsigmoid softplus mish logsigmoid celu softsign tanhshrink
    relu6
"""
TWO = """
    add sub mul div maximum minimum pow atan2 fmod remainder eq lt logical_and logical_or bitwise_and bitwise_or
    floor_divide hypot
"""
WHOLE = "sum mean prod amax amin argmax argmin all any var std norm median max min count_nonzero nansum"
REDUCTIONS = f"{WHOLE} logsumexp cumsum cumprod sort softmax log_softmax"


class Data:
    """What calls work on, of one dtype: positive numbers, from 1/2 or 1 on."""

    def __init__(self, torch: Any, dtype: str) -> None:
        torch.manual_seed(0)
        self.torch, self.dtype = torch, getattr(torch, dtype)
        self.x, self.y = self.made(ROWS, COLUMNS), self.made(ROWS, COLUMNS)
        self.row, self.column = self.made(COLUMNS), self.made(ROWS, 1)
        self.places = torch.randint(ROWS, (ROWS, COLUMNS))
        self.chosen = torch.randint(ROWS, (CHOSEN,))
        self.mask = torch.rand(ROWS, COLUMNS) > 0.5
        self.image = self.made(4, 64, 40, 51).contiguous(memory_format=torch.channels_last)

    def made(self, *shape: int) -> Any:
        if self.dtype is self.torch.bool:
            return self.torch.rand(*shape) > 0.5
        if self.dtype.is_floating_point:
            return (self.torch.rand(*shape) + 0.5).to(self.dtype)
        return self.torch.randint(1, 100, shape).to(self.dtype)


Work = Callable[[Data], object]


def _on(function: Callable[..., object], *names: str, **named: Any) -> Work:
    """A call of what data have under some names."""
    return lambda data: function(*(getattr(data, name) for name in names), **named)


def _functions(torch: Any) -> Iterator[tuple[str, Work]]:
    """What is called by name."""
    for name in ONE.split():
        yield name, _on(getattr(torch, name), "x")
    for name in ACTIVATIONS.split():
        yield name, _on(getattr(torch.nn.functional, name), "x")
    for name in TWO.split():
        yield name, _on(getattr(torch, name), "x", "y")
    for name in REDUCTIONS.split():
        for dim in (0, 1):
            yield f"{name} along {dim}", _on(getattr(torch, name), "x", dim=dim)
    for name in WHOLE.split():
        yield name, _on(getattr(torch, name), "x")
    for name in ("add", "mul", "eq", "bitwise_and"):
        for text, *given in (("a row", "x", "row"), ("a column", "x", "column"), ("channels last", "image", "image")):
            yield f"{name}, {text}", _on(getattr(torch, name), *given)
    for name in ("neg", "exp", "isnan"):
        yield f"{name}, channels last", _on(getattr(torch, name), "image")


def _methods(torch: Any) -> Iterator[tuple[str, Work]]:
    """The rest."""
    pad = torch.nn.functional.pad
    yield "add a number", lambda d: d.x + 1
    yield "equal to a number", lambda d: d.x == 1
    yield "where", lambda d: torch.where(d.mask, d.x, d.y)
    yield "masked_fill", lambda d: d.x.masked_fill(d.mask, 1)
    yield "clamp", lambda d: d.x.clamp(0, 1)
    yield "lerp", lambda d: torch.lerp(d.x, d.y, 0.3)
    yield "addcmul", lambda d: torch.addcmul(d.x, d.x, d.y)
    yield "transposed copy", lambda d: d.x.t().contiguous()
    yield "add of one that is transposed", lambda d: d.x.view(COLUMNS, ROWS) + d.y.t()
    yield "topk", lambda d: d.x.topk(10, 1)
    yield "kthvalue", lambda d: d.x.kthvalue(5, 1)
    yield "cat", lambda d: torch.cat([d.x, d.y])
    yield "cat of columns", lambda d: torch.cat([d.x, d.y], 1)
    yield "stack", lambda d: torch.stack([d.x, d.y])
    yield "roll", lambda d: d.x.roll(3, 1)
    yield "flip", lambda d: d.x.flip(1)
    yield "tril", lambda d: d.x.tril()
    yield "repeat", lambda d: d.x.repeat(2, 2)
    yield "repeat_interleave", lambda d: d.x.repeat_interleave(2, 1)
    yield "unfold", lambda d: d.x.unfold(1, 4, 2).contiguous()
    yield "pad", lambda d: pad(d.x, (1, 1))
    yield "gather", lambda d: d.x.gather(1, d.places)
    yield "take", lambda d: d.x.take(d.places)
    yield "index_select", lambda d: d.x.index_select(0, d.chosen)
    yield "index", lambda d: d.x[d.chosen]
    yield "index by a mask", lambda d: d.x[d.mask]
    yield "index_put", lambda d: d.x.index_put((d.chosen,), d.y[:CHOSEN])
    yield "index_add", lambda d: d.x.index_add(0, d.chosen, d.y[:CHOSEN])
    yield "scatter", lambda d: d.x.scatter(1, d.places, d.y)
    yield "scatter_add", lambda d: d.x.scatter_add(1, d.places, d.y)
    yield "nonzero", lambda d: d.x.nonzero()
    yield "unique", lambda d: d.x.unique()
    yield "diff", lambda d: d.x.diff()
    yield "outer", lambda d: torch.outer(d.row, d.row)
    yield "clone", lambda d: d.x.clone()
    yield "full", lambda d: torch.full((ROWS, COLUMNS), 1, dtype=d.dtype)
    for target in ("float32", "int64", "bool", "uint8"):
        yield f"to {target}", _on(torch.Tensor.to, "x", dtype=getattr(torch, target))


def calls(torch: Any) -> dict[str, Work]:
    """All calls by name."""
    return {**dict(_functions(torch)), **dict(_methods(torch))}


def _made(torch: Any) -> Callable[[str], Call]:
    known, data = calls(torch), functools.cache(functools.partial(Data, torch))

    def call(line: str) -> Call:
        dtype, _, name = line.partition(" ")
        return functools.partial(known[name], data(dtype))

    return call


TABLE = ManyCalls(
    "benchmarks.breadth",
    "Breadth of the CPU's calls",
    TEXT,
    "bool ",
    DTYPES,
    lambda torch: [f"{dtype} {name}" for dtype in DTYPES for name in calls(torch)],
    _made,
)

if __name__ == "__main__":
    TABLE.main(__doc__.split("\n")[0])
