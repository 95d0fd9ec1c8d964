"""Functions that PyTorch has none of, with arguments of wrong types: a TypeError that says what was expected."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import jit, library, npu

# What is called → what the error names.
CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "graph_task_group_begin": (lambda: npu.graph_task_group_begin(3), "npu.Stream, got int"),
    "graph_task_group_end": (lambda: npu.graph_task_group_end(int), "npu.Stream, got type"),
    "graph_task_update_begin": (lambda: npu.graph_task_update_begin("x", 0), "npu.Stream, got str"),
    "graph_task_update_begin's handle": (lambda: npu.graph_task_update_begin(npu.Stream(), "x"), "int, got str"),
    "graph_task_update_end": (lambda: npu.graph_task_update_end([1]), "npu.Stream, got list"),
    "record_event": (lambda: npu.Stream().record_event(1j), "npu.Event, got complex"),
    "record_event of 0": (lambda: npu.Stream().record_event(0), "npu.Event, got int"),
    "elapsed_time": (lambda: npu.Event(enable_timing=True).elapsed_time(0), "npu.Event, got int"),
    "Struct": (lambda: npu.Struct("float32"), "(name, C type) pairs, got 'float32'"),
    "Struct of names": (lambda: npu.Struct(("n",)), "(name, C type) pairs"),
    "align_up": (lambda: npu.align_up(0, None), "'alignment' (position 2) must be int, not NoneType"),
    "ceil_div": (lambda: npu.ceil_div(1, b=[]), "'b' (keyword) must be int, not list"),
    "device_of": (lambda: npu.device_of(1), "device_of(): argument 'obj' (position 1) must be Tensor, not int"),
    "check_error": (lambda: library.check_error("a::b", "x", "c"), "'values' (position 3) must be Mapping, not str"),
    "failed_check": (lambda: library.failed_check(0), "'text' (position 1) must be str, not int"),
    "python_function": (lambda: library.python_function(torch.float32), "'reference' (position 1) must be str"),
    "copy_": (lambda: npu.copy_(torch.ones(1), None), "'source' (position 2) must be Tensor, not NoneType"),
    "failed_check's class": (lambda: library.failed_check("x", error=torch.Tensor), "a subclass of Exception, not"),
    "a mode of another key": (lambda: torch.overrides.TorchDispatchMode("CPU"), "at the key Python alone"),
    "run_graph": (lambda: jit.run_graph([], []), "'graph' (position 1) must be Graph, not list"),
}


@pytest.mark.parametrize("name", CALLS)
def test_wrong_types(name: str) -> None:
    call, expected = CALLS[name]
    with pytest.raises(TypeError, match=re.escape(expected)):
        call()
