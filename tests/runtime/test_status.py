"""What a call of an operator on a device comes to, told without calling it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _core
from mindtorch_v2.backends import all_backends, cpu_fallback
from mindtorch_v2.library import Library, operator_status, status_table
from tests.runtime.both import fresh_namespace


@pytest.mark.parametrize(
    ("name", "cpu", "npu", "cuda", "meta"),
    [
        ("aten::add.Tensor", "native", "native", "absent", "native"),
        ("aten::sin", "native", "fallback", "absent", "native"),
        ("aten::zeros", "composite", "composite", "composite", "composite"),
        ("aten::transpose.int", "composite", "composite", "composite", "composite"),
        ("aten::item", "composite", "composite", "composite", "composite"),
        ("aten::_copy_from", "absent", "native", "absent", "native"),
    ],
)
def test_built_in_operators(name: str, cpu: str, npu: str, cuda: str, meta: str) -> None:
    states = [operator_status(name, device) for device in ("cpu", "npu", "cuda", "meta")]
    assert states == [cpu, npu, cuda, meta]
    overload = _core.find_operator(name)
    assert overload is not None
    assert operator_status(overload, "npu:1") == npu


def test_what_is_registered_decides() -> None:
    lib = Library(fresh_namespace(), "FRAGMENT")
    lib.define("op(Tensor x) -> Tensor")
    name = f"{lib.ns}::op"

    def states() -> list[str]:
        return [operator_status(name, device) for device in ("cpu", "npu", "cuda", "meta")]

    assert states() == ["absent", "fallback", "absent", "absent"]
    lib.impl("op", lambda x: x + 1, "CPU")
    assert states() == ["native", "fallback", "absent", "absent"]
    lib.register_fake("op", lambda x: torch.empty_like(x))
    lib.impl_fallback("op", cpu_fallback, "CUDA")
    assert states() == ["native", "fallback", "fallback", "native"]
    lib.impl("op", lambda x: x + 1, "NPU")
    assert states() == ["native", "native", "fallback", "native"]
    lib.define("whole(Tensor x) -> Tensor")
    lib.impl("whole", lambda x: x + 1, "CompositeImplicitAutograd")
    assert set(status_table("cuda", lib.ns).values()) == {"fallback", "composite"}


@pytest.mark.parametrize(("policy", "there"), [("cpu", "fallback"), ("error", "absent")])
def test_what_a_definition_says(policy: str, there: str) -> None:
    lib = Library(fresh_namespace(), "FRAGMENT")

    @lib.operator("op(Tensor x) -> Tensor", fallback=policy)
    def op(op, x):  # type: ignore[no-untyped-def]
        op.python("mindtorch_v2._core:shallow_detach", device=("CPU",))

    name = f"{lib.ns}::op"
    assert [operator_status(name, device) for device in ("cpu", "npu", "mps")] == ["native", there, there]


def test_every_operator_has_a_state_everywhere() -> None:
    for backend in all_backends():
        states = status_table(backend.name)
        assert len(states) == len([name for name in _core.operator_names() if name.startswith("aten::")])
        assert set(states.values()) <= {"native", "composite", "fallback", "absent"}
    assert "absent" not in status_table("npu").values()


def test_the_generator_says_what_the_runtime_does(child_env: dict[str, str]) -> None:
    command = [sys.executable, "-m", "mtcodegen", "list", "--built-in", "--status", "--format", "json"]
    done = subprocess.run(command, env=child_env, capture_output=True, text=True, check=True)
    said = {entry["name"]: entry["status"] for entry in json.loads(done.stdout)}
    assert len(said) > 300
    assert said == {name: {device: operator_status(name, device) for device in said[name]} for name in said}


def test_unknown_ones() -> None:
    with pytest.raises(RuntimeError, match="nothing"):
        operator_status("aten::nothing", "cpu")
    with pytest.raises(RuntimeError, match="Expected one of cpu"):
        operator_status("aten::sin", "slate")
