"""Few elements arranged anew, normalized, bent and written at indices: the core settles their checks and shapes."""

from __future__ import annotations

import math
import random
from functools import partial
from typing import Any

import pytest

import mindtorch_v2
from tests.ops.test_usual_launches import numbers, slopes
from tests.runtime.both import Case, agree, agree_or_raise

DTYPES = ["float32", "float64", "bfloat16", "int64", "bool", "complex64"]


def images(torch: Any, dtype: str, *shape: int) -> list[Any]:
    """An image in rows, turned, as every other column of a wider one, and from the middle of memory."""
    x = numbers(torch, *shape, dtype=dtype)
    wide = numbers(torch, *shape[:-1], 2 * shape[-1], dtype=dtype)
    return [
        x,
        x.transpose(-1, -2).contiguous().transpose(-1, -2),
        wide[..., ::2],
        numbers(torch, 2, *shape, dtype=dtype)[1],
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factor", [1, 2, 3, 0, -2])
@pytest.mark.parametrize("name", ["pixel_shuffle", "pixel_unshuffle", "channel_shuffle"])
def test_channels_for_pixels(name: str, factor: int, dtype: str) -> None:
    def case(torch: Any) -> Any:
        call = getattr(torch.nn.functional, name)
        return [
            call(part, factor)
            for shape in ((8, 4, 2), (1, 4, 6, 4), (2, 1, 12, 2, 2))
            for part in images(torch, dtype, *shape)
        ]

    agree_or_raise(case)


SHUFFLED: dict[str, Case] = {
    "two dimensions": lambda torch: torch.pixel_shuffle(torch.ones(4, 4), 2),
    "three groups of four": lambda torch: torch.channel_shuffle(torch.ones(1, 4, 2), 3),
    "a tensor as factor": lambda torch: torch.pixel_shuffle(numbers(torch, 4, 2, 2), torch.tensor(2)),
    "gradient": lambda torch: slopes(
        torch, *(lambda x: (torch.pixel_shuffle(x, 2), x))(numbers(torch, 4, 2, 2).requires_grad_())
    ),
    "gradient back": lambda torch: slopes(
        torch, *(lambda x: (torch.pixel_unshuffle(x, 2), x))(numbers(torch, 1, 2, 4).requires_grad_())
    ),
    "vmap": lambda torch: torch.vmap(lambda x: torch.pixel_shuffle(x, 2))(numbers(torch, 3, 4, 2, 2)),
    "meta": lambda torch: torch.pixel_shuffle(torch.ones(4, 2, 2, device="meta"), 2).shape,
    "conjugate": lambda torch: torch.pixel_shuffle(numbers(torch, 4, 1, 1, dtype="complex64").conj() * 1j, 2),
    "many dimensions": lambda torch: torch.pixel_shuffle(torch.ones([1] * 57 + [4, 2, 2]), 2).shape,
}


@pytest.mark.parametrize("name", SHUFFLED)
def test_channels_for_pixels_of_the_unusual(name: str) -> None:
    agree_or_raise(SHUFFLED[name])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("shifts", "dims"),
    [
        (1, ()),
        (-3, ()),
        (0, ()),
        (7, 0),
        (-1, 1),
        (2, -1),
        (1, 3),
        (1, -4),
        ((1, 2), (0, 1)),
        ((1, 2), ()),
        ((), ()),
        (1 << 40, 0),
        (-(1 << 62), ()),
        ((1, 2), (0,)),
        (1, (0, 1)),
    ],
)
def test_rolled(shifts: Any, dims: Any, dtype: str) -> None:
    def case(torch: Any) -> Any:
        return [
            (torch.roll(part, shifts, dims), torch.roll(part, shifts, dims).stride() if part.is_contiguous() else None)
            for shape in ((2, 3, 4), (1, 5, 2))
            for part in images(torch, dtype, *shape)
        ], torch.roll(numbers(torch, 2, 0, 3), shifts, dims).shape

    agree_or_raise(case)


