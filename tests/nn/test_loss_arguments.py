"""Losses by every way to say how they are reduced, and what they refuse: the same code under both libraries."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytorch = pytest.importorskip("torch")

import mindtorch_v2 as ours  # noqa: E402
from tests.ops.both import agree, raised  # noqa: E402
from tests.runtime.both import agree as agree_quietly  # noqa: E402
from tests.runtime.both import fresh_namespace  # noqa: E402

rng = np.random.default_rng(5)
X, Y = rng.standard_normal((2, 3, 4)).astype("f4")
CLASSES = np.array([0, 3, 1])

POSITIONAL = {
    "mse reduction": lambda f, x, y, t: f.mse_loss(x, y, None, None, "sum"),
    "mse weight": lambda f, x, y, t: f.mse_loss(x, y, None, None, "mean", y.abs()),
    "l1 reduction": lambda f, x, y, t: f.l1_loss(x, y, None, None, "none"),
    "l1 weight": lambda f, x, y, t: [f.l1_loss(x, y, weight=y.abs(), reduction=r) for r in ("none", "sum", "mean")],
    "nll": lambda f, x, y, t: f.nll_loss(x, t, None, None, 3, None, "sum"),
    "cross entropy": lambda f, x, y, t: f.cross_entropy(x, t, None, None, 3, None, "sum", 0.2),
}


@pytest.mark.parametrize("name", POSITIONAL)
def test_positional_arguments(name: str) -> None:
    case = POSITIONAL[name]
    agree(lambda torch, x, y, t: case(torch.nn.functional, x, y, t), {"x": X, "y": Y, "t": CLASSES})


MODULES = {
    "mse": lambda nn, x, y, t: nn.MSELoss(None, None, "sum")(x, y),
    "l1": lambda nn, x, y, t: nn.L1Loss(None, None, "none")(x, y),
    "nll": lambda nn, x, y, t: nn.NLLLoss(None, None, 3, None, "sum")(x, t),
    "cross entropy": lambda nn, x, y, t: nn.CrossEntropyLoss(None, None, 3, None, "sum", 0.2)(x, t),
}


@pytest.mark.parametrize("name", MODULES)
def test_positional_arguments_of_modules(name: str) -> None:
    agree(lambda torch, x, y, t: MODULES[name](torch.nn, x, y, t), {"x": X, "y": Y, "t": CLASSES})


@pytest.mark.parametrize("size_average", [None, True, False, "sum"])
@pytest.mark.parametrize("reduce", [None, True, False])
def test_deprecated_arguments(size_average: Any, reduce: Any) -> None:
    texts = []

    def losses(torch: Any, x: Any, y: Any, t: Any) -> list[Any]:
        f = torch.nn.functional
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = [
                f.mse_loss(x, y, size_average, reduce),
                f.l1_loss(x, y, size_average, reduce),
                f.nll_loss(x, t, None, size_average, -100, reduce),
                f.cross_entropy(x, t, size_average=size_average, reduce=reduce),
                torch.nn.MSELoss(size_average, reduce)(x, y),
            ]
        texts.append([(w.category, str(w.message)) for w in caught])
        return result

    agree(losses, {"x": X, "y": Y, "t": CLASSES})
    theirs, mine = texts
    assert mine == theirs
    assert len(mine) == (0 if size_average is None and reduce is None else 5)


def test_the_warning_points_at_the_caller() -> None:
    x, nn = ours.ones(2), ours.nn
    calls: list[Callable[[], Any]] = [
        lambda: nn.functional.cross_entropy(x, x, size_average=False),
        lambda: nn.functional.mse_loss(x, x, size_average=False),
        lambda: nn.MSELoss(size_average=False),
    ]
    for call in calls:
        with pytest.warns(UserWarning, match="please use reduction='sum' instead") as caught:
            call()
        assert [w.filename for w in caught] == [__file__]


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss"])
def test_sizes_that_differ_are_broadcast_and_warned_of(name: str) -> None:
    def loss(torch: Any, x: Any, y: Any) -> Any:
        with pytest.warns(UserWarning, match="Using a target size"):
            return getattr(torch.nn.functional, name)(x, y[0])

    agree(loss, {"x": X, "y": Y})


EDGES = {
    "one class index for one row": lambda torch, f, x: f.nll_loss(x[0], torch.tensor([1]), reduction="none"),
    "no rows": lambda torch, f, x: f.cross_entropy(x[:0], x[:0]),
    "no classes": lambda torch, f, x: [f.cross_entropy(x[:, :0], x[:, :0], reduction=r) for r in ("none", "sum")],
    "no classes, the mean": lambda torch, f, x: f.cross_entropy(x[:, :0], x[:, :0], label_smoothing=0.1),
    "no pixels": lambda torch, f, x: f.nll_loss(x.reshape(3, 2, 2)[..., :0], torch.zeros(3, 0, dtype=torch.int64)),
    "smoothing below 0 is none": lambda torch, f, x: f.cross_entropy(x, torch.tensor([0, 1, 2]), label_smoothing=-1.0),
    "one shape is probabilities": lambda torch, f, x: f.cross_entropy(x[0], x[0]),
    "the old name of the mean": lambda torch, f, x: f.mse_loss(x, x + 1, reduction="elementwise_mean"),
}


@pytest.mark.filterwarnings("ignore:reduction='elementwise_mean'")
@pytest.mark.parametrize("name", EDGES)
def test_edges(name: str) -> None:
    # PyTorch's backward refuses the shapes that its forward takes of one row.
    agree(lambda torch, x: EDGES[name](torch, torch.nn.functional, x), {"x": X}, grad="one row" not in name)


REFUSED = {
    "sizes": lambda torch, f, x: f.mse_loss(x, x[:2, :3], reduction="no"),
    "integers": lambda torch, f, x: f.mse_loss(x.long(), x.long()),
    "a reduction that is a number": lambda torch, f, x: f.mse_loss(x, x, reduction=2),
    "a reduction before types": lambda torch, f, x: f.nll_loss(x, 0, reduction="no"),
    "types before shapes": lambda torch, f, x: f.nll_loss(x[0, 0], 0),
    "no target": lambda torch, f, x: f.cross_entropy(x, None),
    "a weight that is a number": lambda torch, f, x: f.cross_entropy(x, torch.tensor([0, 1, 2]), -100),
    "an ignored index that is a float": lambda torch, f, x: f.nll_loss(x, torch.tensor([0, 1, 2]), None, None, 1.5),
    "weights of another size": lambda torch, f, x: f.l1_loss(x, x, weight=x[0]),
    "a reduction beside weights": lambda torch, f, x: f.l1_loss(x, x, weight=x, reduction="no"),
    "batch sizes": lambda torch, f, x: f.cross_entropy(x, torch.tensor([0, 1])),
    "no batch of no rows": lambda torch, f, x: f.nll_loss(x[:0], torch.tensor(1)),
    "no batch": lambda torch, f, x: f.nll_loss(x, torch.tensor(1)),
    "float targets of one class each": lambda torch, f, x: f.cross_entropy(x, x[:, 0]),
    "float targets first": lambda torch, f, x: f.nll_loss(x[0], x[0]),
    "integers as probabilities": lambda torch, f, x: f.cross_entropy(x, x.long()),
    "an index ignored among probabilities": lambda torch, f, x: f.cross_entropy(x, x, ignore_index=2),
    "class weights for probabilities": lambda torch, f, x: f.cross_entropy(x, x, torch.ones(3)),
    "too much smoothing": lambda torch, f, x: f.cross_entropy(x, x, label_smoothing=1.5),
    "two classes for one row": lambda torch, f, x: f.nll_loss(x[0], torch.tensor([1, 2])),
    "a matrix for one row": lambda torch, f, x: f.nll_loss(x[0], torch.tensor([[1, 2]])),
    "sizes of images": lambda torch, f, x: f.nll_loss(x.reshape(1, 4, 3), torch.zeros(1, 1, 3, dtype=torch.int64)),
    "a number without dimensions": lambda torch, f, x: f.cross_entropy(x[0, 0], torch.tensor([1])),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_errors_are_of_pytorchs_class(name: str) -> None:
    mine, theirs = raised(lambda torch: REFUSED[name](torch, torch.nn.functional, torch.ones(3, 4)))
    assert isinstance(mine, type(theirs)), f"{mine!r} for {theirs!r}"


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss"])
def test_what_is_no_tensor_is_named(name: str) -> None:
    with pytest.raises(TypeError, match=rf"{name}\(\): argument 'target' \(position 2\) must be Tensor, not int"):
        getattr(ours.nn.functional, name)(ours.ones(1), 1)


def test_shapes_are_refused_on_meta_too() -> None:
    scores, classes = ours.ones(3, device="meta"), ours.ones(2, dtype=ours.int64, device="meta")
    with pytest.raises(ValueError, match="1D target must have size 1"):
        ours.nn.functional.nll_loss(scores, classes)


CONSTANTS = {
    "weight": lambda t, a, y, w: t.ops.aten.nll_loss(a, y, w, 1, -100),
    "weight alone": lambda t, a, y, w: t.ops.aten.nll_loss_forward(a.detach(), y, w, 0, -100),
    "weight of backward": lambda t, a, y, w: t.ops.aten.nll_loss_backward(t.ones(()), a, y, w, 1, -100, t.ones(())),
    "total_weight": lambda t, a, y, w: t.ops.aten.nll_loss_backward(t.ones(()), a, y, None, 1, -100, w.sum()),
    "weight of nll_loss": lambda t, a, y, w: t.nn.functional.nll_loss(a, y, w),
    "weight of cross_entropy": lambda t, a, y, w: t.nn.functional.cross_entropy(a, y, w),
    "weight under grad": lambda t, a, y, w: t.func.grad(lambda w: t.nn.functional.nll_loss(a, y, w))(w.detach()),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_class_weights_have_no_gradient(name: str) -> None:
    def call(t: Any) -> Any:
        return CONSTANTS[name](t, t.ones(2, 3, requires_grad=True), t.tensor([0, 1]), t.ones(3, requires_grad=True))

    mine, theirs = raised(call)
    assert isinstance(mine, type(theirs))
    assert str(theirs).removesuffix(".") in str(mine)
    if "grad" not in name:
        for torch in (ours, pytorch):
            with torch.no_grad():
                call(torch)


def test_class_weights_inside_a_kernel() -> None:
    """There nothing is recorded, so that they may require gradients."""

    def case(t: Any, x: Any, y: Any) -> Any:
        namespace = fresh_namespace()
        t.library.define(f"{namespace}::loss", "(Tensor x, Tensor y, Tensor w) -> Tensor")
        t.library.impl(f"{namespace}::loss", "cpu", t.nn.functional.nll_loss)
        t.library.register_autograd(f"{namespace}::loss", lambda ctx, grad: (grad, None, None))
        return getattr(t.ops, namespace).loss(x, y, t.ones(4, requires_grad=True)).detach()

    agree(case, {"x": X, "y": CLASSES}, grad=False)


def test_gradients_of_nll_loss_and_its_gradient() -> None:
    def case(t: Any, x: Any, y: Any) -> Any:
        loss = t.nn.functional.nll_loss(x * x, y, t.arange(4.0))
        (first,) = t.autograd.grad(loss, x, create_graph=True)
        return [loss, (first * first).sum()]

    agree(case, {"x": X, "y": CLASSES}, grad=True)


def test_the_tangent_of_class_weights_is_zero() -> None:
    def case(t: Any) -> Any:
        x, y = t.tensor([[1.0, 2.0], [3.0, 5.0]]), t.tensor([0, 1])
        return t.func.jvp(lambda w: t.nn.functional.nll_loss(x, y, w), (t.ones(2),), (t.ones(2),))

    agree_quietly(case)
