"""Every function and method of the compiled core, called with what it does not expect: an error, never a crash."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import mindtorch_v2
from mindtorch_v2 import _core

# Addresses and handles are what these are given: no check can tell a wrong one. Those that set state of the process
# would change what comes after them.
TAKE_ADDRESSES = {
    "Kernel", "from_buffer", "npu_bind", "npu_begin_recording", "npu_note", "npu_play_tape", "npu_record_stream",
    "npu_swap_stream", "set_own_fallback",
}  # fmt: skip

PROGRAM = """
import os, random, signal, sys
import mindtorch_v2 as torch
import mindtorch_v2.npu
from mindtorch_v2 import _core

class Sub(torch.Tensor):
    pass

def arguments():
    x = torch.ones(2, requires_grad=True)
    return [
        None, True, -1, 0, 3, 2**31 - 1, -2**31, 2**62, 2**63, 1.5, "x", b"ab", (), [], {}, (1, 2), (2**62, 4), [-1],
        len, int, object(), Sub, Sub(), torch.ones(2, 2), torch.ones(2, device="meta"), x * 2, (x * 2).grad_fn,
        torch.float32, torch.device("cpu"), x.untyped_storage(), torch.ops.aten.add.Tensor, torch.ops.aten.cat,
        (x,), [x, None],
    ]

def call(function, values):
    try:
        function(*values)
    except BaseException:
        pass

def members(found):
    yield lambda *values: found.__new__(found, *values)
    for name in dir(found):
        if callable(getattr(found, name, None)) and name not in ("__class__", "__dir__", "__pow__", "__rpow__"):
            yield getattr(found, name)

def call_all(found):
    chosen = random.Random(0)
    for function in (found, *(members(found) if isinstance(found, type) else ())):
        call(function, ())
        for value in arguments():
            call(function, (value,))
        values = arguments()
        for _ in range(20):
            call(function, [chosen.choice(values) for _ in range(chosen.randint(2, 4))])

for name in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        call_all(getattr(_core, name))
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        print("crashed:", name, flush=True)
print("done", flush=True)
"""


def test_absurd_arguments_are_errors(child_env: dict[str, str]) -> None:
    names = [
        name
        for name, value in vars(_core).items()
        if callable(value) and not name.startswith("__") and name not in TAKE_ADDRESSES
    ]
    command = [sys.executable, "-c", PROGRAM, *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=child_env, timeout=600)
    assert [line for line in done.stdout.splitlines() if line.startswith(("crashed", "done"))] == ["done"], done.stderr


def test_a_method_is_called_on_a_tensor() -> None:
    for method in ("dim", "size", "data_ptr", "untyped_storage", "stride", "detach", "register_hook"):
        for value in (3, None, object()):
            with pytest.raises(TypeError):
                getattr(mindtorch_v2.Tensor, method)(value)
        with pytest.raises(TypeError):
            getattr(mindtorch_v2.Tensor, method)()


def test_apply_of_no_class() -> None:
    with pytest.raises(TypeError, match=r"derived from autograd\.Function"):
        _core.function_apply()  # type: ignore[call-arg]


@pytest.mark.parametrize("cls", [_core.OpOverload, _core.Kernel, _core.TypedScalar, _core.UntypedStorage])
def test_no_object_of_the_core_is_half_made(cls: Any) -> None:
    """What ``__new__`` alone gives is whole, or an error; and no live object is made anew."""
    assert "__init__" not in vars(cls)
    try:
        made = cls.__new__(cls)
    except TypeError:
        return
    assert made.nbytes() == 0


def test_an_operator_is_not_made_anew() -> None:
    add = mindtorch_v2.ops.aten.add.Tensor
    with pytest.raises(TypeError):
        add.__init__("aten", None)  # type: ignore[misc]
    assert add(mindtorch_v2.ones(1), mindtorch_v2.ones(1)).item() == 2


@pytest.mark.parametrize("name", ["joined", "joined_size", "stacked", "stacked_size"])
@pytest.mark.parametrize("tensors", [[2**40], [None], ["x", 1], "tensor None", "tensor 1", (object(),)])
def test_only_tensors_are_joined(name: str, tensors: Any) -> None:
    if isinstance(tensors, str):
        tensors = [mindtorch_v2.ones(2), None if tensors.endswith("None") else 1]
    with pytest.raises(TypeError, match="expected tensors to be joined, got"):
        getattr(_core, name)(tensors, 0)


@pytest.mark.parametrize("change", [0, 2, -2, 2**31 - 1, -(2**31)])
def test_levels_open_and_close_one_at_a_time(change: int) -> None:
    with pytest.raises(ValueError, match="a level opens"):
        _core.count_forward_levels_(change)
