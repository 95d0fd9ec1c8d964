"""What modules refuse and keep, and how their results lie in memory, beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.both import agree, agree_or_raise


def test_whether_a_buffer_persists_is_what_was_said_last() -> None:
    def case(t: Any) -> Any:
        m = t.nn.Module()
        kept = []
        for persistent in (False, True, False):
            m.register_buffer("b", t.ones(1), persistent=persistent)
            kept.append(len(m.state_dict()))
        m.b = t.nn.Buffer(t.ones(1))
        return [*kept, len(m.state_dict())]

    agree(case)


class Narrow:
    """A class of either library whose `register_buffer` knows no `persistent`."""

    @staticmethod
    def of(t: Any) -> Any:
        def register_buffer(self: Any, name: str, value: Any) -> None:
            t.nn.Module.register_buffer(self, name, value, True)

        return type("Narrow", (t.nn.Module,), {"register_buffer": register_buffer})()


ASSIGNED: dict[str, Callable[[Any], Any]] = {
    "over an attribute": lambda t: (t.nn.Module(), True, 5),
    "over nothing": lambda t: (t.nn.Module(), False, None),
    "by another way": lambda t: (Narrow.of(t), True, None),
    "that does not persist by another way": lambda t: (Narrow.of(t), False, None),
}


@pytest.mark.parametrize("name", ASSIGNED)
def test_buffers_that_are_assigned(name: str) -> None:
    def case(t: Any) -> Any:
        m, persistent, before = ASSIGNED[name](t)
        if before is not None:
            m.b = before
        m.b = t.nn.Buffer(t.ones(1), persistent=persistent)
        return len(m.state_dict()), [key for key, _ in m.named_buffers()]

    agree_or_raise(case)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "a copy": lambda t: t.nn.Linear(1, 1).to("cpu", copy=True),
    "cells of another input": lambda t: t.nn.RNNCell(3, 4)(t.ones(2, 5)),
    "cells of another state": lambda t: t.nn.GRUCell(3, 4)(t.ones(2, 3), t.ones(2, 5)),
    "cells of another batch": lambda t: t.nn.RNNCell(3, 4)(t.ones(2, 3), t.ones(1, 4)),
    "cells of another memory": lambda t: t.nn.LSTMCell(3, 4)(t.ones(2, 3), (t.ones(2, 4), t.ones(1, 4))),
    "a step of another batch": lambda t: t.gru_cell(t.ones(2, 3), t.ones(1, 4), t.ones(12, 3), t.ones(12, 4)),
    "gradients of running statistics": lambda t: t.nn.functional.batch_norm(
        t.ones(2, 3), t.zeros(3, requires_grad=True), t.ones(3)
    ),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_what_is_refused(call: Callable[[Any], Any]) -> None:
    agree_or_raise(call)


def test_names_that_are_no_attributes() -> None:
    agree(lambda t: "0" in dir(t.nn.Sequential(t.nn.ReLU())))


LAYOUTS: dict[str, Callable[[Any, Any], Any]] = {
    "bilinear": lambda f, x: f.interpolate(x, scale_factor=2, mode="bilinear"),
    "bilinear, filtered": lambda f, x: f.interpolate(x, scale_factor=2, mode="bilinear", antialias=True),
    "bicubic, filtered": lambda f, x: f.interpolate(x, scale_factor=2, mode="bicubic", antialias=True),
    "padding": lambda f, x: f.pad(x, (1, 1)),
    "reflection": lambda f, x: f.pad(x, (1, 1, 1, 1), "reflect"),
    "replication": lambda f, x: f.pad(x, (1, 1, 1, 1), "replicate"),
    "pixel_shuffle": lambda f, x: f.pixel_shuffle(x, 2),
    "max_pool2d": lambda f, x: f.max_pool2d(x, 2),
}


@pytest.mark.parametrize("call", LAYOUTS.values(), ids=LAYOUTS)
def test_channels_that_lie_last_stay_there(call: Callable[[Any, Any], Any]) -> None:
    """Of results, and of a leaf's gradient, which lies as the leaf does however it was computed."""

    def case(t: Any) -> Any:
        x = t.arange(400.0).view(2, 8, 5, 5).contiguous(memory_format=t.channels_last).requires_grad_()
        y = call(t.nn.functional, x)
        y.sum().backward()
        return [(part.stride(), part.is_contiguous(memory_format=t.channels_last)) for part in (y, x.grad)]

    agree(case)


