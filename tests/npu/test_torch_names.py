"""``torch.npu`` beside ``torch.cuda``: the same names take the same arguments with the same defaults."""

from __future__ import annotations

import inspect

import pytest

import mindtorch_v2
from mindtorch_v2 import npu

torch = pytest.importorskip("torch")

# Where PyTorch's own name of an argument says CUDA, or an option makes no sense here.
RENAMED = {"cuda_graph": "npu_graph", "backend": None, "keep_graph": None, "kwargs": None}
LEFT_OUT = {"enable_annotations", "check_input_liveness"}

SHARED = sorted(set(npu.__all__) & set(dir(torch.cuda)) - {"device", "OutOfMemoryError", "StreamContext"})
CLASSES = {"Stream": "Stream", "Event": "Event", "NPUGraph": "CUDAGraph"}
EXPECTED = """
    Event ExternalStream Stream current_device current_stream default_stream device_count device_of empty_cache
    get_device_name get_device_properties get_per_process_memory_fraction get_rng_state get_rng_state_all graph
    graph_pool_handle graphs init initial_seed is_available is_current_stream_capturing is_initialized
    make_graphed_callables manual_seed manual_seed_all max_memory_allocated max_memory_reserved mem_get_info
    memory_allocated memory_reserved memory_stats memory_summary reset_accumulated_memory_stats reset_peak_memory_stats
    seed seed_all set_device set_per_process_memory_fraction set_rng_state set_rng_state_all set_stream stream
    synchronize
"""


def parameters(function):
    """(name, default) of each parameter but ``self``, by our names, without what is left out."""
    found = list(inspect.signature(function).parameters.values())
    defaults = {p.name: "npu" if p.default == "cuda" else p.default for p in found}
    named = ((RENAMED.get(p.name, p.name), defaults[p.name]) for p in found if p.name not in {"self", *LEFT_OUT})
    return [pair for pair in named if pair[0] is not None]


def test_all_the_names():
    assert set(EXPECTED.split()) == set(SHARED)


@pytest.mark.parametrize("name", [name for name in SHARED if name != "graphs"])
def test_arguments(name):
    theirs, ours = parameters(getattr(torch.cuda, name)), parameters(getattr(npu, name))
    assert ours[: len(theirs)] == theirs
    assert all(default is not inspect.Parameter.empty for _, default in ours[len(theirs) :])


@pytest.mark.parametrize("name", CLASSES)
def test_methods(name):
    theirs, ours = getattr(torch.cuda, CLASSES[name]), getattr(npu, name)
    shared = [m for m in dir(ours) if not m.startswith("_") and callable(getattr(ours, m)) and hasattr(theirs, m)]
    assert len(shared) >= 5
    for method in shared:
        if method == "priority_range":
            continue  # has no Python signature in PyTorch
        expected, actual = parameters(getattr(theirs, method)), parameters(getattr(ours, method))
        assert actual[: len(expected)] == expected, method


def test_counters_have_pytorchs_names():
    """Those of PyTorch's own table; `requires_grad` and the pools by size are its alone."""
    shown = inspect.getsource(torch.cuda.memory_summary)
    stats = npu.memory_stats()
    for what in ("allocated_bytes", "active_bytes", "requested_bytes", "reserved_bytes", "allocation", "segment"):
        assert f'"{what}"' in shown
        assert {f"{what}.all.{metric}" for metric in ("current", "peak", "allocated", "freed")} <= set(stats)
    assert list(stats) == sorted(stats)


@pytest.mark.parametrize(
    ("both", "stream"),
    [(torch, lambda: torch.Stream(device="cpu")), (mindtorch_v2, npu.current_stream)],
    ids=["torch", "ours"],
)
def test_record_stream_is_an_operator_that_devices_with_streams_have(both, stream):
    overload = both.ops.aten.record_stream.default
    assert str(overload._schema) == "aten::record_stream(Tensor(a!) self, Stream s) -> ()"
    x, given = both.ones(3, requires_grad=True), stream()
    with pytest.raises(NotImplementedError, match="Could not run 'aten::record_stream' with arguments from the 'CPU'"):
        x.record_stream(given)
    seen = []
    lib = both.library.Library("aten", "IMPL")
    lib.impl("record_stream", lambda self, s: seen.append(s), "CPU")
    try:
        assert x.record_stream(given) is None
    finally:
        lib._destroy()
    assert seen == [given]
    assert x._version == 0
