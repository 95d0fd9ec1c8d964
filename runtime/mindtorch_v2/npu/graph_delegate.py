"""The delegate "npu_graph": a module captured as a graph of an NPU, which a call replays."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from .._core import GraphReplay, Tensor
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
        replayed = NPUGraph()
        captured = [value.clone() for value in inputs]
        try:
            with no_grad():
                module(*captured)  # kernels are built, and first calls made, before the capture
                with graph(replayed):
                    results = [value.contiguous() for value in tensors_in(module(*captured))]
        except NpuError as error:
            raise DelegateError(f"it cannot be captured as a graph: {error}") from error
        self._replay = GraphReplay(
            context.name,
            context.device.index,
            replayed,
            replayed.model,
            captured,
            list(state),
            results,
            functools.partial(_moved, context.name),
        )

    @property
    def execute(self) -> GraphReplay:  # type: ignore[override]  # the replay itself: a call of it costs no frame
        """Queues a replay on the current stream, after the replays of other streams."""
        return self._replay


def _moved(name: str, place: int) -> DelegateError:
    """The error for a parameter or buffer that is not where the graph reads it."""
    return DelegateError(
        f"{name}: parameter or buffer {place} is another tensor than when the graph was captured: copy "
        "new values into it, or lower the module again"
    )
