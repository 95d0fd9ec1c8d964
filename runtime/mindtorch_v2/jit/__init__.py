"""PyTorch's ``torch.jit``, as far as it records: ``trace`` and the graphs that it makes; and what says nothing here."""

from __future__ import annotations

from . import (
    _annotations,
    _reads,  # noqa: F401  (fills the hooks of the core)
)
from ._annotations import *  # noqa: F403
from ._graph import Graph, Node, TensorType, Value
from ._replay import run_graph
from ._trace import TracedFunction, TracedModule, is_scripting, is_tracing, recording, trace
from ._tracer import TracerWarning, TracingState

__all__ = [
    "Graph",
    "Node",
    "TensorType",
    "TracedFunction",
    "TracedModule",
    "TracerWarning",
    "TracingState",
    "Value",
    "is_scripting",
    "is_tracing",
    "recording",
    "run_graph",
    "trace",
    *_annotations.__all__,
]
