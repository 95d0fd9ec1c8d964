"""What searches beside PyTorch found: values, gradients, dtypes and errors of operators that few calls come to."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest

from tests.runtime.both import Case, agree, agree_or_raise

INF, NAN = math.inf, math.nan


# ---------------------------------------------------------------- rows of a table
TABLES: dict[str, Case] = {
    "transposed": lambda torch: torch.arange(12.0).reshape(3, 4).t(),
    "stepped": lambda torch: torch.arange(24.0).reshape(4, 6)[:, ::2],
    "expanded": lambda torch: torch.tensor([1.0, 2.0, 3.0]).expand(4, 3),
    "by rows, stepped": lambda torch: torch.arange(24.0).reshape(8, 3)[::2],
}


@pytest.mark.parametrize("lies", TABLES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 2), (1, 0, 2), (2, 1, 2)])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_rows_of_a_table_however_it_lies(lies: str, shape: tuple[int, ...], dtype: str) -> None:
    def case(torch: Any) -> Any:
        count = math.prod(shape)
        places = (torch.arange(count) * 3 % 4).to(getattr(torch, dtype)).reshape(shape)
        table = TABLES[lies](torch).double().requires_grad_()
        found = torch.nn.functional.embedding(places, table, padding_idx=1)
        (first,) = torch.autograd.grad((found * found).sum(), table, create_graph=True)
        # The gradient of a sum is expanded: its rows are taken where the first gradient is differentiated.
        second = torch.autograd.grad(first.sum(), table, allow_unused=True) if count else None
        return found, first.detach(), second

    agree(case)


def test_a_table_is_read_through_an_index_of_several_dimensions() -> None:
    agree(lambda torch: torch.ops.aten.embedding(torch.arange(6.0).reshape(2, 3).t(), torch.tensor([[2], [0]])))


# ---------------------------------------------------------------- gradients
def second(torch: Any, f: Any, *values: Any) -> Any:
    """The gradients of a function, and theirs."""
    leaves = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in values]
    out = f(*leaves)
    weight = (torch.arange(out.numel(), dtype=torch.float64).reshape(out.shape) - 0.7).requires_grad_()
    first = torch.autograd.grad(out, leaves, weight, create_graph=True)
    again = torch.autograd.grad(first, [*leaves, weight], [g.detach().cos() for g in first], allow_unused=True)
    return [g.detach() for g in first], again


SECOND: dict[str, Case] = {
    "logcumsumexp": lambda torch: second(torch, lambda x: x.logcumsumexp(0), [0.1, 0.5, -0.3, 0.2]),
    "logcumsumexp of rows": lambda torch: second(torch, lambda x: x.logcumsumexp(-1), [[0.1, 2.0], [-INF, 0.2]]),
    "logcumsumexp of one": lambda torch: second(torch, lambda x: x.logcumsumexp(0), [0.5]),
    **{
        f"prod of {numbers} {how}": lambda torch, f=f, numbers=numbers: second(torch, f, numbers)
        for how, f in (("all", lambda x: x.prod()), ("a line", lambda x: x.prod(0)))
        for numbers in ([2.0, 0.0, -3.0, 1.5], [2.0, 0.0, 0.0, 1.5], [2.0, 1.0, 3.0], [0.0, 2.0, INF])
    },
    "prod of rows": lambda torch: second(torch, lambda x: x.prod(1), [[2.0, 0.0, 3.0], [1.0, 2.0, 3.0]]),
    "prod of nothing": lambda torch: second(torch, lambda x: x.prod(1), [[], []]),
    "logit": lambda torch: second(torch, lambda x: x.logit(), [-0.5, 0.3, 2.0]),
    "i1": lambda torch: second(torch, torch.special.i1, [0.0, 1.0, -2.0]),
    "i1e": lambda torch: second(torch, torch.special.i1e, [0.0, 1.0, -2.0]),
    "elu": lambda torch: second(torch, torch.nn.functional.elu, [1.0, -2.0, INF]),
    "elu of no number": lambda torch: torch.func.grad(torch.nn.functional.elu)(torch.tensor(NAN)),
}


@pytest.mark.parametrize("name", SECOND)
def test_gradients_of_gradients(name: str) -> None:
    agree(SECOND[name])


@pytest.mark.parametrize("size", [(0, 2, 3, 2), (2, 0, 3, 2), (2, 2, 0, 2)])
def test_a_grid_of_nothing_has_gradients_of_gradients(size: tuple[int, ...]) -> None:
    import mindtorch_v2 as torch  # PyTorch refuses to reshape these

    image = torch.ones(size[0], 2, 3, 3, dtype=torch.float64, requires_grad=True)
    grid = torch.zeros(size, dtype=torch.float64, requires_grad=True)
    out = torch.nn.functional.grid_sample(image, grid, align_corners=False)
    first = torch.autograd.grad(out.sum(), (image, grid), create_graph=True)
    assert [g.abs().sum().item() for g in first] == [0, 0]
    assert [g.shape for g in torch.autograd.grad(first[1].sum(), (image, grid))] == [image.shape, grid.shape]


@pytest.mark.parametrize("include", [False, True])
def test_products_at_places_leave_the_gradient_of_zeros_elsewhere(include: bool) -> None:
    def case(torch: Any) -> Any:
        x = torch.tensor([[1.0], [0.0], [2.0]], dtype=torch.float64, requires_grad=True)
        src = torch.tensor([[3.0]], dtype=torch.float64, requires_grad=True)
        out = x.scatter_reduce(-1, torch.tensor([[0]]), src, "prod", include_self=include)
        return torch.autograd.grad(out, (x, src), torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64))

    agree(case)


def test_the_one_factor_of_a_product_may_be_infinite() -> None:
    agree(lambda torch: torch.func.grad(lambda x: x.cumprod(1).sum())(torch.tensor([[INF], [NAN], [0.0]])))


def test_curvatures_of_products_that_are_mapped() -> None:
    rows = [[2.0, 0.0, 3.0], [1.0, 2.0, 0.5]]
    agree(lambda torch: torch.vmap(torch.func.hessian(lambda x: x.prod()))(torch.tensor(rows)))


# ---------------------------------------------------------------- images by the nearest element
@pytest.mark.parametrize(
    ("shape", "scales"),
    [
        ((1, 1, 3), (1.02,)),
        ((2, 2, 2), (2.3,)),
        ((1, 1, 1, 2, 3), (1.0, 2.0, 1.02)),
        ((1, 4, 1, 2, 3), (1.0, 2.4, 1.02)),
        ((1, 1, 2, 3), (2.0, 1.02)),
        ((1, 1, 60, 70), (1.0, 1.005)),
        ((1, 1, 60, 70), (1.0, 2.011)),
        ((1, 4, 60, 70), (1.01, 1.0)),
        ((1, 1, 60, 70), (2.0, 1.0)),
    ],
)
@pytest.mark.parametrize("by_channels", [False, True])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_scales_that_leave_the_size(
    shape: tuple[int, ...], scales: tuple[float, ...], by_channels: bool, mode: str
) -> None:
    def case(torch: Any) -> Any:
        image = torch.arange(float(math.prod(shape))).reshape(shape)
        if by_channels and len(shape) > 3:
            dense = torch.channels_last if len(shape) == 4 else torch.channels_last_3d
            image = image.contiguous(memory_format=dense)
        image.requires_grad_()
        out = torch.nn.functional.interpolate(image, scale_factor=scales, mode=mode, recompute_scale_factor=False)
        return out, torch.autograd.grad((out * out.detach().sin()).sum(), image)

    agree(case)


# ---------------------------------------------------------------- ranges and counts
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_spaced_numbers_are_rounded_once(dtype: str) -> None:
    def case(torch: Any) -> Any:
        ends = [(-1, 1.7), (0.1, 0.3), (2.5, -1.25), (1, 1)]
        made = [torch.linspace(a, b, n, dtype=getattr(torch, dtype)) for a, b in ends for n in (1, 2, 11, 100, 257)]
        return [str(line.tolist()) for line in made]

    agree(case)


NUMBERS = [0.1 * k - 0.5 for k in range(25)] + [k / 2 for k in range(-3, 6)] + [0.1, 1.7, 1.7]
COUNTS: dict[str, Case] = {
    "parts": lambda torch: [
        torch.histc(torch.tensor(NUMBERS).to(dtype), bins, low, high).double()
        for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16)
        for bins, low, high in ((100, 0, 0), (7, -1, 2), (300, 0, 3), (10, 0.1, 1.7), (3, 1, 1))
    ],
    "ends": lambda torch: torch.histogram(torch.zeros(0), 10, range=(-1, 1.7)),
    "of nothing": lambda torch: (torch.histogram(torch.zeros(0), 4), torch.histc(torch.zeros(0), 2)),
    "a range of one number": lambda torch: torch.histogram(torch.tensor([1.0, 5.0]), 4, range=(0, 0)),
    "ends that fall": lambda torch: torch.histogram(torch.tensor([1.0, 2.0, 0.5]), torch.tensor([0.0, 2.0, 1.0, 3.0])),
    "one end": lambda torch: torch.histogram(torch.tensor([1.0]), torch.tensor([1.0])),
    "points without coordinates": lambda torch: torch.histogramdd(torch.zeros(2, 0), [])[0],
    "a large end": lambda torch: torch.histc(torch.ones(3), max=1e300),
    "integers": lambda torch: torch.histc(torch.tensor([1, 2]), 3),
    "no gradient": lambda torch: torch.histc(torch.ones(3, requires_grad=True), 2),
    "no gradient yet": lambda torch: torch.bincount(torch.tensor([1, 0]), torch.ones(2, requires_grad=True)).detach(),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name: str) -> None:
    agree_or_raise(COUNTS[name])


# ---------------------------------------------------------------- losses
def logits_loss(torch: Any, target: Any, **given: Any) -> Any:
    return torch.nn.functional.binary_cross_entropy_with_logits(torch.tensor([1.0, -2.0]), target, **given)


LOSSES: dict[str, Case] = {
    "integer targets": lambda torch: logits_loss(torch, torch.tensor([1, 0])),
    "narrow targets": lambda torch: logits_loss(torch, torch.tensor([1.0, 0.0]).half()),
    "wide targets": lambda torch: logits_loss(torch, torch.tensor([1.0, 0.0]).double()),
    "wide weights": lambda torch: logits_loss(torch, torch.ones(2), weight=torch.ones(2).double()),
    "large weights": lambda torch: logits_loss(torch, torch.ones(2), weight=torch.ones(3, 2)),
    "large factors": lambda torch: logits_loss(torch, torch.ones(2), pos_weight=torch.ones(3, 2)),
    "weights with a gradient": lambda torch: logits_loss(
        torch, torch.ones(2), weight=torch.ones(2, requires_grad=True)
    ),
    "factors with a gradient": lambda torch: logits_loss(
        torch, torch.ones(2), pos_weight=torch.ones(2, requires_grad=True)
    ),
    "integers": lambda torch: torch.nn.functional.binary_cross_entropy_with_logits(torch.tensor([1]), torch.ones(1)),
    "vmap": lambda torch: torch.vmap(lambda x: logits_loss(torch, torch.ones(2), weight=x))(torch.rand(3, 2) * 0 + 2),
    "slopes of other dtypes": lambda torch: torch.ops.aten.binary_cross_entropy_backward(
        torch.ones(2), torch.ones(2), torch.ones(2).long()
    ),
    "integers apart": lambda torch: torch.nn.functional.hinge_embedding_loss(
        torch.tensor([3, -2]), torch.tensor([1, -1]), margin=1.5, reduction="none"
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name: str) -> None:
    agree_or_raise(LOSSES[name])


# ---------------------------------------------------------------- slices, borders and layouts
LAID_OUT: dict[str, Case] = {
    "unique slices": lambda torch: (
        torch.unique(torch.tensor([[1, 2, 1], [3, 4, 3]]), dim=1).stride(),
        torch.unique_consecutive(torch.tensor([[1, 1, 2], [3, 3, 4]]), dim=1).stride(),
    ),
    "what is asked for of slices": lambda torch: torch.ops.aten.unique_consecutive(torch.ones(2, 2), dim=0),
    "slices of no dimension": lambda torch: torch.unique(torch.tensor(1.0), dim=0),
    "neighbours of no dimension": lambda torch: torch.unique_consecutive(torch.tensor(1.0), dim=0),
    "filled": lambda torch: torch.zeros(3, 5).t().masked_fill(torch.ones(5, 3).bool(), 1.0).stride(),
    "scattered": lambda torch: torch.zeros(3, 5).t().masked_scatter(torch.ones(5, 3).bool(), torch.ones(15)).stride(),
    "reduced": lambda torch: (
        torch.zeros(3, 5).t().scatter_reduce(1, torch.zeros(5, 3).long(), torch.ones(5, 3), "sum").stride()
    ),
    "borders that leave nothing": lambda torch: [
        torch.nn.functional.pad(torch.ones(1, 2, 3, 4), (-4, 0, 1, 1), mode).shape for mode in ("reflect", "replicate")
    ],
    "borders that leave less": lambda torch: torch.nn.functional.pad(torch.ones(1, 2, 3, 4), (-5, 0, 1, 1), "reflect"),
    "no channels": lambda torch: (
        torch.nn.functional.adaptive_avg_pool2d(torch.ones(1, 0, 3, 3), 2).shape,
        torch.nn.functional.interpolate(torch.ones(1, 0, 3), 2, mode="area").shape,
    ),
}


@pytest.mark.parametrize("name", LAID_OUT)
def test_layouts_and_sizes(name: str) -> None:
    agree_or_raise(LAID_OUT[name])


# ---------------------------------------------------------------- running sums
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "uint16", "float16"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_sums_in_place_keep_the_dtype(name: str, dtype: str) -> None:
    def case(torch: Any) -> Any:
        x = torch.tensor([[1, 2, 0], [3, 2, 5]]).to(getattr(torch, dtype))
        getattr(x, name + "_")(1)
        return x.long()

    agree_or_raise(case)
    agree_or_raise(
        lambda torch: getattr(torch.masked, name)(torch.tensor([1, 2]).to(getattr(torch, dtype)), 0).double()
    )


# ---------------------------------------------------------------- more elements than there is memory
@pytest.mark.parametrize("call", ["topk(1)", "kthvalue(1)", "mode()"])
def test_no_room_for_what_is_expanded(call: str) -> None:
    code = (
        "import mindtorch_v2 as torch\n"
        f"try: torch.tensor(3).expand(2**62).{call}\n"
        "except (MemoryError, ValueError, RuntimeError): print('refused')"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ended.stdout == "refused\n", ended.stderr[-500:]


def test_many_elements_are_counted_in_few_pieces() -> None:
    code = (
        "import signal, mindtorch_v2 as torch\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.3)\n"
        "signal.signal(signal.SIGALRM, signal.default_int_handler)\n"
        "try: torch.tensor(3).expand(2**62).max()\n"
        "except KeyboardInterrupt: print('stopped')"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ended.stdout == "stopped\n", ended.stderr[-500:]
