"""The delegate "npu_graph": a module captured as a graph of an NPU, which a call replays."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from .._core import RuntimeContext, Tensor
from ..autograd import no_grad
from .delegates import BackendInitContext, Delegate, register_delegate
from .errors import DelegateError, NpuError
from .graphs import NPUGraph, graph
from .streams import current_stream
from .tracing import Function, tensors_in

__all__ = ["GraphDelegate"]


@register_delegate("npu_graph")
class GraphDelegate(Delegate):
    """Copies inputs into those of the capture, replays, and copies results out: all queued, nothing waited for.

    The graph reads parameters and buffers where they were captured: a change of their values counts, and tensors in
    their place are refused.
    """

    device_types = ("npu",)

    def init(
        self, context: BackendInitContext, module: Function, inputs: Sequence[Tensor], state: Sequence[Tensor]
    ) -> None:
        """Captures the module. What it runs must be able to: no copies to the host, no operators that fall back to it."""
        self._name = context.name
        self._inputs = [value.clone() for value in inputs]
        self._state = list(state)
        self._graph = NPUGraph()
        self._lock = threading.Lock()  # one replay at a time has the inputs and outputs of the capture
        self._stream = current_stream(context.device)  # of the latest replay
        try:
            with no_grad():
                module(*self._inputs)  # kernels are built, and first calls made, before the capture
                with graph(self._graph):
                    self._outputs = list(tensors_in(module(*self._inputs)))
        except NpuError as error:
            raise DelegateError(f"it cannot be captured as a graph: {error}") from error

    def execute(
        self, context: RuntimeContext, inputs: Sequence[Tensor], state: Sequence[Tensor], outputs: Sequence[Tensor]
    ) -> None:
        """Queues a replay on the current stream, after the replays of other streams."""
        for at, (given, captured) in enumerate(zip(state, self._state, strict=True)):
            if given.data_ptr() != captured.data_ptr():
                raise DelegateError(
                    f"{self._name}: parameter or buffer {at} is another tensor than when the graph was captured: copy new "
                    "values into it, or lower the module again"
                )
        stream = current_stream(self._inputs[0].device)
        with self._lock, no_grad():
            if self._stream != stream:
                stream.wait_stream(self._stream)
                self._stream = stream
            for captured, given in zip(self._inputs, inputs, strict=True):
                captured.copy_(given)
            self._graph.replay()
            for made, captured in zip(outputs, self._outputs, strict=True):
                made.copy_(captured)
