"""Windows, convolutions, attention, borders, norms of few elements: the core settles their checks and shapes."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.runtime.both import Case, agree, agree_or_raise

WINDOWS = [
    (2, None, 0, 1),
    ((2, 1), (1, 3), (1, 0), 1),
    ((2,), (), 0, (1, 2)),
    (3, 2, 1, 2),
    (2, 0, 0, 1),
    (0, 1, 0, 1),
    (2, 1, 2, 1),
    (2, 1, -1, 1),
    (9, 1, 0, 1),
    ((1, 2, 3), 1, 0, 1),
    (1 << 40, 1, 0, 1),
]


def numbers(torch: Any, *shape: int, dtype: str = "float64") -> Any:
    """Elements that differ from those beside them."""
    count = math.prod(shape)
    found = torch.tensor([((7 * i * i + 3 * i) % 19 - 8) / 4 for i in range(count)], dtype=torch.float64)
    return found.reshape(shape).to(getattr(torch, dtype))


def slopes(torch: Any, found: Any, *leaves: Any) -> Any:
    """A result, and its gradients of first and second order."""
    first = torch.autograd.grad(found.square().sum(), leaves, create_graph=True)
    return found, first, torch.autograd.grad(sum(g.square().sum() for g in first), leaves)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64"])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d"])
def test_windows(name: str, window: Any, dtype: str) -> None:
    kernel, stride, padding, dilation = window
    more = (dilation,) if name == "max_pool2d" else ()

    def case(torch: Any) -> Any:
        call = getattr(torch.nn.functional, name)
        x = numbers(torch, 2, 3, 5, 6, dtype=dtype)
        parts = x, x[0], x.transpose(-1, -2), x.to(memory_format=torch.channels_last), x[:0]
        return [call(part, kernel, stride, padding, *more) for part in parts]

    agree_or_raise(case)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2, 0, 3])
@pytest.mark.parametrize(
    ("stride", "padding", "dilation"), [(1, 0, 1), (2, 1, 2), (1, "same", 1), (0, 0, 1), (1, -1, 1), (1, 0, 0)]
)
def test_convolutions(dims: int, groups: int, stride: int, padding: Any, dilation: int) -> None:
    def case(torch: Any) -> Any:
        call = getattr(torch.nn.functional, f"conv{dims}d")
        x = numbers(torch, 2, 4, *(5, 6, 4)[:dims]).requires_grad_()
        weight = numbers(torch, 6, 4 // max(groups, 1), *(3, 2, 2)[:dims]).requires_grad_()
        bias = numbers(torch, 6).requires_grad_()
        rest = (stride, padding, dilation, groups)
        found = [slopes(torch, call(x, weight, bias, *rest), x, weight, bias), call(x[0], weight, None, *rest)]
        return found, call(
            x.transpose(0, 1).contiguous().transpose(0, 1),
            weight.detach().expand(weight.shape),
            bias[:1].expand(6),
            *rest,
        )

    agree_or_raise(case)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2, 0, 3])
@pytest.mark.parametrize(
    ("stride", "padding", "more", "dilation"),
    [
        (1, 0, 0, 1),
        (2, 1, 1, 2),
        (3, 2, 2, 1),
        (1, 0, 1, 1),
        (2, 0, -1, 1),
        (0, 0, 0, 1),
        (1, 9, 0, 1),
        (1, -1, 0, 1),
        (1, 0, 0, 0),
    ],
)
def test_transposed_convolutions(dims: int, groups: int, stride: int, padding: int, more: int, dilation: int) -> None:
    def case(torch: Any) -> Any:
        call = getattr(torch.nn.functional, f"conv_transpose{dims}d")
        x = numbers(torch, 2, 4, *(5, 3, 2)[:dims]).requires_grad_()
        weight = numbers(torch, 4, 3, *(3, 2, 2)[:dims]).requires_grad_()
        bias = numbers(torch, 3 * max(groups, 1)).requires_grad_()
        rest = (stride, padding, more, groups, dilation)
        found = [slopes(torch, call(x, weight, bias, *rest), x, weight, bias), call(x[0], weight, None, *rest)]
        return found, call(
            x.detach().transpose(0, 1).contiguous().transpose(0, 1), weight.detach(), bias[:1].expand(bias.shape), *rest
        )

    agree_or_raise(case)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64"])
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (3, 2), (6, 4), (4, 5), (7, 8), (0, 1), (-1, 1), 2, (None, 2)])
def test_adaptive_maxima(size: Any, dtype: str) -> None:
    def case(torch: Any) -> Any:
        call = torch.nn.functional.adaptive_max_pool2d
        x = numbers(torch, 2, 3, 6, 4, dtype=dtype)
        parts = x, x[0], x.transpose(-1, -2).contiguous().transpose(-1, -2), x[:0]
        return [call(part, size, return_indices=True) for part in parts]

    agree_or_raise(case)


MAXIMA: dict[str, Case] = {
    "not a number": lambda torch: torch.nn.functional.adaptive_max_pool2d(
        torch.tensor([[[1.0, math.nan], [2.0, 3.0]]]), 1, return_indices=True
    ),
    "gradient": lambda torch: (lambda x: slopes(torch, torch.nn.functional.adaptive_max_pool2d(x, (2, 1)), x))(
        numbers(torch, 2, 4, 2).requires_grad_()
    ),
    "vmap": lambda torch: torch.vmap(lambda x: torch.nn.functional.adaptive_max_pool2d(x, 2))(
        numbers(torch, 2, 3, 4, 4)
    ),
    "meta": lambda torch: torch.nn.functional.adaptive_max_pool2d(torch.ones(1, 4, 4, device="meta"), 2).shape,
    "one number": lambda torch: torch.ops.aten.adaptive_max_pool2d(torch.ones(1, 4, 4), [2]),
}


@pytest.mark.parametrize("name", MAXIMA)
def test_adaptive_maxima_of_the_unusual(name: str) -> None:
    agree_or_raise(MAXIMA[name])


CONVOLUTIONS: dict[str, Case] = {
    "another dtype": lambda torch: torch.conv1d(torch.ones(1, 2, 4), torch.ones(3, 2, 2, dtype=torch.float64)),
    "bias of another length": lambda torch: torch.conv1d(torch.ones(1, 2, 4), torch.ones(3, 2, 2), torch.ones(2)),
    "other channels": lambda torch: torch.conv2d(torch.ones(1, 2, 4, 4), torch.ones(3, 3, 2, 2)),
    "too wide a kernel": lambda torch: torch.conv1d(torch.ones(1, 2, 3), torch.ones(3, 2, 4)),
    "none": lambda torch: torch.conv1d(torch.ones(0, 2, 4), torch.ones(3, 2, 2), torch.ones(3)),
    "complex": lambda torch: torch.conv1d(torch.ones(1, 2, 4) * 1j, torch.ones(3, 2, 2) * (1 + 1j)),
    "integers": lambda torch: torch.conv1d(
        torch.ones(1, 2, 4, dtype=torch.int64), torch.ones(3, 2, 2, dtype=torch.int64)
    ),
    "vmap": lambda torch: torch.vmap(torch.conv1d, (0, None))(numbers(torch, 3, 1, 2, 4), numbers(torch, 3, 2, 2)),
    "meta": lambda torch: (
        torch.conv2d(torch.ones(1, 2, 4, 4, device="meta"), torch.ones(3, 2, 2, 2, device="meta")).shape
    ),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_of_the_unusual(name: str) -> None:
    agree_or_raise(CONVOLUTIONS[name])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(3, 3, 2, 2, 4), (3, 5, 2, 2, 4), (3, 3, 4, 2, 4), (1, 1, 1, 1, 1), (0, 3, 2, 2, 4)])
@pytest.mark.parametrize("scale", [None, 0.25, -0.5])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(dtype: str, sizes: Any, scale: float | None, causal: bool) -> None:
    queries, keys, heads, key_heads, width = sizes
    if causal and scale is not None and scale < 0:
        pytest.skip("minus infinity times a negative scale is another number in PyTorch's kernel")

    def case(torch: Any) -> Any:
        call = torch.nn.functional.scaled_dot_product_attention
        q, k = (
            numbers(torch, 2, heads, queries, width, dtype=dtype),
            numbers(torch, 2, key_heads, keys, width, dtype=dtype),
        )
        q, k, v = (t.requires_grad_() for t in (q, k, (k * 2 - 1).detach()))
        found = call(q, k, v, is_causal=causal, scale=scale, enable_gqa=heads != key_heads)
        slopes = torch.autograd.grad(found.sum(), (q, k, v))
        turned = (
            call(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=causal, scale=scale)
            if heads == queries == keys
            else None
        )
        wide = [t if t is None else t.double().mul(16).round() for t in (found, *slopes, turned)]
        return wide, found.dtype, found.stride() if queries else None

    agree_or_raise(lambda torch: case(torch)[:1])


def test_attention_composed_with_a_negative_scale() -> None:
    def case(torch: Any) -> Any:
        q = numbers(torch, 2, 3, 4)
        return torch.nn.functional.scaled_dot_product_attention(q, q, q, scale=-0.5)

    agree(case)


PADS = [(1, 1), (0, 0), (-1, 2), (1, -1, 2, 0), (-2, -2), (3, -3), (1,), (1, 2, 3, 4, 5, 6), (), (1 << 62, 0), (-4, 5)]


@pytest.mark.parametrize("pad", PADS)
@pytest.mark.parametrize(
    ("dtype", "value"),
    [("float32", None), ("float64", 2.5), ("int64", 3), ("bool", True), ("complex64", 1.0), ("float16", 0.5)],
)
def test_borders(pad: Any, dtype: str, value: Any) -> None:
    def case(torch: Any) -> Any:
        call = torch.nn.functional.pad
        x = numbers(torch, 2, 3, dtype=dtype)
        return [call(part, pad, "constant", value) for part in (x, x.t(), x[:, :1].expand(2, 3))], call(
            x[:0], pad, value=value
        ).shape

    agree_or_raise(case)


BORDERS: dict[str, Case] = {
    "gradient": lambda torch: torch.func.grad(lambda x: torch.nn.functional.pad(x, (1, -1)).square().sum())(
        numbers(torch, 2, 3)
    ),
    "vmap": lambda torch: torch.vmap(lambda x: torch.nn.functional.pad(x, (1, 1)))(numbers(torch, 2, 3)),
    "many dimensions": lambda torch: torch.nn.functional.pad(torch.ones([1] * 33), [1, 0] * 3).shape,
    "a value beyond the dtype": lambda torch: torch.nn.functional.pad(
        torch.ones(2, dtype=torch.uint8), (1, 1), value=300
    ),
    "conjugate": lambda torch: torch.nn.functional.pad(torch.tensor([1 + 2j]).conj(), (1, 1)),
}


@pytest.mark.parametrize("name", BORDERS)
def test_borders_of_the_unusual(name: str) -> None:
    agree_or_raise(BORDERS[name])


@pytest.mark.parametrize("size", [(6, 8), (3, 8), (6, 4), (3, 4), (5, 7), (2, 2), (6,)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "uint8"])
def test_nearest(size: Any, dtype: str) -> None:
    def case(torch: Any) -> Any:
        call = torch.nn.functional.interpolate
        x = numbers(torch, 2, 1, 3, 4, dtype="float64").abs().to(getattr(torch, dtype))
        return (
            call(x, size),
            call(x.transpose(-1, -2).contiguous().transpose(-1, -2), size),
            call(x, scale_factor=2),
            call(x, scale_factor=(1, 2.0)),
        )

    agree_or_raise(case)


@pytest.mark.parametrize("dim", [None, 0, -1, [0, 1], [], [0, 0], 3])
@pytest.mark.parametrize("order", [2, 2.0, 1, 0, math.inf])
@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64", "int64"])
def test_norms(dim: Any, order: float, dtype: str) -> None:
    def case(torch: Any) -> Any:
        x = numbers(torch, 2, 1, 3, dtype=dtype)
        parts = x, x.transpose(0, 2), x[:, :, :1], x * (1e4 if dtype == "float16" else 1)
        return [torch.linalg.vector_norm(part, order, dim, keep) for part in parts for keep in (False, True)]

    agree_or_raise(case)


@pytest.mark.parametrize("name", ["complex", "polar"])
@pytest.mark.parametrize("dtypes", [("float32",) * 2, ("float64",) * 2, ("float32", "float64"), ("int64",) * 2])
def test_of_two_parts(name: str, dtypes: Any) -> None:
    def case(torch: Any) -> Any:
        call = getattr(torch, name)
        a, b = numbers(torch, 2, 3, dtype=dtypes[0]), numbers(torch, 3, dtype=dtypes[1]) + 1
        a, b = (t.requires_grad_() if t.is_floating_point() else t for t in (a, b))
        found = call(a, b)
        steep = slopes(torch, torch.view_as_real(found), a, b) if dtypes[0] == "float64" else ()
        return torch.view_as_real(found), steep, call(a.t(), b[:2]), found.conj().imag

    agree_or_raise(case)


PARTS: dict[str, Case] = {
    "vmap": lambda torch: torch.vmap(torch.complex, (0, None))(torch.ones(2, 3), torch.zeros(3)).real,
    "forward": lambda torch: torch.func.jvp(
        lambda a: torch.view_as_real(torch.polar(a, a)), (torch.ones(2),), (torch.ones(2),)
    ),
    "meta": lambda torch: (
        torch.complex(torch.ones(2, device="meta"), torch.ones(2, device="meta")).dtype == torch.complex64
    ),
    "halves": lambda torch: torch.complex(torch.ones(2).half(), torch.ones(2).half()).dtype == torch.complex32,
    "polar halves": lambda torch: torch.polar(torch.ones(2).half(), torch.ones(2).half()),
    "conjugate": lambda torch: torch.view_as_real(torch.tensor([1 + 2j]).conj()),
    "of a conjugate": lambda torch: (torch.tensor([1 + 2j]).conj().real, torch.tensor([1 + 2j]).conj().imag),
    "strides": lambda torch: torch.view_as_complex(torch.ones(2, 3)[:, :2]),
    "last stride": lambda torch: torch.view_as_complex(torch.ones(2, 2).t()),
    "offset": lambda torch: torch.view_as_complex(torch.ones(5)[1:3]),
    "no dimension": lambda torch: torch.view_as_complex(torch.ones(())),
    "shared": lambda torch: torch.view_as_real(torch.zeros(2, dtype=torch.complex64)).add_(1).stride(),
    "wide strides": lambda torch: torch.view_as_real(
        torch.zeros(1, dtype=torch.complex64).as_strided((1,), (1 << 62,))
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_the_unusual(name: str) -> None:
    agree_or_raise(PARTS[name])


@pytest.mark.parametrize("dtype", [None, "float64", "int64", "bool", "float16", "complex64", "int16"])
@pytest.mark.parametrize("sizes", [(3,), (2, 4), (4, 2), (0,), (0, 3), (-1,), (1,)])
def test_identity(dtype: str | None, sizes: Any) -> None:
    agree_or_raise(lambda torch: torch.eye(*sizes, **({} if dtype is None else {"dtype": getattr(torch, dtype)})))


def negative_log(torch: Any, classes: list[int], reduction: Any) -> Any:
    return torch.nn.functional.nll_loss(numbers(torch, 2, 3), torch.tensor(classes), reduction=reduction)


SMALL: dict[str, Case] = {
    "kron": lambda torch: torch.kron(numbers(torch, 2, 3), numbers(torch, 1, 4)),
    "kron of a vector": lambda torch: torch.kron(numbers(torch, 3), numbers(torch, 2, 2)),
    "kron, promoted": lambda torch: torch.kron(torch.ones(2, 2, dtype=torch.int64), numbers(torch, 2, 2)),
    "kron of none": lambda torch: torch.kron(torch.ones(0, 2), torch.ones(2, 2)),
    "kron, gradient": lambda torch: torch.func.grad(lambda x: torch.kron(x, x).square().sum())(numbers(torch, 2, 2)),
    "Tensor": lambda torch: (torch.Tensor([1.0, 2]), torch.Tensor([[1], [2]]), torch.Tensor([True]), torch.Tensor([])),
    "Tensor of unequal lists": lambda torch: torch.Tensor([[1.0], [2.0, 3.0]]),
    "Size": lambda torch: [type(torch.Size(x)).__name__ for x in ([1, 2], (3,), range(2), torch.Size([1]))],
    "Size of a number": lambda torch: torch.Size([1.0]),
    "can_cast": lambda torch: [
        torch.can_cast(a, b)
        for a in (torch.bool, torch.int8, torch.float16, torch.complex64)
        for b in (torch.bool, torch.uint8, torch.float64, torch.complex128)
    ],
    "can_cast types": lambda torch: (torch.can_cast(float, torch.int32), torch.can_cast(torch.int32, float)),
    "can_cast of a number": lambda torch: torch.can_cast(1, torch.int32),
    "normalize": lambda torch: [
        torch.nn.functional.normalize(numbers(torch, 2, 3), p, d)
        for p in (2.0, 2, 1.0, 3.0)
        for d in (0, 1, -1, (0, 1))
    ],
    "normalize, out of range": lambda torch: torch.nn.functional.normalize(torch.ones(2), 2.0, 1),
    "similarity": lambda torch: [
        slopes(torch, torch.cosine_similarity(x, x.flip(0), d), x)
        for d in (0, 1, -1)
        for x in (numbers(torch, 2, 3).requires_grad_(),)
    ],
    "similarity, out of range": lambda torch: torch.cosine_similarity(torch.ones(2), torch.ones(2), 1),
    "nll_loss": lambda torch: [negative_log(torch, [0, 2], r) for r in ("none", "mean", "sum")],
    "nll_loss, other batch": lambda torch: negative_log(torch, [0], "mean"),
    "nll_loss, other reduction": lambda torch: negative_log(torch, [0, 1], "x"),
    "nll_loss, unhashable reduction": lambda torch: negative_log(torch, [0, 1], []),
    "modes": lambda torch: [
        (m.__enter__(), torch.is_grad_enabled(), m.__exit__(None, None, None))[1]
        for m in (torch.enable_grad(), torch.no_grad())
    ],
}


@pytest.mark.parametrize("name", SMALL)
def test_small_calls(name: str) -> None:
    agree_or_raise(SMALL[name])
