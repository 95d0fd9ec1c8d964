"""Margins, distances, counts, spreads and windows of few elements, which the core computes, beside PyTorch's."""

from __future__ import annotations

import math
from typing import Any

import pytest

import mindtorch_v2 as ours
from tests.runtime.both import Case, agree, agree_or_raise


def numbers(torch: Any, *shape: int, dtype: str = "float64") -> Any:
    """Elements that differ from those beside them."""
    count = math.prod(shape)
    found = torch.tensor([((7 * i * i + 3 * i) % 19 - 8) / 4 for i in range(count)], dtype=torch.float64)
    return found.reshape(shape).to(getattr(torch, dtype))


def slopes(torch: Any, found: Any, *leaves: Any) -> Any:
    """A result, and its gradients."""
    return found, torch.autograd.grad(found.pow(2).sum(), leaves)


# ---------------------------------------------------------------- margins
@pytest.mark.parametrize("reduction", ["none", "mean", "sum", "other"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("p", [1, 2, 3, 1.0])
def test_margins(p: Any, dtype: str, reduction: str) -> None:
    def case(torch: Any) -> Any:
        call = torch.nn.functional.multi_margin_loss
        x, labels = numbers(torch, 3, 5, dtype=dtype), torch.tensor([4, 0, 2])
        found = [
            call(x, labels, p, margin, weight, reduction=reduction)
            for margin in (1, 0.5, -1.0)
            for weight in (None, torch.arange(5).to(x.dtype))
        ]
        found += [call(x[0], labels[0], p, reduction=reduction), call(x[0], labels[:1], p, reduction=reduction)]
        return [*found, call(x.T.contiguous().T, labels, p, reduction=reduction)]

    agree_or_raise(case)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_margins_of_several_targets(dtype: str, reduction: str) -> None:
    def case(torch: Any) -> Any:
        call = torch.nn.functional.multilabel_margin_loss
        x, labels = numbers(torch, 3, 4, dtype=dtype), torch.tensor([[3, 0, -1, 1], [-1, 0, 2, 3], [1, 2, 3, 0]])
        parts = (x, labels), (x[0], labels[0]), (x.T.contiguous().T, labels), (x.tile(2, 3), labels.tile(2, 3))
        return [call(*part, reduction=reduction) for part in parts]

    agree_or_raise(case)


MARGINS: dict[str, Case] = {
    "slopes": lambda torch: [
        slopes(torch, torch.nn.functional.multi_margin_loss(x, torch.tensor([4, 0, 2]), p, reduction=r), x)
        for x in [numbers(torch, 3, 5).requires_grad_()]
        for p in (1, 2)
        for r in ("none", "mean", "sum")
    ],
    "slopes of several": lambda torch: [
        slopes(
            torch,
            torch.nn.functional.multilabel_margin_loss(x, torch.tensor([[3, 0, -1, 1], [1, -1, 0, 0]]), reduction=r),
            x,
        )
        for x in [numbers(torch, 2, 4).requires_grad_()]
        for r in ("none", "mean", "sum")
    ],
    "which are targets": lambda torch: torch.ops.aten.multilabel_margin_loss_forward(
        numbers(torch, 2, 4), torch.tensor([[3, 0, -1, 1], [1, -1, 0, 0]]), 1
    ),
    "not a number": lambda torch: torch.nn.functional.multi_margin_loss(
        torch.tensor([[0.5, math.nan, 0.25]]), torch.tensor([0])
    ),
    "no rows": lambda torch: torch.nn.functional.multi_margin_loss(
        torch.ones(0, 3), torch.ones(0).long(), reduction="none"
    ),
    "no such class": lambda torch: torch.nn.functional.multi_margin_loss(torch.ones(1, 3), torch.tensor([3])),
    "a class below": lambda torch: torch.nn.functional.multi_margin_loss(torch.ones(1, 3), torch.tensor([-1])),
    "no such class of several": lambda torch: torch.nn.functional.multilabel_margin_loss(
        torch.ones(3), torch.tensor([0, -1, 3])
    ),
    "two below": lambda torch: torch.nn.functional.multilabel_margin_loss(torch.ones(2), torch.tensor([0, -2])),
    "other weights": lambda torch: torch.nn.functional.multi_margin_loss(
        torch.ones(1, 3), torch.tensor([1]), weight=torch.ones(2)
    ),
    "other shapes": lambda torch: torch.nn.functional.multilabel_margin_loss(torch.ones(1, 3), torch.tensor([[0, -1]])),
    "too many dimensions": lambda torch: torch.nn.functional.multi_margin_loss(torch.ones(1, 3, 2), torch.tensor([1])),
    "labels of another dtype": lambda torch: torch.nn.functional.multi_margin_loss(
        torch.ones(1, 3), torch.tensor([1.0])
    ),
    "vmap": lambda torch: torch.vmap(torch.nn.functional.multi_margin_loss, in_dims=(0, None))(
        numbers(torch, 2, 3, 4), torch.tensor([1, 0, 2])
    ),
}


@pytest.mark.parametrize("name", MARGINS)
def test_unusual_margins(name: str) -> None:
    agree_or_raise(MARGINS[name])


# ---------------------------------------------------------------- distances
@pytest.mark.parametrize("p", [0, 0.5, 1.0, 2, 3.5, math.inf, -1.0, math.nan])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_distances(dtype: str, p: float) -> None:
    def case(torch: Any) -> Any:
        x, y = numbers(torch, 2, 3, 4, dtype=dtype), numbers(torch, 2, 5, 4, dtype=dtype).flip(1)
        pairs = (x[0], y[0]), (x, y), (x[:1], y), (x[0].T.contiguous().T, y[0]), (x[0, :0], y[0]), (x[0], x[0])
        found = [torch.cdist(*pair, p=p) for pair in pairs]
        found += [torch.cdist(x, y, p, mode) for mode in ("donot_use_mm_for_euclid_dist", "use_mm_for_euclid_dist")]
        return found, [torch.nn.functional.pdist(part, p) for part in (x[0], y[1], x[0, :2], x[0, :1], x[0, :0])]

    agree_or_raise(case)


DISTANCES: dict[str, Case] = {
    "recorded": lambda torch: [
        slopes(torch, torch.cdist(x, x.detach() + 1, p), x)
        for x in [numbers(torch, 3, 4).requires_grad_()]
        for p in (0.0, 1.0, 2.0, 3.0)
    ],
    "recorded pairs": lambda torch: [
        slopes(torch, torch.nn.functional.pdist(x, p), x)
        for x in [numbers(torch, 4, 3).requires_grad_()]
        for p in (0, 0.5, 1, 1.5, 2, 3, math.inf)
    ],
    "recorded pairs of one": lambda torch: [
        slopes(torch, torch.nn.functional.pdist(x, 2), x) for x in [torch.ones(1, 3, requires_grad=True)]
    ],
    "recorded pairs of equal ones": lambda torch: [
        slopes(torch, torch.nn.functional.pdist(x, p) + 1, x)
        for x in [torch.ones(3, 3, requires_grad=True)]
        for p in (0, 0.5, 1, 1.5, 2, 3, math.inf)
    ],
    "vmap over pairs": lambda torch: torch.vmap(torch.nn.functional.pdist)(numbers(torch, 2, 3, 4)),
    "not a number": lambda torch: [
        torch.cdist(torch.tensor([[math.nan, 1.0]]), torch.tensor([[0.0, 1.0]]), p) for p in (1.0, 2.0)
    ],
    "another dtype": lambda torch: torch.cdist(torch.ones(1, 2), torch.ones(1, 2).double()),
    "other columns": lambda torch: torch.cdist(torch.ones(1, 2), torch.ones(1, 3)),
    "one dimension": lambda torch: torch.cdist(torch.ones(2), torch.ones(1, 2)),
    "another mode": lambda torch: torch.ops.aten.cdist(torch.ones(1, 2), torch.ones(1, 2), 2.0, 3),
    "pairs of three dimensions": lambda torch: torch.nn.functional.pdist(torch.ones(1, 2, 3)),
    "vmap": lambda torch: torch.vmap(torch.cdist)(numbers(torch, 2, 3, 4), numbers(torch, 2, 5, 4)),
}


@pytest.mark.parametrize("name", DISTANCES)
def test_unusual_distances(name: str) -> None:
    agree_or_raise(DISTANCES[name])


@pytest.mark.parametrize("p", [0.5, 1.5, 2, 3])
def test_second_gradients_of_pairs(p: float) -> None:
    x = (numbers(ours, 4, 3) + ours.arange(12).reshape(4, 3) / 7).requires_grad_()
    assert ours.autograd.gradcheck(lambda x: ours.nn.functional.pdist(x, p), x)
    assert ours.autograd.gradgradcheck(lambda x: ours.nn.functional.pdist(x, p), x)
    with ours.autograd.forward_ad.dual_level():
        dual = ours.autograd.forward_ad.make_dual(x.detach(), ours.ones(4, 3))
        assert ours.autograd.forward_ad.unpack_dual(ours.nn.functional.pdist(dual, p)).tangent.abs().max() < 1e-12


# ---------------------------------------------------------------- counts
@pytest.mark.parametrize("ends", [(0, 0), (-1, 1), (0.25, 2.0), (-1e30, 1e30), (2, 2), (1, -1), (0, math.inf), (-8, 8)])
@pytest.mark.parametrize("bins", [1, 7, 100, 0, -1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_counts(dtype: str, bins: int, ends: tuple[float, float]) -> None:
    def case(torch: Any) -> Any:
        x = numbers(torch, 5, 12, dtype=dtype)
        parts = x, x.T, x[:1, :1], x[:0], x.clone().fill_(3), x / 3, x[0].expand(3, 12)
        return [torch.histc(part, bins, *ends) for part in parts]

    agree_or_raise(case)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("ends", [(0, 0), (-1, 1)])
def test_counts_of_odd_numbers(ends: tuple[int, int], odd: float) -> None:
    agree_or_raise(lambda torch: torch.histc(torch.tensor([0.5, odd, -0.25]), 4, *ends))


# ---------------------------------------------------------------- spreads
@pytest.mark.parametrize("name", ["std", "var"])
@pytest.mark.parametrize("correction", [None, 0, 1, 2, 0.5, 50])
@pytest.mark.parametrize("dim", [None, 0, -1, (0, 2), (0, 0), 3])
def test_spreads(name: str, correction: Any, dim: Any) -> None:
    def case(torch: Any) -> Any:
        x = numbers(torch, 2, 4, 5).requires_grad_()
        given = [x, x.transpose(0, 1), x[:, :1], x[:, :, :1], x * 0]
        found = [getattr(torch, name)(part, dim=dim, correction=correction, keepdim=True) for part in given]
        return found, [torch.autograd.grad(part[part.isfinite()].pow(2).sum(), x) for part in found[:2]]

    agree_or_raise(case)


def test_few_elements_are_more_than_25() -> None:
    """What `std_mean` computes in one call of few elements had the bound of `cdist`, which was called alike."""
    x = numbers(ours, 10, 10).T
    calls: list[str] = []

    class Noted(ours.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            calls.append(str(func))
            return func(*args, **(kwargs or {}))

    with Noted():
        ours.std_mean(x, 1)
    assert calls == ["aten.std_mean.correction"]


# ---------------------------------------------------------------- windows
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize(
    "window",
    [
        (2, None, 0, 1),
        ((2, 1, 3), (1, 3, 1), (1, 0, 1), 1),
        (2, (), 0, (1, 2, 1)),
        (3, 2, 1, 2),
        (2, 0, 0, 1),
        (0, 1, 0, 1),
        (2, 1, 2, 1),
        (2, 1, -1, 1),
        (9, 1, 0, 1),
        ((1, 2), 1, 0, 1),
        (1 << 40, 1, 0, 1),
    ],
)
@pytest.mark.parametrize("name", ["max_pool3d", "avg_pool3d"])
def test_volumes(name: str, window: Any, dtype: str) -> None:
    kernel, stride, padding, dilation = window
    more = (dilation,) if name == "max_pool3d" else ()

    def case(torch: Any) -> Any:
        call = getattr(torch.nn.functional, name)
        x = numbers(torch, 2, 3, 5, 6, 4, dtype=dtype)
        parts = x, x[0], x.transpose(-1, -3), x.to(memory_format=torch.channels_last_3d), x[:0]
        return [call(part, kernel, stride, padding, *more) for part in parts]

    agree_or_raise(case)


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("ceil", [True, False])
def test_means_beyond_borders(ceil: bool, include: bool) -> None:
    def case(torch: Any) -> Any:
        x = numbers(torch, 2, 5, 6, 7).requires_grad_()
        call = torch.nn.functional.avg_pool3d
        found = [call(x, 3, stride, 1, ceil, include) for stride in (1, 2, (3, 2, 1))]
        return found, [torch.autograd.grad(part.pow(2).sum(), x) for part in found], call(x, 2, 2, 0, ceil, include, 5)

    agree(case)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 9, 14, -1, (2,), (3, 2)])
@pytest.mark.parametrize("name", ["max", "avg"])
def test_shares(name: str, size: Any, dims: int, dtype: str) -> None:
    def case(torch: Any) -> Any:
        call = getattr(torch.nn.functional, f"adaptive_{name}_pool{dims}d")
        x = numbers(torch, 2, 3, *(5, 7, 4)[:dims], dtype=dtype)
        parts = x, x[0], x.transpose(0, 1), x[:0], x[..., :1]
        return [call(part, size, **({"return_indices": True} if name == "max" else {})) for part in parts]

    agree_or_raise(case)


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("name", ["max", "avg"])
def test_more_shares_than_memory(name: str, dims: int) -> None:
    call = getattr(ours.nn.functional, f"adaptive_{name}_pool{dims}d")
    for size in (1 << 20) - 1, 1 << 40:
        with pytest.raises((RuntimeError, MemoryError)):
            call(ours.ones(1, *(3,) * dims), size)


WINDOWS: dict[str, Case] = {
    "slopes of shares": lambda torch: [
        slopes(torch, call(x, 3), x)
        for x in [numbers(torch, 2, 5, 7, 4).requires_grad_()]
        for call in (
            torch.nn.functional.adaptive_avg_pool2d,
            torch.nn.functional.adaptive_avg_pool3d,
            torch.nn.functional.adaptive_max_pool2d,
            torch.nn.functional.adaptive_max_pool3d,
            lambda x, k: torch.nn.functional.max_pool3d(x, k, 1),
        )
    ],
    "no numbers": lambda torch: torch.nn.functional.adaptive_max_pool3d(
        torch.tensor([1.0, math.nan, 2.0, 0.5]).reshape(1, 1, 2, 2), 1, return_indices=True
    ),
    "vmap": lambda torch: torch.vmap(lambda x: torch.nn.functional.adaptive_avg_pool2d(x, 3))(
        numbers(torch, 2, 3, 5, 4)
    ),
    "meta": lambda torch: [
        call(torch.ones(1, 5, 4, 6, device="meta"), 2).shape
        for call in (
            torch.nn.functional.adaptive_avg_pool3d,
            torch.nn.functional.avg_pool3d,
            torch.nn.functional.max_pool3d,
        )
    ],
    "by chance": lambda torch: [
        torch.nn.functional.fractional_max_pool2d(
            numbers(torch, 2, 3, 7, 6, dtype=dtype),
            2,
            output_size=(4, 3),
            _random_samples=(numbers(torch, 2, 3, 2).abs() % 1).to(getattr(torch, dtype)),
            return_indices=True,
        )
        for dtype in ("float32", "float64")
    ],
    "by chance, volumes": lambda torch: torch.nn.functional.fractional_max_pool3d(
        numbers(torch, 2, 3, 7, 6, 5),
        (2, 3, 1),
        output_size=(4, 3, 1),
        _random_samples=numbers(torch, 2, 3, 3).abs() % 1,
        return_indices=True,
    ),
    "back": lambda torch: [
        torch.nn.functional.max_unpool2d(*torch.nn.functional.max_pool2d(x, 2, return_indices=True), 2)
        for x in (numbers(torch, 2, 4, 6), numbers(torch, 2, 3, 4, 6, dtype="float32"), numbers(torch, 0, 3, 4, 6))
    ],
    "back, volumes": lambda torch: torch.nn.functional.max_unpool3d(
        *torch.nn.functional.max_pool3d(numbers(torch, 2, 4, 6, 4), 2, return_indices=True), 2
    ),
    "back, a place that is none": lambda torch: torch.nn.functional.max_unpool2d(
        numbers(torch, 1, 2, 2), torch.tensor([[[5, 1], [16, 0]]]), 2
    ),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_unusual_windows(name: str) -> None:
    agree_or_raise(WINDOWS[name])


@pytest.mark.parametrize("samples", [math.nan, math.inf, 1e20])
def test_windows_that_begin_nowhere_are_refused(samples: float) -> None:
    given = ours.full((1, 1, 2), samples)
    with pytest.raises(IndexError):
        ours.nn.functional.fractional_max_pool2d(ours.ones(1, 1, 8, 8), 2, output_size=5, _random_samples=given)


# ---------------------------------------------------------------- places
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic", "other"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [True, False])
def test_places_of_a_grid(align: bool, padding: str, mode: str) -> None:
    def case(torch: Any) -> Any:
        def call(image: Any, grid: Any) -> Any:
            return torch.nn.functional.grid_sample(image, grid, mode, padding, align)

        x, grid = numbers(torch, 2, 3, 5, 4), numbers(torch, 2, 3, 4, 2).clamp(-1.4, 1.4) + 0.01
        found = [call(x, grid), call(x.float(), grid.float()), call(x.transpose(2, 3), grid), call(x[:0], grid[:0])]
        volume, places = numbers(torch, 1, 2, 3, 4, 5), numbers(torch, 1, 2, 2, 3, 3) / 2 + 0.01
        return found if mode == "bicubic" else [*found, call(volume, places)]

    agree_or_raise(case)


GRIDS: dict[str, Case] = {
    "another dtype": lambda torch: torch.nn.functional.grid_sample(
        torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 2).double(), align_corners=False
    ),
    "another batch": lambda torch: torch.nn.functional.grid_sample(
        torch.ones(1, 1, 2, 2), torch.ones(2, 1, 1, 2), align_corners=False
    ),
    "other dimensions": lambda torch: torch.nn.functional.grid_sample(
        torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 3), align_corners=False
    ),
    "another rank": lambda torch: torch.nn.functional.grid_sample(
        torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 1, 2), align_corners=False
    ),
    "no image": lambda torch: torch.nn.functional.grid_sample(
        torch.ones(1, 1, 0, 2), torch.ones(1, 1, 1, 2), align_corners=False
    ),
    "lines": lambda torch: torch.nn.functional.grid_sample(
        torch.ones(1, 1, 2), torch.ones(1, 1, 1), align_corners=False
    ),
}


@pytest.mark.parametrize("name", GRIDS)
def test_refused_grids(name: str) -> None:
    agree_or_raise(GRIDS[name])


@pytest.mark.parametrize(
    ("size", "kernel", "dilation", "padding", "stride"),
    [
        ((4, 5), 2, 1, 0, 1),
        ((4, 5), (2, 3), 1, (1, 0), (2, 1)),
        ((6, 5), 2, 2, 1, 1),
        ((4, 5), 3, 1, 1, 2),
        ((4, 5), 2, 1, 0, 0),
        ((4, 5), 0, 1, 0, 1),
        ((4, 5), 9, 1, 0, 1),
        ((4, -5), 2, 1, 0, 1),
        (4, 2, 1, 0, 1),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64"])
def test_folds(dtype: str, size: Any, kernel: Any, dilation: int, padding: Any, stride: Any) -> None:
    rest = (kernel, dilation, padding, stride)

    def case(torch: Any) -> Any:
        call, sizes = torch.nn.functional.fold, (size, size) if isinstance(size, int) else size
        image = numbers(torch, 2, 3, *(abs(n) for n in sizes))
        columns = torch.nn.functional.unfold(image, *rest) if dtype != "int64" else torch.ones(1, 12, 12)
        columns = columns.to(getattr(torch, dtype))
        parts = columns, columns[0], columns.transpose(1, 2).contiguous().transpose(1, 2)
        found = [torch.view_as_real(t) if t.is_complex() else t for t in (call(part, size, *rest) for part in parts)]
        if not columns.is_floating_point():
            return found
        x = columns.requires_grad_()
        return found, slopes(torch, call(x, size, *rest), x)

    agree_or_raise(case)


def test_a_fold_of_other_columns() -> None:
    agree_or_raise(lambda torch: torch.nn.functional.fold(torch.ones(1, 12, 7), (4, 5), 2))
    agree_or_raise(lambda torch: torch.nn.functional.fold(torch.ones(1, 11, 12), (4, 5), 2))


# ---------------------------------------------------------------- lines
@pytest.mark.parametrize("dtype", [None, "float32", "float64", "int32"])
@pytest.mark.parametrize(
    "ends", [(0, 1), (-2.5, 4), (3, 3), (True, 2), (1e38, 1e39), (math.inf, 1), (1, -7), (0, 1 << 70)]
)
@pytest.mark.parametrize("steps", [0, 1, 2, 9, -1])
def test_lines(steps: int, ends: tuple[float, float], dtype: str | None) -> None:
    def case(torch: Any) -> Any:
        kind = {} if dtype is None else {"dtype": getattr(torch, dtype)}
        return torch.linspace(*ends, steps, **kind)

    agree_or_raise(case)


@pytest.mark.parametrize("dtype", [None, "float32", "float64"])
@pytest.mark.parametrize("base", [10.0, 2, 0.5, 0.0, math.nan])
@pytest.mark.parametrize("steps", [0, 1, 2, 9, -1])
def test_powers_of_lines(steps: int, base: float, dtype: str | None) -> None:
    def case(torch: Any) -> Any:
        kind = {} if dtype is None else {"dtype": getattr(torch, dtype)}
        return torch.logspace(-1, 2.5, steps, base, **kind)

    agree_or_raise(case)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int16"])
@pytest.mark.parametrize("count", [0, 1, 7, -1, 5000])
def test_numbers_in_turn(count: int, dtype: str) -> None:
    agree_or_raise(lambda torch: torch.arange(count, dtype=getattr(torch, dtype)).float())


def test_lines_of_another_default() -> None:
    def case(torch: Any) -> Any:
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            return torch.linspace(0, 1, 3), torch.logspace(0, 1, 3), str(torch.linspace(0, 1, 3, device="meta").dtype)
        finally:
            torch.set_default_dtype(before)

    agree(case)
