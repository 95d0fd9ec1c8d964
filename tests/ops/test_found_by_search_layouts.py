"""What searches beside PyTorch found: where results lie, what is drawn there, and what `out=` takes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch as pytorch

import mindtorch_v2 as ours
from tests.runtime.both import Case, agree, agree_or_raise

LIES: dict[str, Case] = {
    "transposed": lambda torch: torch.arange(12.0).reshape(3, 4).t(),
    "permuted": lambda torch: torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1),
    "expanded": lambda torch: torch.tensor([1.0, 2.0, 3.0]).expand(4, 3),
    "channels last": lambda torch: torch.arange(16.0).reshape(2, 2, 2, 2).contiguous(memory_format=torch.channels_last),
    "stepped": lambda torch: torch.arange(24.0).reshape(4, 6)[:, ::2],
    "in rows": lambda torch: torch.arange(12.0).reshape(4, 3),
}
Moves = Callable[[Any, Any, Any], Any]
MOVES: dict[str, Moves] = {
    "scatter": lambda torch, x, at: x.scatter(0, at, torch.ones_like(x)),
    "scatter of a number": lambda torch, x, at: x.scatter(0, at, 2.0),
    "scatter, adding": lambda torch, x, at: x.scatter(0, at, torch.ones_like(x), reduce="add"),
    "scatter of a number, multiplying": lambda torch, x, at: x.scatter(0, at, 2.0, reduce="multiply"),
    "scatter to nowhere": lambda torch, x, at: x.scatter(0, at[:0], 2.0),
    "scatter_add": lambda torch, x, at: x.scatter_add(0, at, torch.ones_like(x)),
    "index_add": lambda torch, x, at: x.index_add(1, torch.tensor([1, 0]), torch.ones_like(x)[:, :2], alpha=2),
    "index_copy": lambda torch, x, at: x.index_copy(0, torch.tensor([1, 0]), torch.ones_like(x)[:2]),
    "index_fill": lambda torch, x, at: x.index_fill(0, torch.tensor([1, 0]), 3.0),
    "renorm": lambda torch, x, at: x.renorm(2, 0, 1.0),
    "logsigmoid": lambda torch, x, at: torch.nn.functional.logsigmoid(x),
    "log_sigmoid_forward": lambda torch, x, at: torch.ops.aten.log_sigmoid_forward(x)[0],
    "rrelu": lambda torch, x, at: torch.nn.functional.rrelu(x - 5),
    "mantissas": lambda torch, x, at: torch.frexp(x)[0],
    "exponents": lambda torch, x, at: torch.frexp(x)[1],
}


@pytest.mark.parametrize("lies", LIES)
@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("grad", [False, True])
def test_where_results_lie(move: str, lies: str, grad: bool) -> None:
    def case(torch: Any) -> Any:
        x = LIES[lies](torch).requires_grad_(grad)
        found = MOVES[move](torch, x, (torch.zeros(x.shape).long() + torch.arange(x.shape[-1])) % 2)
        return found.detach(), found.stride()

    agree(case)


DRAWN: dict[str, Moves] = {
    "bernoulli": lambda torch, p, x: p.bernoulli(),
    "bernoulli of a number": lambda torch, p, x: p.bernoulli(0.5),
    "normal around": lambda torch, p, x: torch.normal(p, 1.0),
    "normal as wide": lambda torch, p, x: torch.normal(0.0, p),
    "normal around, as wide": lambda torch, p, x: torch.normal(p, p),
    "gumbel_softmax": lambda torch, p, x: torch.nn.functional.gumbel_softmax(p),
    "rrelu": lambda torch, p, x: torch.nn.functional.rrelu(p - 0.5, training=True),
}


@pytest.mark.parametrize("lies", LIES)
@pytest.mark.parametrize("drawn", DRAWN)
def test_numbers_are_drawn_in_the_order_of_rows(drawn: str, lies: str) -> None:
    def case(torch: Any) -> Any:
        torch.manual_seed(3)
        found = DRAWN[drawn](torch, LIES[lies](torch) / 24, None)
        return found, found.stride()

    agree(case)


# ---------------------------------------------------------------- out=
Writer = Callable[..., Any]
WRITERS: dict[str, Writer] = {
    "roll": lambda torch, out: torch.ops.aten.roll.out(torch.arange(3.0), [1], [0], out=out),
    "rot90": lambda torch, out: torch.ops.aten.rot90.out(torch.eye(2), out=out),
    "flip": lambda torch, out: torch.ops.aten.flip.out(torch.arange(3.0), [0], out=out),
    "repeat": lambda torch, out: torch.ops.aten.repeat.out(torch.arange(3.0), [2], out=out),
    "argsort": lambda torch, out: torch.ops.aten.argsort.stable_out(torch.arange(3.0), stable=True, out=out),
    "repeat_interleave": lambda torch, out: torch.ops.aten.repeat_interleave.Tensor_out(torch.tensor([1, 2]), out=out),
    "index_select": lambda torch, out: torch.index_select(torch.arange(3.0), 0, torch.tensor([1]), out=out),
    "scatter": lambda torch, out: torch.scatter(torch.ones(2), 0, torch.tensor([0]), torch.ones(1), out=out),
    "index_add": lambda torch, out: torch.index_add(torch.ones(2), 0, torch.tensor([0]), torch.ones(1), out=out),
    "masked_select": lambda torch, out: torch.masked_select(torch.ones(2), torch.tensor([True, False]), out=out),
    "where": lambda torch, out: torch.where(torch.tensor([True, False]), torch.ones(2), torch.zeros(2), out=out),
    "elu": lambda torch, out: torch.ops.aten.elu.out(torch.ones(2), out=out),
    "constant_pad_nd": lambda torch, out: torch.ops.aten.constant_pad_nd.out(torch.ones(3), [1, 1], out=out),
    "trace": lambda torch, out: torch.ops.aten.trace.out(torch.eye(2), out=out),
    "cross": lambda torch, out: torch.cross(torch.ones(3), torch.ones(3), dim=0, out=out),
    "lerp": lambda torch, out: torch.lerp(torch.ones(3), torch.ones(3), 0.5, out=out),
    "lerp by a tensor": lambda torch, out: torch.lerp(torch.ones(3), torch.ones(3), torch.ones(3), out=out),
    "cat": lambda torch, out: torch.cat([torch.ones(2)], out=out),
    "vstack": lambda torch, out: torch.vstack([torch.ones(2)], out=out),
    "any": lambda torch, out: torch.any(torch.ones(2), 0, out=out),
    "sum": lambda torch, out: torch.sum(torch.ones(2), 0, out=out),
    "sum of all": lambda torch, out: torch.ops.aten.sum.out(torch.ones(2), out=out),
    "kron": lambda torch, out: torch.kron(torch.ones(2), torch.ones(2), out=out),
    "rand": lambda torch, out: torch.rand(2, 3, out=out),
    "randn": lambda torch, out: torch.randn(2, 3, out=out),
    "randint": lambda torch, out: torch.randint(5, (2, 3), out=out),
    "randint from": lambda torch, out: torch.randint(2, 5, (2, 3), out=out),
    "randperm": lambda torch, out: torch.randperm(5, out=out),
    "rand of a generator": lambda torch, out: torch.rand(3, generator=torch.Generator().manual_seed(3), out=out),
    "randperm of a generator": lambda torch, out: torch.randperm(
        3, generator=torch.Generator().manual_seed(3), out=out
    ),
    "multinomial": lambda torch, out: torch.multinomial(torch.tensor([0.1, 0.2, 0.7]), 2, out=out),
}
DTYPES = ["bool", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("write", WRITERS)
def test_dtypes_that_are_written_to(write: str, dtype: str) -> None:
    def case(torch: Any) -> Any:
        torch.manual_seed(1)
        return WRITERS[write](torch, torch.empty(0, dtype=getattr(torch, dtype)))

    agree_or_raise(case)


INTO_PART: dict[str, Writer] = {
    "sum": lambda torch, x, out: torch.sum(x, 0, out=out[0]),
    "mean": lambda torch, x, out: torch.mean(x, 0, out=out[1]),
    "prod": lambda torch, x, out: torch.prod(x, 0, out=out[1]),
    "amax": lambda torch, x, out: torch.amax(x, 0, out=out[1]),
    "max": lambda torch, x, out: torch.ops.aten.max.unary_out(x, out=out[0, 0]),
    "median": lambda torch, x, out: torch.ops.aten.median.out(x, out=out[0, 0]),
    "trace": lambda torch, x, out: torch.ops.aten.trace.out(x, out=out[1, 0]),
}


@pytest.mark.parametrize("write", INTO_PART)
def test_results_written_into_what_they_are_of(write: str) -> None:
    """PyTorch does not refuse it, either; its sums read what they have written."""
    INTO_PART[write](pytorch, x := pytorch.arange(9.0).reshape(3, 3), x)
    apart, own = (ours.arange(9.0).reshape(3, 3) for _ in range(2))
    assert INTO_PART[write](ours, own, own).tolist() == INTO_PART[write](ours, apart, ours.zeros(3, 3)).tolist()


OF_ITSELF: dict[str, Case] = {
    "index_select": lambda torch: torch.index_select(x := torch.ones(3, 3), 0, torch.tensor([2, 1, 0]), out=x),
    "gather": lambda torch: torch.gather(x := torch.ones(3, 3), 0, torch.zeros(3, 3, dtype=torch.int64), out=x),
    "index": lambda torch: torch.ops.aten.index.Tensor_out(x := torch.ones(3), [torch.tensor([2, 1, 0])], out=x),
    "take_along_dim": lambda torch: torch.take_along_dim(x := torch.ones(3), torch.zeros(3).long(), 0, out=x),
    "cross": lambda torch: torch.cross(x := torch.ones(3, 3), x + 1, dim=0, out=x),
}


@pytest.mark.parametrize("write", OF_ITSELF)
def test_picks_written_over_what_they_are_of(write: str) -> None:
    agree(OF_ITSELF[write], "some elements of the input tensor and the written-to tensor refer to a single memory")


# ---------------------------------------------------------------- None for no dimensions
NONE: dict[str, Case] = {
    "roll": lambda torch: torch.roll(torch.arange(4.0).reshape(2, 2), 1, None),
    "roll, by name": lambda torch: torch.arange(3.0).roll(1, dims=None),
    "amax": lambda torch: torch.amax(torch.arange(4.0).reshape(2, 2), None),
    "amin": lambda torch: torch.arange(4.0).amin(dim=None),
    "max_pool2d": lambda torch: torch.max_pool2d(torch.arange(16.0).reshape(1, 1, 4, 4), 2, None),
    "avg_pool1d": lambda torch: torch.avg_pool1d(torch.arange(4.0).reshape(1, 1, 4), 2, None),
    "flip": lambda torch: torch.flip(torch.arange(3.0), None),
    "the operator": lambda torch: torch.ops.aten.roll(torch.arange(3.0), [1], None),
    "shifts": lambda torch: torch.arange(3.0).roll(None),
}


@pytest.mark.parametrize("name", NONE)
def test_no_dimensions_by_none(name: str) -> None:
    agree_or_raise(NONE[name])


# ---------------------------------------------------------------- which mistake is told
def tensors(torch: Any) -> dict[str, Any]:
    return {
        "vector": torch.arange(3.0),
        "matrix": torch.eye(3),
        "number": torch.tensor(2.0),
        "none": torch.empty(0),
        "places": torch.tensor([0, 2, 1]),
        "a place": torch.tensor(1),
        "one place": torch.tensor([1]),
        "no places": torch.empty(0, dtype=torch.int64),
        "complex": torch.tensor([1j, 2, 3]),
    }


MISTAKES: dict[str, tuple[int, int, Callable[..., Any]]] = {
    "repeat_interleave": (2, 1, lambda torch, x, y, d: x.repeat_interleave(y, d)),
    "repeat_interleave flat": (2, 0, lambda torch, x, y: x.repeat_interleave(y)),
    "repeat_interleave of a size": (2, 1, lambda torch, x, y, n: x.repeat_interleave(y, 0, output_size=n)),
    "repeat_interleave by a number": (1, 2, lambda torch, x, n, d: x.repeat_interleave(n, d)),
    "put": (3, 0, lambda torch, x, y, z: x.put(y, z)),
    "rot90": (1, 2, lambda torch, x, d, e: x.rot90(1, (d, e))),
    "split": (1, 2, lambda torch, x, n, d: x.split(n, d)),
    "chunk": (1, 2, lambda torch, x, n, d: x.chunk(n, d)),
    "sort": (1, 1, lambda torch, x, d: x.sort(d)),
    "mode": (1, 1, lambda torch, x, d: x.mode(d)[0]),
    "median": (1, 1, lambda torch, x, d: x.median(d)[0]),
    "logcumsumexp": (1, 1, lambda torch, x, d: x.logcumsumexp(d)),
    "logcumsumexp on meta": (1, 1, lambda torch, x, d: x.to("meta").logcumsumexp(d)),
    "pixel_shuffle": (1, 1, lambda torch, x, n: torch.pixel_shuffle(x.reshape(-1, 1, 1, 1), n * 2**40 + n * n)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_which_mistake_is_told(name: str) -> None:
    count, numbers, call = MISTAKES[name]
    kinds = itertools.product(
        *[["vector", "matrix", "number", "none", "places", "a place", "one place", "no places", "complex"]] * count,
        *[[-3, -1, 0, 1, 2]] * numbers,
    )
    for given in kinds:
        agree_or_raise(
            lambda torch, given=given: call(  # type: ignore[misc]
                torch, *[tensors(torch)[value] if isinstance(value, str) else value for value in given]
            )
        )
