"""The delegate "npu_graph": a module captured as a graph of an NPU, which a call replays."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from .. import _core
from .._core import RuntimeContext, Tensor
from ..autograd import no_grad
from .delegates import BackendInitContext, Delegate, register_delegate
from .errors import DelegateError, NpuError
from .graphs import NPUGraph, graph
from .streams import ExternalStream, current_stream
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
        """Captures the module, which must not copy to the host, nor call operators that fall back to it."""
        self._name, self._index = context.name, context.device.index
        self._inputs = [value.clone() for value in inputs]
        self._state = list(state)
        self._graph = NPUGraph()
        self._lock = threading.Lock()  # one replay at a time has the inputs and outputs of the capture
        self._stream = _core.npu_current_stream(self._index)  # of the latest replay, by its handle
        try:
            with no_grad():
                module(*self._inputs)  # kernels are built, and first calls made, before the capture
                with graph(self._graph):
                    self._outputs = [value.contiguous() for value in tensors_in(module(*self._inputs))]
        except NpuError as error:
            raise DelegateError(f"it cannot be captured as a graph: {error}") from error

    def execute(
        self, context: RuntimeContext, inputs: Sequence[Tensor], state: Sequence[Tensor], outputs: Sequence[Tensor]
    ) -> None:
        """Queues a replay on the current stream, after the replays of other streams."""
        for at, (given, captured) in enumerate(zip(state, self._state, strict=True)):
            if given.data_ptr() != captured.data_ptr():
                raise DelegateError(
                    f"{self._name}: parameter or buffer {at} is another tensor than when the graph was captured: copy "
                    "new values into it, or lower the module again"
                )
        stream = _core.npu_current_stream(self._index)
        with self._lock:
            if self._stream != stream:
                current_stream(self._index).wait_stream(ExternalStream(self._stream, self._index))
                self._stream = stream
            for captured, given in zip(self._inputs, inputs, strict=True):
                _core.npu_copy_within(captured, given.contiguous(), captured.nbytes)
            self._graph.replay()
            for made, captured in zip(outputs, self._outputs, strict=True):
                _core.npu_copy_within(made, captured, made.nbytes)
