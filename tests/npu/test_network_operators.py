"""What networks are made of, on the NPU by AscendC kernels: beside the CPU, with tails, and nothing by fallback."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor, nn

F, aten = nn.functional, torch.ops.aten
ONE: dict[str, Callable[[Tensor], Tensor]] = {
    name: getattr(torch, name) for name in ("sqrt", "rsqrt", "reciprocal", "abs", "log", "square", "sigmoid", "tanh")
}
ONE |= {
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "minus a number": lambda x: x - 2.5,
    "over a number": lambda x: x / 3,
    "mean": lambda x: x.mean(),
    "sums of rows": lambda x: x.sum(-1),
    "sums of columns": lambda x: x.sum(0, keepdim=True),
    "sums of both": lambda x: x.sum((0, -1)),
    "means of rows": lambda x: x.mean(1, keepdim=True),
    "means of columns": lambda x: x.mean(0),
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
}
TWO: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sigmoid_backward": aten.sigmoid_backward,
    "tanh_backward": aten.tanh_backward,
    "silu_backward": aten.silu_backward,
    "gelu_backward": aten.gelu_backward,
    "gelu_backward by tanh": lambda x, y: aten.gelu_backward(x, y, approximate="tanh"),
    "addcmul": lambda x, y: torch.addcmul(x, y, x, value=0.5),
    "addcdiv": lambda x, y: torch.addcdiv(x, x, y, value=0.5),
    "softmax_backward": lambda x, y: aten._softmax_backward_data(x, y, -1, x.dtype),
    "log_softmax_backward": lambda x, y: aten._log_softmax_backward_data(x, -y, -1, x.dtype),
    "a row added": lambda x, y: x + y[0],
}
SHAPES = [(1, 1), (3, 17), (5, 2050), (90, 33)]
TOLERANCE = {torch.float32: 1e-5, torch.float16: 4e-3}
dtypes = pytest.mark.parametrize("dtype", TOLERANCE, ids=["f32", "f16"])
shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)


@pytest.fixture(autouse=True)
def no_way_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDTORCH_NPU_FALLBACK", "error")


def agree(call: Callable[..., Any], *given: Tensor, rtol: float = 1e-5) -> None:
    """The call on the NPU gives what it gives on the CPU."""
    expected, got = call(*given), call(*(t.npu() for t in given))
    for wanted, found in zip(*(r if isinstance(r, tuple) else (r,) for r in (expected, got)), strict=True):
        assert found.device.type == "npu"
        torch.testing.assert_close(found.cpu(), wanted, rtol=rtol, atol=rtol)


def numbers(*shape: int, dtype: Any = torch.float32, positive: bool = False) -> Tensor:
    torch.manual_seed(sum(shape))
    drawn = torch.randn(*shape)
    return (drawn.abs() + 0.5 if positive else drawn).to(dtype)


@dtypes
@shapes
@pytest.mark.parametrize("name", ONE)
def test_of_one(name: str, shape: tuple[int, ...], dtype: Any) -> None:
    agree(ONE[name], numbers(*shape, dtype=dtype, positive=True), rtol=TOLERANCE[dtype])


@dtypes
@shapes
@pytest.mark.parametrize("name", TWO)
def test_of_two(name: str, shape: tuple[int, ...], dtype: Any) -> None:
    x, y = numbers(*shape, dtype=dtype), numbers(*shape, dtype=dtype, positive=True)
    agree(TWO[name], x, y, rtol=TOLERANCE[dtype])


def test_numbers_at_the_ends() -> None:
    x = torch.tensor([0.0, -0.0, 1e-30, 88.0, 104.0, -104.0, float("inf"), -float("inf"), float("nan")])
    for name in ("sigmoid", "tanh", "abs", "reciprocal", "sqrt"):
        expected, got = ONE[name](x), ONE[name](x.npu()).cpu()
        torch.testing.assert_close(got, expected, equal_nan=True)
        assert torch.signbit(got[:2]).tolist() == torch.signbit(expected[:2]).tolist()


@dtypes
@pytest.mark.parametrize("turned", list(itertools.product([False, True], repeat=2)), ids=str)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (33, 70, 130), (129, 300, 17)], ids=str)
def test_products(sizes: tuple[int, int, int], turned: tuple[bool, bool], dtype: Any) -> None:
    m, n, k = sizes
    a = numbers(*((k, m) if turned[0] else (m, k)), dtype=dtype)
    b = numbers(*((n, k) if turned[1] else (k, n)), dtype=dtype)
    bias = numbers(n, dtype=dtype)

    def factors(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return a.mT if turned[0] else a, b.mT if turned[1] else b

    rtol = max(TOLERANCE[dtype], 1e-5)
    agree(lambda a, b: torch.mm(*factors(a, b)), a, b, rtol=rtol)
    agree(lambda a, b, bias: torch.addmm(bias, *factors(a, b)), a, b, bias, rtol=rtol)
    both = [torch.stack([t, -t, t + 1]) for t in (a, b)]
    agree(lambda a, b: torch.bmm(*factors(a, b)), *both, rtol=rtol)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (7, 33), (3, 2, 1025)], ids=str)
def test_layer_norm(shape: tuple[int, ...], affine: bool) -> None:
    x, grad, parameters = (
        numbers(*shape),
        numbers(*shape) * 0.5,
        [numbers(shape[-1]), numbers(shape[-1])] if affine else [],
    )

    def norm(x: Tensor, grad: Tensor, *parameters: Tensor) -> tuple[Tensor, ...]:
        weight, bias = parameters or (None, None)
        out, mean, rstd = aten.native_layer_norm(x, [shape[-1]], weight, bias, 1e-5)
        mask = [True, affine, affine]
        found = aten.native_layer_norm_backward(grad, x, [shape[-1]], mean, rstd, weight, bias, mask)
        return out, mean, rstd, *(t for t in found if t is not None)

    agree(norm, x, grad, *parameters)


@pytest.mark.parametrize("width", [1, 600])
def test_tables(width: int) -> None:
    table, indices = numbers(5, width), torch.tensor([[1, 4, 1], [0, 1, 2]])
    agree(lambda table, indices: F.embedding(indices, table), table, indices)
    agree(lambda table, indices: F.embedding(indices, table), table.half(), indices)
    grad = numbers(2, 3, width)
    agree(lambda grad, indices: aten.embedding_dense_backward(grad, indices, 5, 1, False), grad, indices)


def test_an_index_of_no_row_is_an_error_of_the_device() -> None:
    table, indices = numbers(5, 4).npu(), torch.tensor([1, 5]).npu()
    with pytest.raises(RuntimeError, match="Trap"):
        F.embedding(indices, table).cpu()


@pytest.mark.parametrize("steps", [1, 700])
def test_adamw(steps: int) -> None:
    options = {
        "lr": 1e-2,
        "beta1": 0.9,
        "beta2": 0.999,
        "weight_decay": 0.1,
        "eps": 1e-8,
        "amsgrad": False,
        "maximize": False,
    }

    def step(parameter: Tensor, grad: Tensor, mean: Tensor, square: Tensor, number: Tensor) -> tuple[Tensor, ...]:
        state = [t.clone() for t in (parameter, mean, square)]
        aten._fused_adamw_([state[0]], [grad], [state[1]], [state[2]], [], [number], **options)
        return tuple(state)

    given = [numbers(3000), numbers(3000) * 0.1, numbers(3000) * 0.01, numbers(3000).square() * 1e-3]
    agree(step, *given, torch.tensor(float(steps)))


def test_a_network_is_trained_without_the_cpu() -> None:
    def losses(device: str) -> list[float]:
        torch.manual_seed(0)
        layers = [
            nn.Embedding(20, 16),
            nn.Linear(16, 32),
            nn.GELU(),
            nn.LayerNorm(32),
            nn.Linear(32, 8),
            nn.Softmax(-1),
        ]
        model, words = nn.Sequential(*layers).to(device), torch.arange(12).reshape(3, 4).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=True)
        found = []
        for _ in range(3):
            loss = (model(words).square().sum(-1) + 0.5).log().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            found.append(loss.detach().cpu().item())
        return found

    assert losses("npu") == pytest.approx(losses("cpu"), rel=1e-5)