ROLLED: dict[str, Case] = {
    "no dimensions": lambda torch: torch.roll(torch.tensor(3.0), 1),
    "no dimensions, along one": lambda torch: torch.roll(torch.tensor(3.0), 1, 0),
    "gradient": lambda torch: slopes(
        torch, *(lambda x: (torch.roll(x, 1, 0), x))(numbers(torch, 3, 2).requires_grad_())
    ),
    "no_grad": lambda torch: (
        torch.no_grad()(lambda x: torch.roll(x, 1))(numbers(torch, 3).requires_grad_()).requires_grad
    ),
    "inference": lambda torch: torch.inference_mode()(lambda: torch.roll(torch.ones(3), 1).is_inference())(),
    "vmap": lambda torch: torch.vmap(lambda x: torch.roll(x, 1))(numbers(torch, 3, 2)),
    "jvp": lambda torch: torch.func.jvp(lambda x: torch.roll(x, 1), (numbers(torch, 3),), (numbers(torch, 3) + 1,)),
    "meta": lambda torch: torch.roll(torch.ones(3, 2, device="meta"), 1).shape,
    "subclass": lambda torch: type(torch.roll(torch.nn.Parameter(torch.ones(2)), 1)).__name__,
    "its own memory": lambda torch: (lambda x: (torch.roll(x, 0).add_(1), x))(numbers(torch, 3)),
}


@pytest.mark.parametrize("name", ROLLED)
def test_rolled_of_the_unusual(name: str) -> None:
    agree_or_raise(ROLLED[name])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize(
    "pad",
    [
        (1, 1),
        (1, 1, 1, 2),
        (-1, 2),
        (-1, 1, 2, -1),
        (0, 0, 0, 0),
        (3, 0),
        (2, 2),
        (-2, -2),
        (9, 0, 0, 0),
        (-9, 1),
        (1,),
    ],
)
def test_wider_by_elements(pad: Any, mode: str, dtype: str) -> None:
    def case(torch: Any) -> Any:
        call = torch.nn.functional.pad
        shapes = ((2, 3), (1, 2, 3)) if len(pad) == 2 else ((2, 3, 4), (1, 2, 3, 4), (0, 2, 3, 4))
        return [
            (call(part, pad, mode), call(part, pad, mode).stride())
            for shape in shapes
            for part in images(torch, dtype, *shape)
        ]

    agree_or_raise(case)


WIDER: dict[str, Case] = {
    "a value": lambda torch: torch.nn.functional.pad(torch.ones(1, 1, 2, 2), (1, 1, 1, 1), "reflect", 2.0),
    "a value of nothing": lambda torch: torch.nn.functional.pad(
        numbers(torch, 1, 1, 2, 2), (1, 1, 1, 1), "reflect", 0.0
    ),
    "too many dimensions": lambda torch: torch.nn.functional.pad(torch.ones(1, 1, 1, 2, 2), (1, 1, 1, 1), "reflect"),
    "too few": lambda torch: torch.nn.functional.pad(torch.ones(2, 2), (1, 1, 1, 1), "replicate"),
    "the operator, other padding": lambda torch: torch.ops.aten.reflection_pad2d(torch.ones(1, 2, 2), [1, 1]),
    "gradient": lambda torch: [
        slopes(
            torch,
            *(lambda x, m=m: (torch.nn.functional.pad(x, (1, -1, 1, 2), m), x))(
                numbers(torch, 1, 1, 3, 3).requires_grad_()
            ),
        )
        for m in ("reflect", "replicate")
    ],
    "vmap": lambda torch: torch.vmap(lambda x: torch.nn.functional.pad(x, (1, 1, 1, 1), "reflect"))(
        numbers(torch, 2, 1, 1, 3, 3)
    ),
    "meta": lambda torch: torch.nn.functional.pad(torch.ones(1, 1, 3, 3, device="meta"), (1, 1, 1, 1), "reflect").shape,
}


@pytest.mark.parametrize("name", WIDER)
def test_wider_of_the_unusual(name: str) -> None:
    agree_or_raise(WIDER[name])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "numbers_given",
    [
        (2, 1, 0, 1),
        ((2, 1), (1, 2), (1, 0), (2, 1)),
        (3, 1, 1, 2),
        (2, 2, 1, 1),
        (9, 1, 0, 1),
        (0, 1, 0, 1),
        (2, 1, -1, 1),
        (2, 0, 0, 1),
        (2, 1, 0, 0),
        ((1, 2, 3), 1, 0, 1),
        (1, 1, 3, 1),
    ],
)
def test_patches(numbers_given: Any, dtype: str) -> None:
    def case(torch: Any) -> Any:
        call = torch.nn.functional.unfold
        parts = [part for shape in ((3, 4, 5), (2, 3, 4, 5)) for part in images(torch, dtype, *shape)]
        return [(call(part, *numbers_given), call(part, *numbers_given).stride()) for part in parts]

    agree_or_raise(case)


