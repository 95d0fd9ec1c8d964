"""Memory formats: what is made, copied, converted and computed has PyTorch's strides."""

from __future__ import annotations

import copy
import importlib
import pickle
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

import mindtorch_v2

FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
SOURCES: dict[str, Callable[[Any], Any]] = {
    "rows": lambda t: t.arange(120.0).view(2, 3, 4, 5),
    "channels last": lambda t: t.arange(120.0).view(2, 3, 4, 5).to(memory_format=t.channels_last),
    "volumes": lambda t: t.arange(720.0).view(2, 3, 4, 5, 6),
    "volumes with channels last": lambda t: (
        t.arange(720.0).view(2, 3, 4, 5, 6).contiguous(memory_format=t.channels_last_3d)
    ),
    "permuted": lambda t: t.arange(120.0).view(2, 3, 4, 5).permute(3, 1, 0, 2),
    "expanded": lambda t: t.arange(3.0).view(3, 1).expand(3, 4),
    "with gaps": lambda t: t.arange(64.0).view(8, 8)[::2, ::2],
    "transposed": lambda t: t.arange(12.0).view(3, 4).t(),
    "one channel": lambda t: t.arange(40.0).view(2, 1, 4, 5).to(memory_format=t.channels_last),
}
MAKERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "is_contiguous": lambda t, x, f: x.is_contiguous(memory_format=f),
    "contiguous": lambda t, x, f: x.contiguous(memory_format=f),
    "clone": lambda t, x, f: x.clone(memory_format=f),
    "to": lambda t, x, f: x.to(memory_format=f),
    "to a dtype": lambda t, x, f: x.to(t.float64, memory_format=f),
    "a copy": lambda t, x, f: x.to("cpu", copy=True, memory_format=f),
    "double": lambda t, x, f: x.double(memory_format=f),
    "empty": lambda t, x, f: t.empty(x.shape, memory_format=f),
    "empty_like": lambda t, x, f: t.empty_like(x, memory_format=f),
    "full_like": lambda t, x, f: t.full_like(x, 2, memory_format=f),
    "rand_like": lambda t, x, f: t.rand_like(x, memory_format=f),
    "resize_": lambda t, x, f: t.empty(0).resize_(x.shape, memory_format=f),
    "resize_as_": lambda t, x, f: t.empty(0).resize_as_(x, memory_format=f),
}
COMPUTED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "neg": lambda t, f, x: -x,
    "with a number": lambda t, f, x: x * 2 + 1,
    "with rows": lambda t, f, x: x + t.ones(x.shape),
    "rows with it": lambda t, f, x: t.ones(x.shape) * x,
    "a row": lambda t, f, x: x + t.ones(x.shape[-1]),
    "compared": lambda t, f, x: x > 1,
    "where": lambda t, f, x: t.where(x > 1, x, 0.0),
    "gelu": lambda t, f, x: f.gelu(x),
    "viewed back": lambda t, f, x: (x.transpose(0, 1) * 2).transpose(0, 1).contiguous().view(-1),
    "kept by a copy": lambda t, f, x: copy.deepcopy(x),
    "in an order": lambda t, f, x: x.dim_order(),
}
OF_IMAGES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "conv2d": lambda t, f, x: f.conv2d(x, t.ones(4, 3, 2, 2), t.ones(4)),
    "weight": lambda t, f, x: f.conv2d(x, t.ones(4, 3, 2, 2).to(memory_format=t.channels_last)),
    "max_pool2d": lambda t, f, x: f.max_pool2d(x, 2, return_indices=True),
    "avg_pool2d": lambda t, f, x: f.avg_pool2d(x, 2),
    "adaptive": lambda t, f, x: f.adaptive_avg_pool2d(x, 2),
    "batch_norm": lambda t, f, x: f.batch_norm(x, t.zeros(3), t.ones(3), training=True),
    "group_norm": lambda t, f, x: f.group_norm(x, 3),
    "interpolate": lambda t, f, x: f.interpolate(x, scale_factor=2),
    "flatten": lambda t, f, x: x.flatten(1),
}


