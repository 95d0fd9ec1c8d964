"""Modules and losses: the same code under PyTorch and under mindtorch_v2."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

pytorch = pytest.importorskip("torch")

import mindtorch_v2 as ours  # noqa: E402
from tests.ops.both import agree, raised  # noqa: E402

rng = np.random.default_rng(4)


def f(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype("f4")


LOSSES = {
    "mse": lambda torch, x, y, i: [torch.nn.MSELoss(reduction=r)(x, y) for r in ("none", "mean", "sum")],
    "l1": lambda torch, x, y, i: torch.nn.L1Loss()(x, y),
    "cross entropy": lambda torch, x, y, i: [
        torch.nn.CrossEntropyLoss(reduction=r)(x, i) for r in ("none", "mean", "sum")
    ],
    "weights": lambda torch, x, y, i: torch.nn.functional.cross_entropy(
        x, i, weight=torch.tensor([0.2, 0.5, 1.0, 2.0])
    ),
    "ignored": lambda torch, x, y, i: torch.nn.functional.cross_entropy(x, i, ignore_index=1),
    "smoothing": lambda torch, x, y, i: [
        torch.nn.functional.cross_entropy(x, i, label_smoothing=0.1, reduction=r, weight=w, ignore_index=2)
        for r in ("none", "mean", "sum")
        for w in (None, torch.tensor([0.2, 0.5, 1.0, 2.0]))
    ],
    "probabilities": lambda torch, x, y, i: torch.nn.functional.cross_entropy(x, y.softmax(1), label_smoothing=0.2),
    "one row": lambda torch, x, y, i: torch.nn.functional.cross_entropy(x[0], i[0]),
    "images": lambda torch, x, y, i: torch.nn.functional.cross_entropy(x.view(1, 4, 3, 2), i.view(1, 3, 2)),
    "nll": lambda torch, x, y, i: torch.nn.NLLLoss()(x.log_softmax(1), i),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name: str) -> None:
    agree(LOSSES[name], {"x": f(6, 4), "y": f(6, 4), "i": np.array([0, 1, 2, 3, 1, 0])})


LAYERS = {
    "linear": lambda torch, x, w, b: [torch.nn.functional.linear(x, w, b), torch.nn.functional.linear(x, w)],
    "batched linear": lambda torch, x, w, b: torch.nn.functional.linear(x.view(2, 3, 5), w, b),
    "vector linear": lambda torch, x, w, b: torch.nn.functional.linear(x[0], w, b),
    "activations": lambda torch, x, w, b: [
        torch.nn.ReLU()(x),
        torch.nn.Tanh()(x),
        torch.nn.Sigmoid()(x),
        torch.nn.GELU()(x),
        torch.nn.SiLU()(x),
        torch.nn.LeakyReLU(0.2)(x),
        torch.nn.Softmax(1)(x),
        torch.nn.LogSoftmax(-1)(x),
        torch.nn.Identity()(x * 1),
        torch.nn.ReLU(inplace=True)(x * 1),
        torch.nn.Flatten()(x.view(2, 3, 5)),
        torch.nn.Dropout(0.5).eval()(x * 1),
    ],
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    agree(LAYERS[name], {"x": f(6, 5), "w": f(3, 5), "b": f(3)})


def test_dropout_keeps_the_mean() -> None:
    ours.manual_seed(0)
    x = ours.ones(10000, requires_grad=True)
    y = ours.nn.Dropout(0.25)(x)
    assert set(np.unique(y.detach().numpy()).round(4)) == {0, np.float32(1.3333)}
    assert abs(y.mean().item() - 1) < 0.05
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())


def make(torch: Any) -> Any:
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 4, bias=False)
            self.scale = nn.Parameter(torch.ones(4))
            self.register_buffer("count", torch.zeros(1))
            self.register_buffer("scratch", torch.zeros(1), persistent=False)
            self.missing = None

        def forward(self, x: Any) -> Any:
            return self.inner(x) * self.scale + x

    named = OrderedDict([("first", nn.Linear(3, 4)), ("act", nn.ReLU()), ("block", Block())])
    return nn.Sequential(OrderedDict([*named.items(), ("tail", nn.ModuleList([nn.Dropout(0.1), nn.Tanh()]))]))


STRUCTURE = {
    "repr": repr,
    "parameters": lambda m: [(n, tuple(p.shape), p.requires_grad) for n, p in m.named_parameters()],
    "modules": lambda m: [(n, type(x).__name__) for n, x in m.named_modules()],
    "children": lambda m: [n for n, _ in m.named_children()],
    "buffers": lambda m: [n for n, _ in m.named_buffers()],
    "state": lambda m: list(m.state_dict()),
    "eval": lambda m: [x.training for x in m.eval().modules()],
    "frozen": lambda m: [p.requires_grad for p in m.requires_grad_(False).parameters()],
    "double": lambda m: [str(p.dtype) for p in m.double().parameters()] + [str(b.dtype) for b in m.buffers()],
    "sub": lambda m: repr(m.get_submodule("block.inner")),
    "slices": lambda m: [repr(m[0]), repr(m[1:3]), len(m), len(m[3])],
    "attributes": lambda m: [m.block.missing, hasattr(m, "nothing"), m[2].count.tolist()],
}


@pytest.mark.parametrize("name", STRUCTURE)
def test_structure(name: str) -> None:
    assert STRUCTURE[name](make(ours)) == STRUCTURE[name](make(pytorch))


def test_state_goes_around() -> None:
    source, target = make(ours), make(ours)
    keys = target.load_state_dict(source.state_dict())
    assert keys.missing_keys == keys.unexpected_keys == []
    for name, value in source.state_dict().items():
        assert ours.equal(value, target.state_dict()[name])
        assert value.data_ptr() != target.state_dict()[name].data_ptr()


def wrong_state(torch: Any) -> None:
    model = make(torch)
    state = model.state_dict()
    del state["first.bias"]
    state["more"] = torch.zeros(1)
    state["block.scale"] = torch.zeros(7)
    model.load_state_dict(state)


ERRORS = {
    "state": wrong_state,
    "no init": lambda torch: type(
        "M", (torch.nn.Module,), {"__init__": lambda s: setattr(s, "x", torch.nn.Linear(1, 1))}
    )(),
    "a module for a parameter": lambda torch: setattr(torch.nn.Linear(1, 1), "weight", torch.nn.Identity()),
    "no forward": lambda torch: torch.nn.Module()(1),
    "name": lambda torch: torch.nn.Module().register_buffer("a.b", None),
    "not a parameter": lambda torch: setattr(torch.nn.Linear(1, 1), "weight", torch.ones(1, 1)),
    "reduction": lambda torch: torch.nn.MSELoss(reduction="average")(torch.ones(1), torch.ones(1)),
    "dropout": lambda torch: torch.nn.Dropout(2),
    "attribute": lambda torch: torch.nn.Linear(1, 1).weights,
    "int module": lambda torch: torch.nn.Linear(1, 1).to(torch.int32),
    "target": lambda torch: torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([0, 3])),
    "batch": lambda torch: torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([0, 1, 2])),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    mine, theirs = raised(ERRORS[name])
    assert isinstance(mine, type(theirs)), repr(mine)
    if name not in (
        "target",
        "batch",
        "no forward",
        "a module for a parameter",
        "not a parameter",
    ):  # worded with more, or with PyTorch's type names
        assert str(mine) == str(theirs)


def test_hooks() -> None:
    def run(torch: Any) -> list[Any]:
        seen: list[Any] = []
        layer = torch.nn.ReLU()
        first = layer.register_forward_pre_hook(lambda m, args: (args[0] - 1,))
        second = layer.register_forward_hook(lambda m, args, out: seen.append(args[0].tolist()) or out * 2)
        result = layer(torch.tensor([0.0, 3.0])).tolist()
        first.remove()
        second.remove()
        return [result, seen, layer(torch.tensor([3.0])).tolist()]

    assert run(ours) == run(pytorch)


def test_what_is_set_again_keeps_its_place() -> None:
    def names(torch: Any) -> list[Any]:
        made = torch.nn.Module()
        made.a, made.b = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
        made.p, made.q = (torch.nn.Parameter(torch.ones(size)) for size in (1, 2))
        made.r, made.s = torch.nn.Buffer(torch.ones(3)), torch.nn.Buffer(torch.ones(4))
        made.a, made.p, made.r = (
            torch.nn.Linear(5, 1),
            torch.nn.Parameter(torch.ones(6)),
            torch.nn.Buffer(torch.ones(7)),
        )
        first = [(name, value.shape) for name, value in made.state_dict().items()]
        made.s = torch.nn.Parameter(torch.ones(8))
        return [
            first,
            [(name, value.shape) for name, value in made.state_dict().items()],
            [n for n, _ in made.named_modules()],
        ]

    assert names(ours) == names(pytorch)
