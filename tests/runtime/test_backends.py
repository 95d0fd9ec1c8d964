"""The table of device types: what the runtime has, and what is added from outside."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import backends
from mindtorch_v2.backends import Backend, all_backends, backend_of

FROM_OUTSIDE = """
import ctypes
import mindtorch_v2 as torch
from mindtorch_v2 import npu
from mindtorch_v2.backends import Backend, Copies, Memory, _copies, register

blocks = {}

def allocate(nbytes, index):
    block = ctypes.create_string_buffer(nbytes)
    blocks[ctypes.addressof(block)] = block
    return ctypes.addressof(block)

def free(address, nbytes, index):
    assert len(blocks.pop(address)) == nbytes

def move(destination, source, nbytes):
    ctypes.memmove(destination.data_ptr(), source.data_ptr(), nbytes)

register(Backend("tile", key="PrivateUse2", memory=Memory(allocate, free), autocast=("bfloat16",),
                 copies=lambda: Copies(move, move, move)))

there = npu.alloc((2, 3), torch.float32, "tile:1")
assert len(blocks) == 1 and str(there.device) == "tile:1"
assert torch._C._dispatch_key_set(there) == (
    "DispatchKeySet(PrivateUse2, ADInplaceOrView, AutogradPrivateUse2, AutocastPrivateUse2)")
_copies.copy_(there, torch.arange(3))                       # converted and broadcast on the way
back = _copies.copy_(torch.empty(3, 2), torch._core.as_strided(there, (3, 2), (1, 3)))
assert back.tolist() == [[0, 0], [1, 1], [2, 2]]

@torch.library.custom_op("outside::doubled", mutates_args=(), device_types="tile")
def doubled(x: torch.Tensor) -> torch.Tensor:
    out = npu.alloc_like(x)
    _copies.copy_(out, _copies.to_cpu(x) * 2)
    return out

assert _copies.to_cpu(doubled(there)).tolist() == [[0, 2, 4]] * 2
with torch.autocast("tile"):
    assert torch.is_autocast_enabled("tile") and torch.get_autocast_dtype("tile") is torch.bfloat16
assert torch.Generator("tile").device.type == "tile"
try:
    torch.device("tle")
except RuntimeError as error:
    assert "Expected one of cpu, cuda, mps, npu, tile, meta device type" in str(error)
try:
    torch.zeros(2, device="cuda")
except AssertionError as error:
    print(error)
del there
assert not blocks
"""


def test_a_device_type_from_outside() -> None:
    done = subprocess.run([sys.executable, "-c", FROM_OUTSIDE], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Torch not compiled with CUDA enabled" in done.stdout


def test_every_device_type_stands_once_and_its_keys_follow() -> None:
    names = [backend.name for backend in all_backends()]
    assert names == ["cpu", "cuda", "mps", "npu", "meta"]
    for name in names:
        backend = backend_of(name)
        assert torch.device(name).type == backend.name
        assert backend_of(torch.device(name)) is backend
        assert torch._C._dispatch_key_for_device(name) == backend.key
        shown = torch._C._dispatch_key_parse(backend.autograd_key)
        assert torch._C._dispatch_get_backend_keyset_from_autograd(shown).has(backend.key)


def test_what_a_device_type_has_not() -> None:
    for backend in all_backends():
        assert torch.amp.is_autocast_available(backend.name) is bool(backend.autocast)
        assert (backend.autocast_key is None) is not bool(backend.autocast)
    with pytest.raises(RuntimeError, match="no random numbers on meta"):
        torch.Generator("meta")
    with pytest.raises(RuntimeError, match="no memory can be allocated on mps:0"):
        torch._core.alloc((2,), torch.float32, "mps")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "npu", "key": "PrivateUse2"}, "'npu' has the key NPU"),
        ({"name": "tile", "key": "CPU"}, "'cpu' has the key CPU.*PrivateUse3 are for devices from outside"),
        ({"name": "tile", "key": "PrivateUse9"}, "'PrivateUse9': expected one of CPU, .*PrivateUse3, Meta"),
        ({"name": "tile", "key": "Autograd"}, "'Autograd': expected one of CPU"),
        ({"name": "tile:0", "key": "PrivateUse2"}, "no name for a device type"),
        ({"name": "", "key": "PrivateUse2"}, "no name for a device type"),
        ({"autocast": ("float99",)}, "lowers to floating-point dtypes by their names, not to 'float99'"),
        ({"autocast": ("int8",)}, "lowers to floating-point dtypes by their names, not to 'int8'"),
        ({"fallback": "npu"}, "can fall back to 'cpu', not to 'npu'"),
        ({"generator": "other"}, r"random numbers are its own \('.*'\) or those of 'cpu', not of 'other'"),
    ],
)
def test_what_cannot_be_added(change: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        backends.register(replace(Backend("tile", key="PrivateUse2"), **change))
    assert len(all_backends()) == 5


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("name", 3, "str, not int"),
        ("key", None, "str, not NoneType"),
        ("memory", len, "Memory or None, not builtin_function_or_method"),
        ("copies", backends.Copies(len, len, len), "Callable or None, not Copies"),
        ("autocast", "bfloat16", "tuple, not str"),
        ("indexed", 1, "bool, not int"),
    ],
)
def test_fields_of_another_type(field: str, value: Any, expected: str) -> None:
    with pytest.raises(TypeError, match=f"'{field}' must be {expected}"):
        replace(Backend("tile", key="PrivateUse2"), **{field: value})


@pytest.mark.parametrize("address", [0, None, "12"])
def test_an_allocator_that_gives_no_address(address: Any) -> None:
    code = (
        "import mindtorch_v2 as torch\n"
        "from mindtorch_v2.backends import Backend, Memory, register\n"
        f"register(Backend('tile', key='PrivateUse3', memory=Memory(lambda n, i: {address!r}, lambda *a: None)))\n"
        "torch._core.alloc((2,), torch.float32, 'tile')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "expected an address, an int above 0" in done.stderr
