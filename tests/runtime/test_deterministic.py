"""Programs that ask for the same results in every run: what new memory holds, as in PyTorch; generators left alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch as pytorch

import mindtorch_v2 as ours

BOTH = pytest.mark.parametrize("torch", [ours, pytorch], ids=["ours", "pytorch"])
DTYPES = (
    *("float32", "float64", "bfloat16", "float16", "complex64"),
    *("int8", "int64", "uint8", "uint16", "uint64", "bool"),
)


@pytest.fixture(params=[ours, pytorch], ids=["ours", "pytorch"])
def torch(request: pytest.FixtureRequest) -> Iterator[Any]:
    request.param.use_deterministic_algorithms(True)
    yield request.param
    request.param.use_deterministic_algorithms(False)
    request.param.utils.deterministic.fill_uninitialized_memory = True


def made(torch: Any, dtype: Any) -> list[Any]:
    """Tensors without values, made in every way."""
    like = torch.zeros(2, 3, dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        into = torch.empty(2, 3, out=torch.zeros(1, dtype=dtype), dtype=dtype)
    return [
        into,
        torch.empty(2, 3, dtype=dtype),
        torch.empty_like(like),
        torch.empty_like(like, memory_format=torch.contiguous_format),
        torch.empty_strided((2, 3), (1, 4), dtype=dtype),
        torch.empty_permuted((2, 3), (1, 0), dtype=dtype),
        like.new_empty(2, 3),
        like.new_empty_strided((2, 3), (1, 4)),
    ]


@pytest.mark.parametrize("name", DTYPES)
def test_new_memory_is_filled(torch: Any, name: str) -> None:
    dtype = getattr(torch, name)
    for new in made(torch, dtype):
        if dtype.is_floating_point or dtype.is_complex:
            assert new.isnan().all()
        else:
            assert set(new.flatten().tolist()) == {True if name == "bool" else torch.iinfo(dtype).max}


@pytest.mark.parametrize("name", ["float32", "int16", "bool"])
def test_what_grows_is_filled_behind_what_was_there(torch: Any, name: str) -> None:
    base = torch.zeros(2, 3, dtype=getattr(torch, name))
    grown = [
        base.clone().resize_(4, 2),
        base.clone()[1].resize_(5),
        base.clone().t().resize_(3, 3),
        base.clone().resize_as_(torch.zeros(7)),
    ]
    last = {"float32": "nan", "int16": 32767, "bool": True}[name]
    for tensor, new in zip(grown, (2, 2, 3, 1), strict=True):
        values = [last if value != value else value for value in tensor.flatten().tolist()]
        assert values == [0] * (tensor.numel() - new) + [last] * new
    assert base.resize_(2).tolist() == [0, 0]


def test_the_setting(torch: Any) -> None:
    setting = torch.utils.deterministic
    assert setting.fill_uninitialized_memory is True
    assert torch._C._get_deterministic_fill_uninitialized_memory() is True
    torch._C._set_deterministic_fill_uninitialized_memory(False)
    assert setting.fill_uninitialized_memory is False
    with pytest.raises(RuntimeError, match="expected a bool, but got int"):
        setting.fill_uninitialized_memory = 1
    with pytest.raises(TypeError, match=r"argument 'mode' .*must be bool, not int"):
        torch.use_deterministic_algorithms(1)
    with pytest.raises(TypeError, match="argument 'warn_only' must be bool, not int"):
        torch.use_deterministic_algorithms(True, warn_only=1)


def test_on_other_devices() -> None:
    ours.use_deterministic_algorithms(True)
    try:
        assert ours.empty(3, device="npu").isnan().all()
        assert ours.empty(3, device="npu", dtype=ours.int32).cpu().tolist() == [2**31 - 1] * 3
        assert ours.zeros(1, device="npu").resize_(2).isnan().tolist() == [False, True]
        assert ours.empty(3, device="meta").resize_(4).shape == (4,)
    finally:
        ours.use_deterministic_algorithms(False)


@BOTH
def test_the_generator_stays_as_it_is(torch: Any) -> None:
    from importlib import import_module

    tools = import_module(f"{torch.__name__}.testing._utils")
    torch.manual_seed(3)
    expected = torch.rand(4).tolist()
    torch.manual_seed(3)
    seeded = tools.wrapper_set_seed(torch.rand, 4)
    with tools.freeze_rng_state():
        torch.rand(7)
    assert torch.rand(4).tolist() == expected
    torch.manual_seed(42)
    assert seeded.tolist() == torch.rand(4).tolist()


ALERTS = [
    lambda t: t.zeros(3).put_(t.tensor([0, 0]), t.tensor([1.0, 2.0])),
    lambda t: t.zeros(3).put(t.tensor([0, 0]), t.tensor([1.0, 2.0])),
    lambda t: t.nn.MaxUnpool1d(3, 1)(t.ones(1, 1, 7), t.zeros(1, 1, 7, dtype=t.int64)),
    lambda t: t.nn.MaxUnpool2d(3, 1)(t.ones(1, 1, 7, 7), t.zeros(1, 1, 7, 7, dtype=t.int64)),
    lambda t: t.nn.MaxUnpool3d(3, 1)(t.ones(1, 1, 7, 7, 7), t.zeros(1, 1, 7, 7, 7, dtype=t.int64)),
]


@pytest.mark.parametrize("call", ALERTS)
def test_what_pytorch_has_no_deterministic_implementation_of(torch, call):
    said = "(put_|max_unpooling.d_forward_out) does not have a deterministic implementation"
    with pytest.raises(RuntimeError, match=said):
        call(torch)
    torch.use_deterministic_algorithms(True, warn_only=True)
    with pytest.warns(UserWarning, match=said):
        call(torch)
    torch.use_deterministic_algorithms(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(torch)


def test_additions_are_no_such_thing(torch):
    assert torch.zeros(3).put_(torch.tensor([0, 0]), torch.tensor([1.0, 2.0]), accumulate=True).tolist() == [3, 0, 0]


def test_warn_only_is_remembered(torch):
    seen = []
    for mode, warn_only in ((True, True), (False, True), (True, False), (False, False)):
        torch.use_deterministic_algorithms(mode, warn_only=warn_only)
        flags = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
        assert flags == (mode, warn_only)
        seen.append(torch.get_deterministic_debug_mode())
    assert seen == [1, 0, 2, 0]
    torch.set_deterministic_debug_mode(1)
    assert torch.is_deterministic_algorithms_warn_only_enabled()
    torch.set_deterministic_debug_mode(0)
    assert not torch.is_deterministic_algorithms_warn_only_enabled()
