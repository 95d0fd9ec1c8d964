"""Ascend's communication, through MindSpore's ``mint.distributed``: a thin adapter, which follows its documentation
and was not run, as there was no Ascend.

Tensors travel as copies in MindSpore's memory on the device, which `npu.mindspore` shows as ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .._core import Tensor
from .._mindspore import available, mindspore
from ..npu.mindspore import tensor as shown_of
from ._engine import Request, Staged
from ._reduce_op import RedOpType

__all__ = ["Hccl", "has_devices", "is_there"]

_DEVICES = Path("/dev/davinci_manager")  # of CANN's driver
_OPS = {RedOpType.SUM: "sum", RedOpType.PRODUCT: "prod", RedOpType.MIN: "min", RedOpType.MAX: "max"}


def has_devices() -> bool:
    """Whether this machine has Ascend devices."""
    return _DEVICES.exists()


def is_there() -> bool:
    """Whether MindSpore is installed and there are devices, without starting either."""
    return has_devices() and available()


class _Begun:
    """What MindSpore's stream has queued: to ask is to make the device's stream wait."""

    def __init__(self, handle: Any, *kept: Any) -> None:
        self._handle, self._kept = handle, kept

    def done(self) -> bool:
        if self._handle is not None:
            self._handle.wait()
        return True

    def source(self) -> int:
        raise RuntimeError("torch.distributed: HCCL does not say who sent a message")


class Hccl:
    """The engine. Raises RuntimeError where there is no Ascend, ImportError where MindSpore is missing."""

    name = "hccl"

    def __init__(self) -> None:
        if not has_devices():
            raise RuntimeError(
                f"torch.distributed: the engine hccl needs Ascend devices, and {_DEVICES} of their driver is not "
                "there; "
                "the engine mpi serves the CPU, and simulated NPUs"
            )
        self._mindspore = mindspore("torch.distributed's engine hccl")
        self._mint = self._mindspore.mint
        self._calls: Any = self._mint.distributed
        self._calls.init_process_group("hccl")

    def world(self) -> Any:
        """None stands for all processes."""

    def place(self, group: Any) -> tuple[int, int]:
        """Number and size."""
        return self._calls.get_rank(group), self._calls.get_world_size(group)

    def part(self, ranks: Sequence[int], together: bool) -> Any:
        """A group's name."""
        made = self._calls.new_group([*ranks], use_local_synchronization=not together)
        return made if self._calls.get_rank() in ranks else None

    def free(self, group: Any) -> None:
        """Ends a group; MindSpore keeps that of all processes until the process ends."""
        if group is not None:
            self._calls.destroy_process_group(group)

    def abort(self) -> None:
        """MindSpore's launcher ends all processes where one fails."""

    def stage(self, tensor: Tensor, reduces: bool) -> Staged:
        """A copy in MindSpore's memory."""
        native = self._mint.empty(
            tuple(tensor.shape), dtype=getattr(self._mindspore, str(tensor.dtype).rpartition(".")[2]), device="Ascend"
        )
        shown = shown_of(native)
        shown.copy_(tensor.detach())
        return Staged(shown, native)

    def _op(self, op: RedOpType) -> str:
        if op not in _OPS:
            raise RuntimeError(f"torch.distributed: Cannot use ReduceOp.{op.name} with HCCL")
        return _OPS[op]

    def _begin(self, call: Callable[..., Any], *args: Any, kept: Sequence[Any] = (), **options: Any) -> Request:
        made = call(*args, async_op=True, **options)
        handle = made[-1] if isinstance(made, tuple) else made
        return _Begun(handle, *kept)

    def _root(self, group: Any, place: int) -> int:
        return place if group is None else int(self._calls.get_global_rank(group, place))

    def _parts(self, data: Staged, group: Any) -> list[Any]:
        return list(self._mint.chunk(data.native.reshape(-1), self.place(group)[1]))

    def all_reduce(self, group: Any, data: Staged, op: RedOpType) -> Request:
        """``mint.distributed.all_reduce``."""
        return self._begin(self._calls.all_reduce, data.native, self._op(op), group, kept=[data])

    def reduce(self, group: Any, data: Staged, op: RedOpType, root: int) -> Request:
        """``mint.distributed.reduce``."""
        return self._begin(self._calls.reduce, data.native, self._root(group, root), self._op(op), group, kept=[data])

    def broadcast(self, group: Any, data: Staged, root: int) -> Request:
        """``mint.distributed.broadcast``."""
        return self._begin(self._calls.broadcast, data.native, self._root(group, root), group, kept=[data])

    def all_gather(self, group: Any, output: Staged, input: Staged) -> Request:
        """``mint.distributed.all_gather_into_tensor``."""
        return self._begin(
            self._calls.all_gather_into_tensor,
            output.native.reshape(-1),
            input.native.reshape(-1),
            group,
            kept=[output, input],
        )

    def gather(self, group: Any, output: Staged | None, input: Staged, root: int) -> Request:
        """``mint.distributed.gather``."""
        parts = None if output is None else self._parts(output, group)
        whole = self._root(group, root)
        return self._begin(self._calls.gather, input.native.reshape(-1), parts, whole, group, kept=[output, input])

    def scatter(self, group: Any, output: Staged, input: Staged | None, root: int) -> Request:
        """``mint.distributed.scatter``."""
        parts = None if input is None else self._parts(input, group)
        whole = self._root(group, root)
        return self._begin(self._calls.scatter, output.native.reshape(-1), parts, whole, group, kept=[output, input])

    def reduce_scatter(self, group: Any, output: Staged, input: Staged, op: RedOpType) -> Request:
        """``mint.distributed.reduce_scatter_tensor``."""
        flat = output.native.reshape(-1), input.native.reshape(-1)
        return self._begin(self._calls.reduce_scatter_tensor, *flat, self._op(op), group, kept=[output, input])

    def all_to_all(
        self, group: Any, output: Staged, output_counts: Sequence[int], input: Staged, input_counts: Sequence[int]
    ) -> Request:
        """``mint.distributed.all_to_all_single``."""
        flat = output.native.reshape(-1), input.native.reshape(-1)
        counts = [*output_counts], [*input_counts]
        return self._begin(self._calls.all_to_all_single, *flat, *counts, group, kept=[output, input])

    def send(self, group: Any, data: Staged, to: int, tag: int) -> Request:
        """``mint.distributed.isend``."""
        return _Begun(self._calls.isend(data.native, self._root(group, to), group, tag), data)

    def receive(self, group: Any, data: Staged, source: int | None, tag: int) -> Request:
        """``mint.distributed.irecv``. Raises ValueError where nobody is named as sender."""
        if source is None:
            raise ValueError("torch.distributed: HCCL receives from one process: give src")
        return _Begun(self._calls.irecv(data.native, self._root(group, source), group, tag), data)

    def barrier(self, group: Any) -> Request:
        """``mint.distributed.barrier``."""
        return self._begin(self._calls.barrier, group)
