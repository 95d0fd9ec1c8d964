"""What snapshots are taken of: functions of a module that is PyTorch, or like it, by family; inputs are not drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["DATA", "FAMILIES", "arrays"]

DATA = Path(__file__).resolve().parent / "data"

Case = Callable[[Any], Any]


def wave(torch: Any, *shape: int, step: float = 0.7, grad: bool = False) -> Any:
    """Numbers between -2 and 2 that do not repeat."""
    count = math.prod(shape)
    made = (torch.arange(count).double() * step).sin().mul(2).float().reshape(shape)
    return made.requires_grad_() if grad else made


def both_ways(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Case:
    """The result of ``function(torch, *tensors)``, and the gradients of what it is made of."""

    def case(torch: Any) -> list[Any]:
        leaves = [wave(torch, *shape, step=0.7 + at, grad=True) for at, shape in enumerate(shapes)]
        result = function(torch, *leaves)
        (result * wave(torch, *result.shape, step=0.3)).sum().backward()
        return [result, *(leaf.grad for leaf in leaves)]

    return case


def _elementwise() -> dict[str, Case]:
    names = [
        "exp",
        "sin",
        "cos",
        "tanh",
        "sigmoid",
        "erf",
        "relu",
        "abs",
        "square",
        "neg",
        "floor",
        "round",
        "sign",
        "expm1",
        "atan",
    ]
    cases = {name: both_ways(lambda torch, x, name=name: getattr(x, name)(), (3, 5)) for name in names}
    positive = ["log", "sqrt", "rsqrt", "log1p", "reciprocal", "lgamma", "digamma"]
    cases |= {name: both_ways(lambda torch, x, name=name: getattr(x.abs() + 0.5, name)(), (3, 5)) for name in positive}
    pairs = ["add", "sub", "mul", "div", "atan2", "maximum", "minimum"]
    cases |= {name: both_ways(lambda torch, x, y, name=name: getattr(x, name)(y), (3, 5), (5,)) for name in pairs}
    activations = ["gelu", "silu", "softplus", "mish", "hardswish", "elu", "selu", "leaky_relu", "logsigmoid"]
    return cases | {
        name: both_ways(lambda torch, x, name=name: getattr(torch.nn.functional, name)(x), (3, 5))
        for name in activations
    }


def _reductions() -> dict[str, Case]:
    names = ["sum", "mean", "prod", "var", "std", "logsumexp", "amax", "norm", "cumsum", "softmax", "log_softmax"]
    cases = {name: both_ways(lambda torch, x, name=name: getattr(x, name)(dim=1), (3, 7)) for name in names}
    whole = ["sum", "mean", "max", "min", "median"]
    cases |= {f"{name} of all": both_ways(lambda torch, x, name=name: getattr(x, name)(), (3, 7)) for name in whole}
    return cases | {
        "argmax": lambda torch: wave(torch, 3, 7).argmax(1),
        "sort": lambda torch: wave(torch, 3, 7).sort(1),
        "topk": lambda torch: wave(torch, 3, 7).topk(3),
        "unique": lambda torch: torch.unique(torch.tensor([3, 1, 3, 2]), return_inverse=True, return_counts=True),
    }


def _matrices() -> dict[str, Case]:
    def positive(torch: Any, x: Any) -> Any:
        return x @ x.T + 4 * torch.eye(4)

    return {
        "matmul": both_ways(lambda torch, x, y: x @ y, (3, 4), (4, 5)),
        "bmm": both_ways(lambda torch, x, y: x.bmm(y), (2, 3, 4), (2, 4, 5)),
        "linear": both_ways(lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), (3, 4), (5, 4), (5,)),
        "einsum": both_ways(lambda torch, x, y: torch.einsum("bij,bkj->ik", x, y), (2, 3, 4), (2, 5, 4)),
        "cholesky": both_ways(lambda torch, x: torch.linalg.cholesky(positive(torch, x)), (4, 4)),
        "inverse": both_ways(lambda torch, x: torch.linalg.inv(positive(torch, x)), (4, 4)),
        "solve": both_ways(lambda torch, x, y: torch.linalg.solve(positive(torch, x), y), (4, 4), (4, 2)),
        "determinant": both_ways(lambda torch, x: torch.linalg.det(positive(torch, x)), (4, 4)),
        "eigenvalues": both_ways(lambda torch, x: torch.linalg.eigvalsh(positive(torch, x)), (4, 4)),
        "singular values": both_ways(lambda torch, x: torch.linalg.svdvals(x.exp()), (4, 3)),
        "a spectrum": lambda torch: torch.fft.rfft(wave(torch, 3, 8)).abs(),
    }


def _places() -> dict[str, Case]:
    def index(torch: Any) -> Any:
        return torch.tensor([2, 0, 2])

    return {
        "a part": both_ways(lambda torch, x: x[1:, ::2], (3, 5)),
        "at indices": both_ways(lambda torch, x: x[index(torch)], (3, 5)),
        "a mask": both_ways(lambda torch, x: x[x > 0], (3, 5)),
        "index_select": both_ways(lambda torch, x: x.index_select(1, index(torch)), (3, 5)),
        "gather": both_ways(lambda torch, x: x.gather(0, torch.tensor([[2, 0, 1, 1, 2]])), (3, 5)),
        "scatter_add": both_ways(lambda torch, x, y: x.scatter_add(0, torch.tensor([[2, 0, 1]]), y), (3, 5), (1, 3)),
        "index_add": both_ways(lambda torch, x, y: x.index_add(0, index(torch), y), (3, 5), (3, 5)),
        "where": both_ways(lambda torch, x, y: torch.where(x > y, x, y), (3, 5), (5,)),
        "cat": both_ways(lambda torch, x, y: torch.cat([x, y], 1), (3, 5), (3, 2)),
        "transposed": both_ways(lambda torch, x: x.permute(2, 0, 1).reshape(4, -1), (2, 3, 4)),
        "roll": both_ways(lambda torch, x: x.roll(2, 1), (3, 5)),
        "embedding": both_ways(lambda torch, w: torch.nn.functional.embedding(index(torch), w), (3, 5)),
        "one-hot": lambda torch: torch.nn.functional.one_hot(index(torch)),
    }


def _layers() -> dict[str, Case]:
    def functional(name: str, *rest: Any, **named: Any) -> Callable[..., Any]:
        return lambda torch, *tensors: getattr(torch.nn.functional, name)(*tensors, *rest, **named)

    def classes(torch: Any, x: Any) -> Any:
        return torch.nn.functional.cross_entropy(x, torch.tensor([1, 0, -100]), label_smoothing=0.1)

    losses = ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"]
    image = (1, 2, 6, 6)
    return {
        "conv2d": both_ways(functional("conv2d", stride=2, padding=1), image, (3, 2, 3, 3), (3,)),
        "conv1d": both_ways(functional("conv1d"), (1, 2, 8), (3, 2, 3)),
        "conv_transpose2d": both_ways(functional("conv_transpose2d", stride=2), image, (2, 3, 2, 2)),
        "max_pool2d": both_ways(functional("max_pool2d", 2), image),
        "avg_pool2d": both_ways(functional("avg_pool2d", 2), image),
        "adaptive_avg_pool2d": both_ways(functional("adaptive_avg_pool2d", 1), image),
        "interpolate": both_ways(functional("interpolate", scale_factor=2.0, mode="bilinear"), image),
        "pad": both_ways(functional("pad", (1, 2, 0, 1), "reflect"), image),
        "layer_norm": both_ways(
            lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (5,), w, b), (3, 5), (5,), (5,)
        ),
        "group_norm": both_ways(lambda torch, x: torch.nn.functional.group_norm(x, 2), (2, 4, 3)),
        "batch_norm": both_ways(lambda torch, x: torch.nn.functional.batch_norm(x, None, None, training=True), (4, 3)),
        "attention": both_ways(functional("scaled_dot_product_attention", is_causal=True), *[(1, 2, 4, 3)] * 3),
        "cross_entropy": both_ways(classes, (3, 4)),
        "binary cross entropy": both_ways(
            lambda torch, x, y: torch.nn.functional.binary_cross_entropy_with_logits(x, y.sigmoid()), (3, 4), (3, 4)
        ),
        **{name: both_ways(functional(name), (3, 4), (3, 4)) for name in losses},
    }


def _drawn() -> dict[str, Case]:
    def drawn(draw: Case) -> Case:
        def case(torch: Any) -> Any:
            torch.manual_seed(7)
            return draw(torch)

        return case

    return {
        "rand": drawn(lambda torch: torch.rand(20)),
        "randn": drawn(lambda torch: torch.randn(40)),
        "randint": drawn(lambda torch: torch.randint(0, 100, (20,))),
        "randperm": drawn(lambda torch: torch.randperm(20)),
        "dropout": drawn(lambda torch: torch.nn.functional.dropout(torch.ones(20), 0.3)),
        "kaiming": drawn(lambda torch: torch.nn.Linear(4, 3).weight),
        "multinomial": drawn(lambda torch: torch.multinomial(torch.arange(1.0, 9.0), 12, replacement=True)),
    }


def _trained() -> dict[str, Case]:
    def trained(name: str, **options: Any) -> Case:
        def case(torch: Any) -> list[Any]:
            weight = torch.nn.Parameter(wave(torch, 3, 4))
            optimizer = getattr(torch.optim, name)([weight], **options)
            for _ in range(5):
                optimizer.zero_grad()
                (weight.sin() * wave(torch, 3, 4, step=0.4)).square().sum().backward()
                optimizer.step()
            return [weight]

        return case

    return {
        "SGD": trained("SGD", lr=0.1, momentum=0.9, weight_decay=0.01),
        "Adam": trained("Adam", lr=0.1, amsgrad=True),
        "AdamW": trained("AdamW", lr=0.1),
        "RMSprop": trained("RMSprop", lr=0.01),
        "Adagrad": trained("Adagrad", lr=0.1),
    }


FAMILIES: dict[str, dict[str, Case]] = {
    "elementwise": _elementwise(),
    "reductions": _reductions(),
    "matrices": _matrices(),
    "places": _places(),
    "layers": _layers(),
    "random": _drawn(),
    "optimizers": _trained(),
}


def arrays(torch: Any, case: Case) -> list[Any]:
    """What a case returns, as arrays."""
    found = case(torch)
    return [t.detach().numpy() for t in (found if isinstance(found, (list, tuple)) else (found,))]
