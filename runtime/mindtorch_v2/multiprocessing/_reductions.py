"""How tensors are pickled for another process: a descriptor of their memory, and their place in it."""

from __future__ import annotations

from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

from .._core import Tensor, UntypedStorage
from .._lazy_values import kept_as, kept_like
from .._shared_memory import Segment, segment_of, share_memory_, tensor_over
from .._storage_contents import share_memory_ as share_memory
from .._storages import TypedStorage
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
    handle = DupFd(segment.sent())
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
    data = kept_like(tensor_over(Segment.of_file(handle.detach(), nbytes), *place), kept)
    result: Tensor = Tensor._make_subclass(cls, data, requires_grad)
    for name, value in attributes.items():
        setattr(result, name, value)
    return result


def _reduce_bytes(storage: UntypedStorage) -> Any:
    """Moves a storage to shared memory."""
    if not storage.nbytes() or storage.device.type != "cpu":
        return storage.__reduce_ex__(2)
    segment = segment_of(share_memory(storage).untyped())
    assert segment is not None  # it was moved there
    return _rebuild_bytes, (DupFd(segment.sent()), segment.nbytes)


def _rebuild_bytes(handle: Any, nbytes: int) -> UntypedStorage:
    return Segment.of_file(handle.detach(), nbytes).storage()


def _reduce_typed(storage: TypedStorage) -> Any:
    return _rebuild_typed, (storage._untyped_storage, storage.dtype)


def _rebuild_typed(storage: UntypedStorage, dtype: Any) -> TypedStorage:
    return TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)


def register() -> None:
    """From now on queues, pipes and new processes are given tensors and storages so."""
    for kind in (Tensor, Parameter):
        ForkingPickler.register(kind, _reduce)
    ForkingPickler.register(UntypedStorage, _reduce_bytes)
    ForkingPickler.register(TypedStorage, _reduce_typed)