def laid_out(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return [laid_out(part) for part in result]
    return (tuple(result.shape), result.stride()) if hasattr(result, "stride") else result


def outcome(t: Any, call: Callable[..., Any], *args: Any) -> Any:
    try:
        return laid_out(call(t, *args))
    except RuntimeError:
        return "refused"


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_made_is_in_the_format(source: str) -> None:
    for name, call in MAKERS.items():
        for wanted in FORMATS:
            found, expected = (outcome(t, call, SOURCES[source](t), getattr(t, wanted)) for t in (mindtorch_v2, torch))
            assert found == expected, (name, wanted)


@pytest.mark.parametrize("source", [name for name in SOURCES if name != "one channel"])
def test_what_is_computed_keeps_the_layout(source: str) -> None:
    cases = {**COMPUTED, **(OF_IMAGES if source in ("rows", "channels last") else {})}
    for name, call in cases.items():
        found, expected = (
            outcome(t, call, importlib.import_module(f"{t.__name__}.nn.functional"), SOURCES[source](t))
            for t in (mindtorch_v2, torch)
        )
        assert found == expected, name


def test_values_are_the_same_in_every_layout() -> None:
    x = mindtorch_v2.arange(120.0).view(2, 3, 4, 5)
    last = x.to(memory_format=mindtorch_v2.channels_last).requires_grad_()
    for call in (
        lambda x: (x * 2 + x.flip(0)).sin().exp(),
        lambda x: mindtorch_v2.nn.functional.max_pool2d(x.sin(), 2),
    ):
        assert mindtorch_v2.equal(call(last), call(x))
    (last * last).sum().backward()
    assert mindtorch_v2.equal(last.grad, 2 * x)


def test_modules_take_formats() -> None:
    layer = mindtorch_v2.nn.Conv2d(3, 4, 2).to(memory_format=mindtorch_v2.channels_last)
    assert layer.weight.is_contiguous(memory_format=mindtorch_v2.channels_last)
    assert not layer.weight.is_contiguous()


def test_formats_are_words_that_are_one() -> None:
    for name in FORMATS:
        word = getattr(mindtorch_v2, name)
        assert str(word) == repr(word) == f"{word}" == f"torch.{name}"
        assert pickle.loads(pickle.dumps(word)) is word
        assert copy.deepcopy(word) is word
    with pytest.raises(TypeError):
        mindtorch_v2.ones(2).is_contiguous(memory_format=3)
    with pytest.raises(RuntimeError, match="rank 4"):
        mindtorch_v2.ones(2).contiguous(memory_format=mindtorch_v2.channels_last)


@pytest.mark.parametrize("name", [*FORMATS, "strided"])
def test_what_names_a_format_or_a_layout_is_no_string(name: str) -> None:
    one = getattr(mindtorch_v2, name)
    assert not isinstance(one, str)
    assert str(one) == repr(one) == str(getattr(torch, name)) == f"{one}"
    assert copy.deepcopy(one) is pickle.loads(pickle.dumps(one)) is one
    assert one == getattr(mindtorch_v2, name)
    assert one != mindtorch_v2.sparse_coo
    assert {one: 1}[one] == 1


@pytest.mark.parametrize("strides", [(6, 1, 2, 1), (6, 1, 2, 2), (6, 3, 1, 1), (6, 1, 2, 9)])
@pytest.mark.parametrize("training", [True, False])
def test_a_size_of_1_may_have_any_stride_where_batches_are_normalised(strides: tuple[int, ...], training: bool) -> None:
    found = []
    for t in (torch, mindtorch_v2):
        x = t.arange(60.0).as_strided((1, 2, 3, 1), strides)
        result = t.nn.functional.batch_norm(x, t.zeros(2), t.ones(2), training=training)
        found.append((result.stride(), [round(one, 5) for one in result.flatten().tolist()]))
    assert found[0] == found[1]


@pytest.mark.parametrize("training", [True, False])
def test_an_empty_batch_may_be_of_another_dtype_than_parameters(training: bool) -> None:
    for t in (torch, mindtorch_v2):
        module = t.nn.BatchNorm2d(3).train(training)
        result = module(t.randn(0, 3, 2, 2, dtype=t.float64))
        assert (result.dtype, result.shape) == (t.float64, (0, 3, 2, 2))
