"""What Python's own protocols ask of tensors: copying, pickling, formatting, membership, conversion to arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core
from ._argument_types import check_flag
from ._core import Tensor, UntypedStorage
from ._creation import from_numpy
from ._dlpack import dlpack, dlpack_device
from ._lazy_values import kept_as, kept_like
from ._modes import DisableTorchFunctionSubclass, handed_on
from ._ops import ops
from ._storages import copy_to_device, copy_to_host, storage_from_file, storage_item, view_of

if TYPE_CHECKING:
    import numpy as np


def contains(tensor: Tensor, value: Any) -> bool:
    """Whether any element equals ``value`` (a number, or a tensor that broadcasts)."""
    if not isinstance(value, (Tensor, int, float, complex)):
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(value)}.")
    return bool((tensor == value).any().item())


def to_array(tensor: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """The tensor's elements as a NumPy array, without a copy where neither ``dtype`` nor ``copy`` asks for one.

    Raises ValueError where ``copy`` is False and ``dtype`` is another than the tensor's, as NumPy 2 asks for.
    """
    if copy is not None:
        check_flag("__array__", "copy", copy)
    array: np.ndarray[Any, Any] = tensor.numpy()
    converted = array if dtype is None else array.astype(dtype, copy=False)
    if copy is False and converted is not array:
        raise ValueError(
            f"Tensor.__array__: expected the tensor's own dtype, as copy=False asks for its memory, got "
            f"{converted.dtype} for a tensor of {tensor.dtype}; leave copy out"
        )
    return converted.copy() if copy and converted is array else converted


def wrap_array(array: np.ndarray[Any, Any]) -> Tensor:
    """What a function of NumPy's that was given a tensor returns: a tensor over its array, of truth as bytes."""
    return from_numpy(array.astype("uint8") if array.dtype == bool else array)


def from_array(array: Any) -> Tensor:
    """A tensor over the memory of what has NumPy's interface."""
    import numpy as np

    return from_numpy(np.asarray(array))


def format_tensor(tensor: Tensor, spec: str) -> str:
    """A 0-d tensor formats like its number; others take no format specification, as no object that has none."""
    if tensor.dim() == 0 and not tensor.is_meta and type(tensor) is Tensor:
        return format(tensor.item(), spec)
    return object.__format__(tensor, spec)


def torch_function(
    cls: type[Tensor], func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Any = None
) -> Any:
    """The default ``__torch_function__``: calls ``func``, and gives tensors in its result the class ``cls``."""
    if not all(issubclass(cls, other) for other in types):
        return NotImplemented
    with handed_on(cls, func, args, kwargs) as first, DisableTorchFunctionSubclass():
        if not first:
            return NotImplemented
        result = func(*args, **(kwargs or {}))
    return result if func in _KEEPS_CLASS else _as_class(result, cls)


_ATTRIBUTES: Any = Tensor
_KEEPS_CLASS = frozenset((_ATTRIBUTES.grad.__get__, _ATTRIBUTES._base.__get__))  # they give what there is already


def _as_class(value: Any, cls: type[Tensor]) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_as_class(item, cls) for item in value)
    return _core.change_class(value, cls) if type(value) is Tensor else value


def shallow_copy(tensor: Tensor) -> Tensor:
    """What ``copy.copy`` gives: a leaf of the same class over the same memory, with the same flags and attributes."""
    return _with_attributes(Tensor._make_subclass(type(tensor), tensor.detach(), tensor.requires_grad), vars(tensor))


def deepcopy(tensor: Tensor, memo: dict[Any, Any]) -> Tensor:
    """A leaf of the same class, flags, gradient and attributes, over memory of its own.

    Tensors that share memory still do in one copy: it is copied once, whole. Raises RuntimeError for a tensor that an
    operation made: its graph cannot be copied.
    """
    import copy

    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment; "
            "copy `tensor.detach()` instead"
        )
    if not isinstance(memo, dict):
        raise TypeError(f"__deepcopy__(): argument 'memo' (position 1) must be dict, not {type(memo).__name__}")
    if id(tensor) in memo:
        found: Tensor = memo[id(tensor)]
        return found
    result = _copy_of_class(tensor, memo)
    memo[id(tensor)] = result
    if tensor.grad is not None:
        result.grad = copy.deepcopy(tensor.grad, memo)
    return _with_attributes(result, {name: copy.deepcopy(value, memo) for name, value in attributes(tensor).items()})


def _copy_of_class(tensor: Tensor, memo: dict[Any, Any]) -> Tensor:
    """A leaf of the same class over a copy of the memory. Raises RuntimeError where the class makes none of its own."""
    own = type(tensor) is not Tensor
    if _core.defines_dispatch(type(tensor)) or (own and _has_no_memory(tensor)):  # what has its memory in other tensors
        grad = _core.set_grad_enabled_(False)
        try:
            result: Tensor = tensor.clone()
        finally:
            _core.set_grad_enabled_(grad)
        _require_class(tensor, result, "wrapper subclasses", "clone() and for which cloning")
        result.requires_grad = tensor.requires_grad
        return result
    if own:
        how = "new_empty() and for which that function"
        _require_class(tensor, tensor.new_empty([]), "non-wrapper subclasses", how)
    made: Tensor = Tensor._make_subclass(type(tensor), _over_copied_memory(tensor.detach(), memo), tensor.requires_grad)
    return made


