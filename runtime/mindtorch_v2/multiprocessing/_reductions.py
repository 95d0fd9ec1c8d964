"""How tensors are pickled for another process: a descriptor of their memory, and their place in it."""

from __future__ import annotations

from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

from .._core import Tensor
from .._lazy_values import kept_as, kept_like
from .._shared_memory import Segment, segment_of, share_memory_, tensor_over
from ..nn.parameter import Parameter

__all__ = ["register"]


def _reduce(tensor: Any) -> Any:
    """Moves the tensor to shared memory. Raises RuntimeError for one that has a history."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not "
            "support crossing "
            "process boundaries. If you just want to transfer the data, call detach() on the tensor before serializing "
            "(e.g., putting it on the queue)."
        )
    share_memory_(tensor)
    data = tensor.detach()
    segment = segment_of(data.untyped_storage())
    if segment is None:  # no elements, or memory that is not the host's: by its values
        return tensor.__reduce_ex__(2)
    place = data.dtype, data.storage_offset(), tuple(data.shape), tuple(data.stride())
    handle = DupFd(segment.descriptor)
    kept = kept_as(data)
    return _rebuild, (type(tensor), handle, segment.nbytes, place, kept, tensor.requires_grad, dict(vars(tensor)))


def _rebuild(
    cls: type[Tensor],
    handle: Any,
    nbytes: int,
    place: tuple[Any, ...],
    kept: dict[str, bool],
    requires_grad: bool,
    attributes: dict[str, Any],
) -> Tensor:
    """The inverse of `_reduce`, in the other process."""
    data = kept_like(tensor_over(Segment(handle.detach(), nbytes), *place), kept)
    result: Tensor = Tensor._make_subclass(cls, data, requires_grad)
    for name, value in attributes.items():
        setattr(result, name, value)
    return result


def register() -> None:
    """From now on queues, pipes and new processes are given tensors so."""
    for kind in (Tensor, Parameter):
        ForkingPickler.register(kind, _reduce)