def test_patches_have_gradients() -> None:
    def case(torch: Any) -> Any:
        x = numbers(torch, 1, 2, 3, 4).requires_grad_()
        return slopes(torch, torch.nn.functional.unfold(x, 2, 1, 1), x)

    agree(case)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64"])
@pytest.mark.parametrize(
    "window",
    [
        (2, None, 0, 1),
        (3, 1, 1, 1),
        (2, 2, 1, 2),
        (0, 1, 0, 1),
        (2, 0, 0, 1),
        (2, 1, 2, 1),
        (9, 1, 0, 1),
        ((2, 1), 1, 0, 1),
    ],
)
def test_lines(window: Any, dtype: str) -> None:
    def case(torch: Any) -> Any:
        call = torch.nn.functional.max_pool1d
        parts = [part for shape in ((2, 5), (1, 2, 5)) for part in images(torch, dtype, *shape)]
        found = [(call(part, *window), call(part, *window).stride()) for part in parts]
        return found, [call(part, *window, return_indices=True) for part in parts]

    agree_or_raise(case)


LINES: dict[str, Case] = {
    "not a number": lambda torch: torch.max_pool1d(torch.tensor([[1.0, math.nan, 2.0, 3.0]]), 2, 1),
    "ceil": lambda torch: torch.max_pool1d(numbers(torch, 1, 5), 2, ceil_mode=True),
    "gradient": lambda torch: slopes(
        torch, *(lambda x: (torch.max_pool1d(x, 2), x))(numbers(torch, 1, 5).requires_grad_())
    ),
    "no_grad": lambda torch: torch.no_grad()(lambda x: torch.max_pool1d(x, 2))(numbers(torch, 1, 5).requires_grad_()),
    "vmap": lambda torch: torch.vmap(lambda x: torch.max_pool1d(x, 2))(numbers(torch, 2, 1, 5)),
    "jvp": lambda torch: torch.func.jvp(
        lambda x: torch.max_pool1d(x, 2), (numbers(torch, 1, 5),), (numbers(torch, 1, 5),)
    ),
    "meta": lambda torch: torch.max_pool1d(torch.ones(1, 5, device="meta"), 2).shape,
}


@pytest.mark.parametrize("name", LINES)
def test_lines_of_the_unusual(name: str) -> None:
    agree_or_raise(LINES[name])


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("given", range(8))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_batch_norm(dtype: str, given: int, training: bool) -> None:
    """With a weight, a bias and running statistics, or some of them; of the wrong length, too."""

    def case(torch: Any) -> Any:
        found = []
        for x in images(torch, dtype, 2, 3, 2, 2):
            weight, bias = (numbers(torch, 3, dtype=dtype) + i if given >> i & 1 else None for i in (0, 1))
            mean, var = (
                numbers(torch, 3, dtype=dtype).abs() + i if given >> 2 & 1 or not training else None for i in (0, 1)
            )
            out = torch.nn.functional.batch_norm(x, mean, var, weight, bias, training)
            kept = [t for t in (mean, var) if t is not None]
            found.append([t.double().mul(64).round() for t in (out, *kept)])
        return found

    agree_or_raise(case)


NORMS: dict[str, Case] = {
    "no statistics": lambda torch: torch.nn.functional.batch_norm(torch.ones(2, 3), None, None),
    "of another length": lambda torch: torch.nn.functional.batch_norm(torch.ones(2, 3), torch.ones(2), torch.ones(3)),
    "of another dtype": lambda torch: torch.nn.functional.batch_norm(
        torch.ones(2, 3), torch.ones(3).double(), torch.ones(3).double()
    ),
    "integers": lambda torch: torch.nn.functional.batch_norm(torch.ones(2, 3).long(), torch.ones(3), torch.ones(3)),
    "one dimension": lambda torch: torch.nn.functional.batch_norm(torch.ones(3), torch.ones(3), torch.ones(3)),
    "nothing": lambda torch: torch.nn.functional.batch_norm(torch.ones(0, 3), torch.ones(3), torch.ones(3)).shape,
    "operator": lambda torch: [
        [
            t.shape
            for t in torch.ops.aten.native_batch_norm(
                torch.ones(2, 3), None, None, torch.ones(3), torch.ones(3), training, 0.1, 1e-5
            )
        ]
        for training in (False, True)
    ],
    "gradient": lambda torch: [
        t.mul(1 << 20).round()
        for t in slopes(
            torch,
            *(lambda x: (torch.nn.functional.batch_norm(x, None, None, training=True), x))(
                numbers(torch, 3, 2).requires_grad_()
            ),
        )[:2]
        for t in (t if isinstance(t, tuple) else (t,))
    ],
    "groups": lambda torch: [
        [t.mul(1 << 10).round() for t in torch.ops.aten.native_group_norm(x.contiguous(), w, w, 2, 4, 3, g, 1e-5)]
        for x in images(torch, "float32", 2, 4, 3)
        for g in (1, 2, 4)
        for w in (None, numbers(torch, 4, dtype="float32"))
    ],
    "groups that do not divide": lambda torch: torch.nn.functional.group_norm(torch.ones(2, 4, 3), 3),
    "no groups": lambda torch: torch.nn.functional.group_norm(torch.ones(2, 4, 3), 0),
    "weights of another length": lambda torch: torch.nn.functional.group_norm(torch.ones(2, 4, 3), 2, torch.ones(3)),
    "one value": lambda torch: torch.nn.functional.group_norm(torch.ones(1, 2, 1), 2),
    "one value a group of two": lambda torch: torch.nn.functional.group_norm(torch.ones(2, 2, 1), 2),
    "other numbers": lambda torch: torch.ops.aten.native_group_norm(torch.ones(2, 4, 3), None, None, 2, 4, 2, 2, 1e-5),
}


