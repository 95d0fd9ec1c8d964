"""``x[...]`` and ``x[...] = v``: basic indices become views, index tensors and masks become index and index_put_."""

from __future__ import annotations

import operator
from typing import Any

from . import _core
from ._core import Tensor
from ._creation import tensor
from ._ops import ops
from ._sequences import is_sequence
from .overrides import handle_attribute, has_torch_function

__all__ = ["getitem", "setitem"]

_I64 = _core.dtypes["int64"]
_BATCHED = _core.key_mask("Batched")  # of a tensor in which each sample of `vmap` has a number of its own


def getitem(self: Tensor, index: Any) -> Tensor:
    """``self[index]``, as PyTorch indexes."""
    if _overrides(index):
        return handle_attribute(Tensor.__getitem__, self, index)  # type: ignore[no-any-return]
    view, picks = _basic(self, index)
    if picks is None:
        return view if view is not self else ops.aten.alias.default(self)
    result: Tensor = ops.aten.index.Tensor(view, picks)
    return result


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """``self[index] = value``, a number or a tensor; one of another dtype is converted where the index picks a view."""
    if _overrides(index, value):
        handle_attribute(Tensor.__setitem__, self, index, value)
        return
    given = isinstance(value, Tensor)
    if not given:
        value = _as_number(self, value)
    if type(index) is tuple and len(index) == 1 and isinstance(index[0], Tensor):
        index = index[0]
    if _is_whole_mask(self, index) and (not given or value.dim() == 0):
        self.masked_fill_(index, value)
        return
    if not given:
        value = ops.aten.scalar_tensor(value, dtype=self.dtype, device=self.device)
    alone = type(index) is Tensor and index.dtype is _I64 and index.dim() > 0 and self.dim() > 0
    view, picks = (self, [index]) if alone else _basic(self, index)
    if picks is None and value.shape == view.shape:  # it may be the view, changed in place: ``x[1:2] += 1``
        view.copy_(value)
        return
    while value.dim() and value.shape[0] == 1:
        value = value.squeeze(0)
    if picks is None:
        view.copy_(value.expand(view.shape) if given else value)  # expanded, it may be a part of what is written to
        return
    ops.aten.index_put_(view, picks, value)


def _overrides(*values: Any) -> bool:
    """Whether an index, or what is assigned, defines ``__torch_function__``, and so answers in the tensor's place."""
    return _core.overrides_among(values, {}) and has_torch_function(values)


def _is_whole_mask(self: Tensor, index: Any) -> bool:
    return isinstance(index, Tensor) and index.dtype is _core.dtypes["bool"] and index.shape == self.shape


def _as_number(self: Tensor, value: Any) -> Any:
    """What is assigned as a Python number. Raises TypeError for what is none, ValueError beyond 64 bits."""
    if isinstance(value, int) or _is_numpy_integer(value):
        number = value if isinstance(value, bool) else int(value)
        if not -(2**63) <= number < 2**63:
            raise ValueError(f"Overflow when unpacking long long: {number} needs more than 64 bits")
        return number
    if isinstance(value, (float, complex)):
        return value
    raise TypeError(
        f"can't assign a {type(value).__name__} to a {self.type()}: assign a number, or what torch.tensor makes of it"
    )


def _is_numpy_integer(value: Any) -> bool:
    return hasattr(type(value), "__index__") and hasattr(type(value), "dtype") and not hasattr(type(value), "__len__")


def _basic(self: Tensor, index: Any) -> tuple[Tensor, list[Tensor | None] | None]:
    """The view that integers, slices, None and ``...`` make; and what index tensors there are, by its dimensions."""
    if self.dim() == 0 and not isinstance(index, tuple):
        _refuse_alone(index)
    items = _with_ellipsis(self, _items(index))
    view, dim = self, 0
    picks: list[Tensor | None] = []
    covered = 0  # dimensions of the view that the picks stand for: a mask stands for as many as it has
    for position, item in ((at, _plain(given)) for at, given in items):
        if item is None:
            view = view.unsqueeze(dim)
            dim += 1
        elif isinstance(item, slice):
            view = _sliced(view, dim, item)
            dim += 1
        elif isinstance(item, (bool, Tensor)):
            pick, width = _pick(self, item)
            if _consumed(item) == 0:
                view = view.unsqueeze(dim)
            picks += [None] * (dim - covered) + [pick]
            dim = covered = dim + width
        else:
            view = _selected(view, dim, item, position)
    return view, (picks or None)


def _pick(self: Tensor, item: bool | Tensor) -> tuple[Tensor, int]:
    """An index tensor, and how many dimensions it stands for. One truth value picks all or nothing."""
    if isinstance(item, bool):
        result: Tensor = ops.aten.arange(1 if item else 0, device=self.device)
        return result, 1
    if _is_mask(item):
        return (item.reshape((1,)), 1) if item.dim() == 0 else (item, item.dim())
    return item, 1


