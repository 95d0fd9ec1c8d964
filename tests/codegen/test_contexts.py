"""`context` in YAML, and devices as data, under three runtimes."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as mindtorch
from tests.codegen.support import load, run, write
from tests.codegen.test_torch_form import made

TEXT = """\
namespace: {namespace}
ops:
- func: told(Tensor x) -> Tensor
  fake: {{like: x}}
  kernels:
  - {{device: npu, source: told.cpp, symbol: told, block_dim: 1, args: [contiguous(x), out, context]}}
  - {{device: cpu, source: told.c, symbol: told_cpu, args: [contiguous(x), out, u64(x.numel()), context], include: .}}
  backward: not_implemented
- func: in_python(Tensor x) -> Tensor
  fake: {{like: x}}
  kernels: [{{device: cpu, python: 'tests.codegen.test_contexts:in_python'}}]
  backward: not_implemented
- func: composed(Tensor x) -> Tensor
  kernels: [{{compute: x + 1}}]
"""
KERNEL = """
#include "mindtorch_kernel.h"

int told_cpu(const float* x, float* out, uint64_t n, const mt_context* context) {
  const int64_t told[] = {context->size, context->next, context->next_device, context->commit_and_continue,
                          context->position, context->operations};
  for (uint64_t i = 0; i < n; ++i) out[i] = i < 6 ? (float)told[i] : x[i];
  return 0;
}
"""
NOTHING = [48.0, 0.0, 0.0, 1.0, -1.0, -1.0]
seen: list[Any] = []


def in_python(x: Any, context: Any) -> Any:
    seen.append(context)
    return x + 1


def beside(folder: Path, root: Path) -> None:
    (folder / "told.c").write_text(KERNEL)
    (folder / "told.cpp").write_text("// an NPU's: not compiled here\n")
    shutil.copy(root / "runtime/kernels/include/mindtorch_kernel.h", folder)


def imported(folder: Path, name: str) -> ModuleType:
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))


def require_nothing_known(ops: Any, x: Any) -> None:
    np.testing.assert_array_equal(np.asarray(ops.told(x)), NOTHING)
    seen.clear()
    ops.in_python(x)
    context = seen[0]
    assert (context.next_kind, context.next_device, context.position, context.plan) == ("unknown", None, -1, None)
    assert context.commit_and_continue


def test_under_our_runtime(tmp_path: Path, repo_root: Path) -> None:
    beside(tmp_path, repo_root)
    ops = load(tmp_path, TEXT.format(namespace="contexts_ours"))
    require_nothing_known(ops, mindtorch.zeros(6))
    assert [op.devices for op in (ops.told, ops.in_python, ops.composed)] == [("npu", "cpu"), ("cpu",), ()]


def test_under_pytorch(tmp_path: Path, repo_root: Path) -> None:
    import torch

    files, shown = made(tmp_path, TEXT.format(namespace="contexts_torch"))
    assert "error" not in shown
    assert "left out" in shown
    write(tmp_path / "contexts_torch", files)
    beside(tmp_path, repo_root)
    ops = imported(tmp_path, "contexts_torch.ops")
    require_nothing_known(ops, torch.zeros(6))
    packet = torch.ops.contexts_torch
    found = [op.default.devices for op in (packet.told, packet.in_python, packet.composed)]
    assert found == [("npu", "cpu"), ("cpu",), ()]


def test_under_mindspore(tmp_path: Path, repo_root: Path) -> None:
    mindspore = pytest.importorskip("mindspore")
    mindspore.set_device("CPU")
    files, shown = made(tmp_path, TEXT.format(namespace="contexts_mindspore"), "mindspore")
    assert "error" not in shown
    write(tmp_path / "contexts_mindspore", files)
    beside(tmp_path, repo_root)
    ops = imported(tmp_path, "contexts_mindspore.ops")
    require_nothing_known(ops, mindspore.mint.zeros(6))
    assert [op.devices for op in (ops.told, ops.in_python, ops.composed)] == [("npu", "cpu"), ("cpu",), ()]


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("f32(context)", "error"),
        ("contiguous(context)", "error"),
        ("contxt", "did you mean `context`?"),
    ],
)
def test_a_context_is_passed_as_it_is(argument: str, said: str, tmp_path: Path) -> None:
    text = TEXT.format(namespace="contexts_wrong").replace("u64(x.numel()), context]", f"u64(x.numel()), '{argument}']")
    (tmp_path / "told.c").write_text("")
    (tmp_path / "told.cpp").write_text("")
    files, shown = run(tmp_path, text)
    assert said in shown
    assert not files


def test_elsewhere_than_among_arguments_it_has_no_meaning(tmp_path: Path) -> None:
    text = TEXT.format(namespace="contexts_wrong").replace("compute: x + 1", "compute: x + context")
    _, shown = run(tmp_path, text)
    assert "`context` exists only in kernel arguments" in shown
