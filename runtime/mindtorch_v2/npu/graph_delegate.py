"""The delegate "npu_graph": a module captured as a graph of an NPU, which a call replays."""

from __future__ import annotations

from collections.abc import Sequence

from .._core import GraphReplay, RuntimeContext, Tensor
from ..autograd import no_grad
from .delegates import BackendInitContext, Delegate, register_delegate
from .errors import DelegateError, NpuError
from .graphs import NPUGraph, graph
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
        self._graph = NPUGraph()
        captured = [value.clone() for value in inputs]
        try:
            with no_grad():
                module(*captured)  # kernels are built, and first calls made, before the capture
                with graph(self._graph):
                    results = [value.contiguous() for value in tensors_in(module(*captured))]
        except NpuError as error:
            raise DelegateError(f"it cannot be captured as a graph: {error}") from error
        self._name = context.name
        self._replay = GraphReplay(
            context.name, context.device.index, self._graph.model, captured, list(state), results
        )

    def execute(
        self, context: RuntimeContext, inputs: Sequence[Tensor], state: Sequence[Tensor], outputs: Sequence[Tensor]
    ) -> None:
        """Queues a replay on the current stream, after the replays of other streams."""
        moved = self._replay.moved(state)
        if moved >= 0:
            raise DelegateError(
                f"{self._name}: parameter or buffer {moved} is another tensor than when the graph was captured: copy "
                "new values into it, or lower the module again"
            )
        self._replay.run(inputs, outputs)