@pytest.mark.parametrize("name", NORMS)
def test_norms_of_the_unusual(name: str) -> None:
    agree_or_raise(NORMS[name])


BENT: dict[str, Any] = {
    "softplus": [(1, 20), (2.5, 3.0), (-1.0, 1.0), (1, 1e300), (1e300, 1), (0.0, 1.0)],
    "mish": [()],
    "logsigmoid": [()],
    "softshrink": [(0.5,), (0,), (0.25,), (-1,), (1e300,)],
    "hardshrink": [(0.5,), (0,), (-1,), (1e300,)],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "given"), [(name, given) for name, each in BENT.items() for given in each])
def test_bent(name: str, given: Any, dtype: str) -> None:
    def case(torch: Any) -> Any:
        call = getattr(torch.nn.functional, name)
        x = numbers(torch, 3, 40, dtype="float64")
        odd = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 20.0, 20.5, -100.0])
        found = [call(t.to(getattr(torch, dtype)), *given) for t in (x, x.t(), x[:, ::3], odd, x[:0])]
        return [(t, None if name == "logsigmoid" else t.stride()) for t in found]

    agree_or_raise(case)


def test_bent_as_composed() -> None:
    """To the last bit what it is composed of: functions one after the other."""
    torch = mindtorch_v2
    where, bend = torch.where, torch.nn.functional
    for dtype in (torch.float32, torch.float64):
        x = torch.cat([torch.linspace(-30, 30, 4001), torch.tensor([math.nan, math.inf, -math.inf, -0.0])]).to(dtype)
        soft = where(x * 2.5 > 7, x, torch.log1p(torch.exp(torch.clamp_max(x * 2.5, 7))) / 2.5)
        plain = where(x > 20, x, torch.log1p(torch.exp(torch.clamp_max(x, 20))))
        pairs = [
            (bend.softplus(x, 2.5, 7), soft),
            (bend.mish(x), x * plain.tanh()),
            (bend.softshrink(x, 0.3), where(x > 0.3, x - 0.3, where(x < -0.3, x + 0.3, x * 0))),
            (bend.hardshrink(x, 0.3), where(x.abs() <= 0.3, torch.zeros_like(x), x)),
        ]
        for found, expected in pairs:
            torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", ["softplus", "mish", "logsigmoid", "softshrink", "hardshrink"])
def test_bent_has_gradients(name: str) -> None:
    def case(torch: Any) -> Any:
        x = numbers(torch, 3, 5).requires_grad_()
        found, first, second = slopes(torch, getattr(torch.nn.functional, name)(x), x)
        return [t.mul(1 << 20).round() for t in (found, *first, *second)]

    agree(case)


