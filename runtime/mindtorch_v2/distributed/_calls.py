"""One call of an engine: its tensors are staged, what was written is copied back, and a handle waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core import Tensor
from ._engine import Request, Staged
from ._groups import ProcessGroup
from ._work import Work

__all__ = ["Call", "check_tensor", "check_tensors"]


def check_tensor(name: str, value: Any) -> None:
    """Raises TypeError for what is no tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )


def check_tensors(name: str, values: Any) -> None:
    """Raises TypeError for what is no list of tensors, ValueError for several dtypes."""
    if not isinstance(values, (list, tuple)) or not all(isinstance(value, Tensor) for value in values):
        kinds = [type(value) for value in values] if isinstance(values, (list, tuple)) else type(values)
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {kinds} instead."
        )
    check_dtypes(*values)


def check_dtypes(*tensors: Tensor) -> None:
    """Raises ValueError for tensors of different dtypes."""
    for one in tensors[1:]:
        if one.dtype != tensors[0].dtype:
            raise ValueError(
                f"Invalid usage of tensors with different dtypes: Found {tensors[0].dtype} and {one.dtype}"
            )


class Call:
    """A call of ``name`` in a group, being put together."""

    def __init__(self, name: str, group: ProcessGroup, reduces: bool = False) -> None:
        self._name, self._group, self._reduces = name, group, reduces
        self._after: list[Callable[[], object]] = []

    def read(self, tensor: Tensor) -> Staged:
        """A tensor that is read."""
        return self._group.engine.stage(tensor, self._reduces)

    def written(self, tensor: Tensor) -> Staged:
        """A tensor that is written: at once where the engine takes its memory, else when the call is done."""
        staged = self.read(tensor)
        target = tensor.detach()
        if staged.shown.dtype == target.dtype and staged.shown.data_ptr() == target.data_ptr():
            target.reshape(-1)[:0].zero_()  # counts a version: the engine writes behind the tensor's back
        else:
            self.then(lambda: target.copy_(staged.shown))
        return staged

    def then(self, action: Callable[[], object]) -> None:
        """What is to be done when the call is done, behind what was said before."""
        self._after.append(action)

    def handle(self, request: Request, result: Any = None) -> Work:
        """A handle of what was begun."""
        pending = self._group.pending

        def finish() -> None:
            for action in self._after:
                action()
            pending.discard(work)

        def source() -> int:
            return self._group.ranks[request.source()]

        work = Work(self._name, self._group.timeout, request.done, finish, self._late, source, result)
        pending.add(work)
        return work

    def begun(self, request: Request, async_op: bool, result: Any = None) -> Work | None:
        """The same; without ``async_op`` it is waited for, and there is none."""
        work = self.handle(request, result)
        if async_op:
            return work
        work.wait()
        return None

    def _late(self) -> str:
        ranks = ", ".join(map(str, self._group.ranks))
        mine = self._group.ranks[self._group.rank()]
        return (
            f"rank {mine} waits for others of the ranks {ranks}, which have not made the same call, or do not run any "
            "more (the limit is `timeout` of init_process_group or new_group)"
        )
