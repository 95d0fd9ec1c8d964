"""MPI, through mpi4py: one process for each rank that ``mpirun`` started.

What MPI does not know are half-precision numbers (they are combined in float32, and moved as they are) and devices
other than the CPU, whose tensors travel as copies. MPI moves data while it is asked; nothing else runs in the
background.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from .._core import Tensor, dtypes
from .._lazy_values import values_of
from ._engine import Request, Staged
from ._reduce_op import RedOpType

__all__ = ["Mpi", "is_there"]

_TYPES = {  # by dtype: what MPI combines and moves
    "uint8": "UINT8_T",
    "int8": "INT8_T",
    "int16": "INT16_T",
    "int32": "INT32_T",
    "int64": "INT64_T",
    "uint16": "UINT16_T",
    "uint32": "UINT32_T",
    "uint64": "UINT64_T",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "complex64": "C_FLOAT_COMPLEX",
    "complex128": "C_DOUBLE_COMPLEX",
    "bool": "C_BOOL",
}
_MOVED_AS = {"float16": "UINT16_T", "bfloat16": "UINT16_T"}
_OPS = {
    RedOpType.SUM: "SUM",
    RedOpType.PRODUCT: "PROD",
    RedOpType.MIN: "MIN",
    RedOpType.MAX: "MAX",
    RedOpType.BAND: "BAND",
    RedOpType.BOR: "BOR",
    RedOpType.BXOR: "BXOR",
}
_OPS_OF_BOOL = {
    RedOpType.SUM: "LOR",
    RedOpType.PRODUCT: "LAND",
    RedOpType.MIN: "LAND",
    RedOpType.MAX: "LOR",
    RedOpType.BAND: "LAND",
    RedOpType.BOR: "LOR",
    RedOpType.BXOR: "LXOR",
}


def is_there() -> bool:
    """Whether mpi4py is installed, without starting MPI."""
    return importlib.util.find_spec("mpi4py") is not None


class _MpiRequest:
    def __init__(self, request: Any, status: Any, *kept: Any) -> None:
        self._request, self._status, self._kept = request, status, kept  # buffers live as long as MPI uses them

    def done(self) -> bool:
        return bool(self._request.Test(self._status))

    def source(self) -> int:
        return int(self._status.Get_source())


@dataclass(frozen=True)
class _Native:
    buffer: Any
    count: int
    kind: Any
    is_bool: bool

    @property
    def whole(self) -> list[Any]:
        return [self.buffer, self.count, self.kind]

    def each(self, processes: int) -> list[Any]:
        return [self.buffer, self.count // processes, self.kind]

    def cut(self, counts: Sequence[int]) -> list[Any]:
        starts = [sum(counts[:i]) for i in range(len(counts))]
        return [self.buffer, [*counts], starts, self.kind]


class Mpi:
    """The engine. Raises ImportError where mpi4py or an MPI library is missing."""

    name = "mpi"

    def __init__(self) -> None:
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:  # RuntimeError: no MPI library is found
            raise ImportError(
                f"torch.distributed: the engine mpi needs mpi4py and an MPI library, and found: {error}; "
                "Debian: apt-get install openmpi-bin libopenmpi-dev; then pip install 'mpi4py>=4'"
            ) from error
        self._mpi = MPI
        self._comm = MPI.COMM_WORLD
        if self._comm.Get_size() > 1:
            self._end_all_where_one_fails()

    def _end_all_where_one_fails(self) -> None:
        """An error that nobody handles ends all processes: else those that wait for this one would wait on."""
        before = sys.excepthook

        def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
            text = "".join(traceback.format_exception(kind, error, trace))
            # In one piece: others may be writing, too.
            sys.stderr.write(f"rank {self._comm.Get_rank()} failed, and ends all processes:\n{text}")
            if before is not sys.__excepthook__:
                before(kind, error, trace)
            self.abort()

        sys.excepthook = report

    def abort(self) -> None:
        """Ends all processes."""
        sys.stdout.flush()
        sys.stderr.flush()
        if not self._mpi.Is_finalized() and threading.current_thread() is threading.main_thread():
            self._comm.Abort(1)

    def world(self) -> Any:
        """A group of all processes, apart from what the program itself may send through MPI."""
        return self._comm.Dup()

    def place(self, group: Any) -> tuple[int, int]:
        """Number and size."""
        return group.Get_rank(), group.Get_size()

    def part(self, ranks: Sequence[int], together: bool) -> Any:
        """A communicator of some processes."""
        chosen = self._comm.Get_group().Incl([*ranks])
        if together:
            made = self._comm.Create(chosen)
        elif self._comm.Get_rank() in ranks:
            made = self._comm.Create_group(chosen)
        else:
            made = self._mpi.COMM_NULL
        return None if made == self._mpi.COMM_NULL else made

    def free(self, group: Any) -> None:
        """Frees the communicator."""
        group.Free()

    def stage(self, tensor: Tensor, reduces: bool) -> Staged:
        """The tensor's memory, or a contiguous copy on the CPU, of float32 where MPI cannot add the dtype."""
        name = str(tensor.dtype).rpartition(".")[2]
        shown = tensor.detach()
        if reduces and name in _MOVED_AS:
            shown, name = shown.to(dtypes["float32"]), "float32"
        shown = values_of(shown.cpu().contiguous())
        known = _TYPES if reduces else {**_TYPES, **_MOVED_AS}
        if name not in known:
            raise TypeError(f"torch.distributed: MPI does not take tensors of dtype {tensor.dtype}")
        memory = self._mpi.buffer.fromaddress(shown.data_ptr(), shown.numel() * shown.element_size())
        return Staged(shown, _Native(memory, shown.numel(), getattr(self._mpi, known[name]), name == "bool"))

    def _op(self, data: Staged, op: RedOpType) -> Any:
        return getattr(self._mpi, (_OPS_OF_BOOL if data.native.is_bool else _OPS)[op])

    def _request(self, request: Any, *kept: Any) -> Request:
        return _MpiRequest(request, self._mpi.Status(), *kept)

    def all_reduce(self, group: Any, data: Staged, op: RedOpType) -> Request:
        """MPI_Iallreduce."""
        return self._request(group.Iallreduce(self._mpi.IN_PLACE, data.native.whole, self._op(data, op)), data)

    def reduce(self, group: Any, data: Staged, op: RedOpType, root: int) -> Request:
        """MPI_Ireduce."""
        way = self._op(data, op)
        if group.Get_rank() == root:
            return self._request(group.Ireduce(self._mpi.IN_PLACE, data.native.whole, way, root), data)
        return self._request(group.Ireduce(data.native.whole, None, way, root), data)

    def broadcast(self, group: Any, data: Staged, root: int) -> Request:
        """MPI_Ibcast."""
        return self._request(group.Ibcast(data.native.whole, root), data)

    def all_gather(self, group: Any, output: Staged, input: Staged) -> Request:
        """MPI_Iallgather."""
        return self._request(group.Iallgather(input.native.whole, output.native.each(group.Get_size())), output, input)

    def gather(self, group: Any, output: Staged | None, input: Staged, root: int) -> Request:
        """MPI_Igather."""
        into = None if output is None else output.native.each(group.Get_size())
        return self._request(group.Igather(input.native.whole, into, root), output, input)

    def scatter(self, group: Any, output: Staged, input: Staged | None, root: int) -> Request:
        """MPI_Iscatter."""
        parts = None if input is None else input.native.each(group.Get_size())
        return self._request(group.Iscatter(parts, output.native.whole, root), output, input)

    def reduce_scatter(self, group: Any, output: Staged, input: Staged, op: RedOpType) -> Request:
        """MPI_Ireduce_scatter_block."""
        begun = group.Ireduce_scatter_block(
            input.native.each(group.Get_size()), output.native.whole, self._op(input, op)
        )
        return self._request(begun, output, input)

    def all_to_all(
        self, group: Any, output: Staged, output_counts: Sequence[int], input: Staged, input_counts: Sequence[int]
    ) -> Request:
        """MPI_Ialltoallv."""
        begun = group.Ialltoallv(input.native.cut(input_counts), output.native.cut(output_counts))
        return self._request(begun, output, input)

    def send(self, group: Any, data: Staged, to: int, tag: int) -> Request:
        """MPI_Isend."""
        return self._request(group.Isend(data.native.whole, to, tag), data)

    def receive(self, group: Any, data: Staged, source: int | None, tag: int) -> Request:
        """MPI_Irecv."""
        whom = self._mpi.ANY_SOURCE if source is None else source
        return self._request(group.Irecv(data.native.whole, whom, tag), data)

    def barrier(self, group: Any) -> Request:
        """MPI_Ibarrier."""
        return self._request(group.Ibarrier())