def _has_no_memory(tensor: Tensor) -> bool:
    return tensor.is_meta or tensor.untyped_storage().nbytes() == 0


def _require_class(tensor: Tensor, made: Tensor, kind: str, how: str) -> None:
    if type(made) is not type(tensor):
        raise RuntimeError(
            f"__deepcopy__() of {kind} works for types that implement {how} returns another instance of the same "
            f"subclass, but that of {type(tensor).__name__} returned {type(made).__name__}: implement it, or "
            "__deepcopy__()"
        )


def attributes(tensor: Tensor) -> dict[str, Any]:
    """What a tensor of a subclass has beside its values: its ``__dict__`` and its slots."""
    import copyreg

    slots: list[str] = copyreg._slotnames(type(tensor))  # type: ignore[attr-defined]
    return {**vars(tensor), **{name: getattr(tensor, name) for name in slots if hasattr(tensor, name)}}


def _over_copied_memory(data: Tensor, memo: dict[Any, Any]) -> Tensor:
    """``data`` over a copy of its whole storage; the memo has the copies that there are."""
    storage = data.untyped_storage()
    if storage.nbytes() == 0:
        cloned: Tensor = data.clone()
        return cloned
    storages = memo.setdefault("torch", {})  # as `copy.deepcopy` of a storage leaves it there
    key = ("memory", id(storage), data.dtype)
    if key not in memo and id(storage) in storages:
        memo[key] = view_of(storages[id(storage)][0], data.dtype)
    elif key not in memo:
        memory = _core.memory_of_lazy(data)
        memo[key] = ops.aten.as_strided(memory, (storage.nbytes() // data.element_size(),), (1,), 0).clone()
        storages[id(storage)] = memo[key].untyped_storage(), storage  # kept: no other one gets its id meanwhile
    copied = memo[key]
    result: Tensor = ops.aten.as_strided(copied, data.shape, data.stride(), data.storage_offset())
    return kept_like(result, kept_as(data))


def _with_attributes(tensor: Tensor, attributes: dict[str, Any]) -> Tensor:
    for name, value in attributes.items():
        setattr(tensor, name, value)
    return tensor


def reduce_tensor(tensor: Tensor) -> tuple[Any, ...]:
    """How pickle stores a tensor: class, dtype, storage, place in the storage, flag and attributes.

    The storage is stored once, whole, for all tensors of a pickle that share it.
    """
    data = tensor.detach()
    if _core.defines_dispatch(type(tensor)):  # what has its memory in other tensors
        data = data.cpu().clone()
    part = data.untyped_storage(), data.storage_offset(), tuple(data.shape), tuple(data.stride())
    return rebuild_tensor, (type(tensor), data.dtype, *part, tensor.requires_grad, dict(vars(tensor)), kept_as(data))


def rebuild_tensor(
    cls: type[Tensor],
    dtype: _core.dtype,
    storage: UntypedStorage,
    offset: int,
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool,
    attributes: dict[str, Any],
    how: dict[str, bool] | None = None,
) -> Tensor:
    """The inverse of `reduce_tensor`."""
    data = _core.set_to_part(_core.alloc((0,), dtype, storage.device), storage, offset, shape, stride)
    data = kept_like(data, how)
    return _with_attributes(Tensor._make_subclass(cls, data, requires_grad), attributes)


def reduce_storage(storage: UntypedStorage) -> tuple[Any, ...]:
    """How pickle stores a storage: its bytes, of which there are none on meta, and its device."""
    count, where = storage.nbytes(), storage.device
    raw = None if where.type == "meta" or not count else bytes(copy_to_host(storage))
    return rebuild_storage, (raw, str(where), count)


def rebuild_storage(raw: bytes | None, device: str, count: int) -> UntypedStorage:
    """The inverse of `reduce_storage`."""
    if raw is None:
        return UntypedStorage(count, device=device)
    storage = UntypedStorage(count)
    copy_to_host(storage)[:] = raw
    return copy_to_device(storage, device)


def bytes_of(storage: UntypedStorage) -> Tensor:
    """All of a storage, as a tensor of bytes."""
    return view_of(storage, _core.dtypes["uint8"])


_core.hooks.fill(
    contains=contains,
    deepcopy=deepcopy,
    default_override=torch_function,
    format_tensor=format_tensor,
    from_array=from_array,
    reduce_storage=reduce_storage,
    reduce_tensor=reduce_tensor,
    shallow_copy=shallow_copy,
    storage_from_file=storage_from_file,
    storage_item=storage_item,
    to_array=to_array,
    dlpack=dlpack,
    dlpack_device=dlpack_device,
    wrap_array=wrap_array,
)