WRITTEN: dict[str, Any] = {
    "a row": (lambda torch: torch.tensor([1]), ()),
    "rows": (lambda torch: torch.tensor([2, 0]), (2, 4)),
    "rows, one value": (lambda torch: torch.tensor([2, 0]), (1,)),
    "rows, one value of many dimensions": (lambda torch: torch.tensor([2, 0]), (1, 1, 1, 1)),
    "rows, a value for each column": (lambda torch: torch.tensor([2, 0]), (4,)),
    "a row twice": (lambda torch: torch.tensor([1, 1]), (2, 4)),
    "from the end": (lambda torch: torch.tensor([-1, -3]), (2, 4)),
    "outside": (lambda torch: torch.tensor([3]), ()),
    "none": (lambda torch: torch.tensor([], dtype=torch.int64), ()),
    "a number": (lambda torch: torch.tensor(1), ()),
    "a matrix": (lambda torch: torch.tensor([[0, 1], [2, 1]]), (2, 2, 4)),
    "pairs": (lambda torch: (torch.tensor([0, 2]), torch.tensor([1, 3])), (2,)),
    "pairs of other shapes": (lambda torch: (torch.tensor([[0], [2]]), torch.tensor([1, 3])), (2, 2)),
    "columns": (lambda torch: (slice(None), torch.tensor([1, 3])), (3, 2)),
    "a mask": (lambda torch: torch.tensor([True, False, True]), (2, 4)),
    "a mask of all": (lambda torch: torch.eye(3, 4) > 0, (3,)),
    "another shape": (lambda torch: torch.tensor([2, 0]), (3,)),
    "narrow": (lambda torch: torch.tensor([2, 0], dtype=torch.int32), (2, 4)),
    "fractions": (lambda torch: torch.tensor([2.0, 0.0]), (2, 4)),
}


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64", "bfloat16"])
@pytest.mark.parametrize("name", WRITTEN)
def test_written_at_indices(name: str, dtype: str) -> None:
    at, shape = WRITTEN[name]

    def case(torch: Any) -> Any:
        found = []
        for given in (numbers(torch, *shape, dtype=dtype), numbers(torch, *shape, dtype=dtype).expand(shape), 3):
            whole = numbers(torch, 3, 4, dtype=dtype)
            for x in (whole.clone(), whole.t().contiguous().t(), numbers(torch, 6, 4, dtype=dtype)[::2]):
                before = x._version
                x[at(torch)] = given
                found.append((x, x._version - before))
        return found

    agree_or_raise(case)


def test_written_of_itself() -> None:
    def case(torch: Any) -> Any:
        x, y = numbers(torch, 3, 2), numbers(torch, 3, 2)
        x[torch.tensor([0, 1])] = x[1:].clone()
        y.index_put_((torch.tensor([0, 0]),), torch.ones(2, 2).double(), accumulate=True)
        z = numbers(torch, 3, 2).requires_grad_()
        w = z * 1
        w[torch.tensor([0, 1])] = 2.0
        batched = torch.vmap(lambda v: v.index_put((torch.tensor([0]),), torch.tensor(1.0).double()))(
            numbers(torch, 2, 3)
        )
        return x, y, torch.autograd.grad(w.sum(), z), batched

    agree(case)


# ---------------------------------------------------------------- at random
def calls_of_image(torch: Any, x: Any, chance: random.Random) -> list[Any]:
    """What arranges an image anew, with numbers at random."""
    f = torch.nn.functional
    pad, window = [chance.randint(-2, 3) for _ in range(4)], [chance.randint(1, 3) for _ in range(4)]
    factor, shift, dim = chance.randint(1, 3), chance.randint(-9, 9), chance.randint(-x.dim(), x.dim() - 1)
    return [
        lambda: f.pixel_shuffle(x, factor),
        lambda: f.pixel_unshuffle(x, factor),
        lambda: f.channel_shuffle(x, factor),
        lambda: torch.roll(x, shift, dim),
        lambda: torch.roll(x, shift),
        lambda: f.pad(x, pad, "reflect"),
        lambda: f.pad(x, pad, "replicate"),
        lambda: f.unfold(x, window[:2], 1, window[2] - 1, window[3]),
        lambda: f.max_pool1d(x[0], window[0], window[1], window[2] // 2, 1),
    ]


@pytest.mark.parametrize("seed", range(100))
def test_images_at_random(seed: int) -> None:
    """Shapes, strides and numbers at random, beside PyTorch."""

    def case(torch: Any, at: int) -> Any:
        chance = random.Random(seed)
        shape = [chance.randint(1, 4) for _ in range(chance.choice((3, 4)))]
        dtype = chance.choice(["float32", "float64", "int64", "float16"])
        x = numbers(torch, *shape, dtype=dtype).permute(chance.sample(range(len(shape)), len(shape)))
        return calls_of_image(torch, x, chance)[at]()

    for at in range(9):
        agree_or_raise(partial(case, at=at))