def _items(index: Any) -> tuple[Any, ...]:
    """The indices of the dimensions, not yet converted. A sequence that holds more than numbers stands for a tuple."""
    if isinstance(index, tuple):
        return tuple(map(_array_as_tensor, index))
    if isinstance(index, int):
        return (_within_64_bits(index),)
    if index is None or isinstance(index, (slice, Tensor)) or not is_sequence(index):
        return (index,)
    if _is_array(index) or not _stands_for_tuple(index):
        return (_array_as_tensor(index),)
    return tuple(map(_array_as_tensor, index))


def _is_array(value: Any) -> bool:
    return hasattr(type(value), "__array_interface__") and value.ndim > 0


def _array_as_tensor(item: Any) -> Any:
    """A NumPy array as a tensor: a mask stands for as many dimensions as it has, which are counted next."""
    if item is None or isinstance(item, (slice, int, Tensor)):
        return item
    return _as_tensor(item) if _is_array(item) else item


_LONGEST_TUPLE = 32  # what is longer holds numbers, as NumPy once had it


def _stands_for_tuple(index: Any) -> bool:
    if len(index) >= _LONGEST_TUPLE:
        return False
    return any(
        item is None or item is Ellipsis or isinstance(item, (slice, Tensor)) or is_sequence(item) for item in index
    )


def _plain(item: Any) -> Any:
    """An index as an integer, a slice, a tensor, None or ``...``. Raises IndexError for what is no index."""
    if item is None or item is Ellipsis or isinstance(item, (slice, bool)):
        return item
    if isinstance(item, Tensor):
        is_number = item.dim() == 0 and _is_integer(item) and not _core.tensor_keys(item) & _BATCHED
        return int(item.item()) if is_number else item
    if isinstance(item, int):
        return _within_64_bits(item)
    if is_sequence(item):
        return _as_tensor(item)
    try:
        position = operator.index(item)
    except (TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise _no_index(item) from error
    return _within_64_bits(position)


def _within_64_bits(index: int) -> int:
    if not -(2**63) <= index < 2**63:
        raise ValueError(f"Overflow when unpacking long long: index {index} needs more than 64 bits")
    return index


def _no_index(item: Any) -> IndexError:
    return IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
        f"(got {type(item).__name__})"
    )


def _is_integer(item: Tensor) -> bool:
    """Whether an index tensor holds positions."""
    return not item.is_floating_point() and not item.is_complex() and not _is_mask(item)


def _is_mask(item: Any) -> bool:
    """Whether an index is a tensor of truth values; uint8 stands for them too, as it did before there was bool."""
    return isinstance(item, Tensor) and item.dtype in _MASKS


_MASKS = frozenset((_core.dtypes["bool"], _core.dtypes["uint8"]))


def _as_tensor(value: Any) -> Tensor:
    """A sequence as a mask where it holds truth values, else as positions: a fraction is dropped."""
    if isinstance(value, (str, bytes)):  # sequences, but of no numbers
        raise TypeError(f"new(): invalid data type '{type(value).__name__}'")
    result = tensor(value)
    return result if _is_mask(result) else result.long()


def _consumed(item: Any) -> int:
    """How many dimensions of the tensor an index stands for."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    return item.dim() if _is_mask(item) else 1


def _with_ellipsis(self: Tensor, items: tuple[Any, ...]) -> list[tuple[int, Any]]:
    """The indices, each with its position among those given, and ``...`` as the slices it stands for."""
    used = sum(map(_consumed, items))
    if used > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()}")
    result: list[tuple[int, Any]] = []
    found = False
    for position, item in enumerate(items):
        if item is Ellipsis:
            result += [] if found else [(position, slice(None))] * (self.dim() - used)
            found = True
        else:
            result.append((position, item))
    return result


def _sliced(view: Tensor, dim: int, item: slice) -> Tensor:
    if item == slice(None):
        return view
    step = 1 if item.step is None else int(_bound(item.step))
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        raise ValueError("step must be greater than zero")
    result: Tensor = ops.aten.slice.Tensor(view, dim, _bound(item.start), _bound(item.stop), step)
    return result


def _bound(value: Any) -> Any:
    """A slice's end as an integer; a tensor stays one, so that a trace sees where it comes from."""
    if value is None:
        return None
    if isinstance(value, Tensor):
        if value.numel() != 1 or value.is_floating_point() or value.is_complex():
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return value if value.dim() == 0 else value.reshape(())
    if not hasattr(type(value), "__index__"):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return max(-(2**63), min(operator.index(value), 2**63 - 1))


def _refuse_alone(index: Any) -> None:
    """Raises IndexError for an index that a tensor without dimensions has none for, and that is not one of several."""
    if isinstance(index, slice):
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if isinstance(index, int) and not isinstance(index, bool):
        _within_64_bits(index)
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert "
            "a 0-dim tensor to a number"
        )


def _selected(view: Tensor, dim: int, index: int, position: int) -> Tensor:
    size = view.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {position} with size {size}")
    result: Tensor = ops.aten.select.int(view, dim, index)
    return result


_core.hooks.fill(getitem=getitem, setitem=setitem)