@pytest.mark.parametrize("turned", [False, True])
def test_a_gradient_lies_as_its_leaf_does(turned: bool) -> None:
    def case(t: Any) -> Any:
        x = t.ones(2, 3).t() if turned else t.ones(3, 2)
        x.requires_grad_()
        (x.t() * t.arange(6.0).view(2, 3)).sum().backward()
        return x.grad, x.grad.stride()

    agree(case)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions_of_no_images(dims: int, groups: int) -> None:
    def case(t: Any) -> Any:
        x = t.ones((0, 4) + (5,) * dims, requires_grad=True)
        weight = t.ones((4, 4 // groups) + (3,) * dims, requires_grad=True)
        y = getattr(t.nn.functional, f"conv{dims}d")(x, weight, t.ones(4), groups=groups)
        y.sum().backward()
        return y, x.grad, weight.grad

    agree(case)


def test_gradients_of_normalised_batches_in_batches() -> None:
    def case(t: Any) -> Any:
        x = t.arange(12.0, dtype=t.float64).view(1, 4, 3).requires_grad_()
        return t.autograd.gradgradcheck(lambda x: t.nn.functional.layer_norm(x, (4, 3)), (x,), check_batched_grad=True)

    agree(case)


LISTS: dict[str, Callable[[Any], Any]] = {
    "parameters": lambda t: t.nn.ParameterList([t.nn.Parameter(t.ones(2)), t.ones(3), "text"]),
    "one": lambda t: t.nn.ParameterList([t.nn.Parameter(t.ones(1, device="meta"))]),
    "by name": lambda t: t.nn.ParameterDict({"a": t.nn.Parameter(t.ones(2)), "b": None}),
}


@pytest.mark.parametrize("make", LISTS.values(), ids=LISTS)
def test_how_lists_of_parameters_are_shown(make: Callable[[Any], Any]) -> None:
    agree(lambda t: repr(make(t)))


def test_a_parameter_in_place_of_a_buffer_persists() -> None:
    def case(t: Any) -> Any:
        m = t.nn.Module()
        m.register_buffer("b", t.ones(1), persistent=False)
        m.b = t.nn.Parameter(t.ones(1))
        return list(m.state_dict())

    agree(case)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["mish", "hardswish", "softplus", "elu"])
def test_half_precision_is_rounded_once(name: str, dtype: str) -> None:
    """What is computed of half precision is what is computed of single precision, but for its last digit."""
    torch = pytest.importorskip("mindtorch_v2")
    found = []
    for kind in (getattr(torch, dtype), torch.float32):
        x = torch.linspace(-6, 6, 301).to(getattr(torch, dtype)).to(kind).requires_grad_()
        y = getattr(torch.nn.functional, name)(x)
        y.sum().backward()
        found.append([part.detach().float() for part in (y, x.grad)])
    for half, single in zip(*found, strict=True):
        assert torch.allclose(half, single, rtol=8e-3 if dtype == "bfloat16" else 1e-3, atol=1e-6)


class Counting(dict[str, Any]):
    """A program's own registry, which is asked in its own way."""

    def __getitem__(self, name: str) -> Any:
        return [super().__getitem__(name)]


FOUND: dict[str, Callable[[Any, Any], Any]] = {
    "by a name of another class": lambda t, m: getattr(m, type("Name", (str,), {})("weight")) is m.weight,
    "by the class": lambda t, m: t.nn.Module.__getattr__(m, "weight") is m.weight,
    "none": lambda t, m: m.wait,
    "before there are registries": lambda t, m: t.nn.Linear.__new__(t.nn.Linear).weight,
    "none that is a parameter": lambda t, m: t.nn.Linear(1, 1, bias=False).bias,
    "an attribute of the class first": lambda t, m: type("Own", (t.nn.Linear,), {"weight": 3})(1, 1).weight,
}


@pytest.mark.parametrize("name", FOUND)
def test_registered_attributes(name: str) -> None:
    agree_or_raise(lambda t: FOUND[name](t, t.nn.Linear(2, 2)))


def test_a_registry_of_a_program() -> None:
    def case(t: Any) -> Any:
        m = t.nn.Module()
        m.__dict__["_modules"] = Counting(part=t.nn.Identity())
        return str(m.part)

    agree(case)


def test_a_class_asks_further_for_attributes() -> None:
    def case(t: Any) -> Any:
        def ask(self: Any, name: str) -> Any:
            try:
                return t.nn.Module.__getattr__(self, name)
            except AttributeError:
                if name != "size":
                    raise
                return "large"

        wrapped = type("Wrapped", (t.nn.Linear,), {"__getattr__": ask})(1, 2)
        return tuple(wrapped.weight.shape), wrapped.size

    agree(case)
