"""``x[...]`` and ``x[...] = v``: basic indices become views, index tensors and masks become index and index_put_."""

from __future__ import annotations

import operator
from typing import Any

from . import _core
from ._core import Tensor
from ._ops import ops

__all__ = ["getitem", "setitem"]


def getitem(self: Tensor, index: Any) -> Tensor:
    """``self[index]``, as PyTorch indexes."""
    view, picks = _basic(self, index)
    if picks is None:
        return view if view is not self else ops.aten.alias.default(self)
    result: Tensor = ops.aten.index.Tensor(view, picks)
    return result


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """``self[index] = value``; a value of another dtype is converted where the index picks a view."""
    if _is_whole_mask(self, index) and (_is_number(value) or (isinstance(value, Tensor) and value.dim() == 0)):
        self.masked_fill_(index, value)
        return
    view, picks = _basic(self, index)
    given = isinstance(value, Tensor)
    if not given:
        value = (
            ops.aten.scalar_tensor(value, dtype=self.dtype, device=self.device) if _is_number(value) else _array(value)
        )
    if picks is None:
        while value.dim() > view.dim() and value.shape[0] == 1:
            value = value.squeeze(0)
        view.copy_(value)
        return
    if not given and value.dtype is not self.dtype:
        value = ops.aten._to_copy(value, dtype=self.dtype)
    ops.aten.index_put_(view, picks, value)


def _is_whole_mask(self: Tensor, index: Any) -> bool:
    return isinstance(index, Tensor) and index.dtype is _core.dtypes["bool"] and index.shape == self.shape


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex))


def _array(value: Any) -> Tensor:
    from ._creation import tensor

    return tensor(value)


def _basic(self: Tensor, index: Any) -> tuple[Tensor, list[Tensor | None] | None]:
    """The view that integers, slices, None and ``...`` make; and what index tensors there are, by its dimensions."""
    items = _with_ellipsis(self, _items(index))
    view, dim = self, 0
    picks: list[Tensor | None] = []
    covered = 0  # dimensions of the view that the picks stand for: a mask stands for as many as it has
    for item in items:
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
            view = _selected(self, view, dim, item)
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
    if isinstance(index, tuple):
        return tuple(_as_tensor(item) if isinstance(item, (list, tuple)) else _plain(item) for item in index)
    if isinstance(index, list):
        return (_as_tensor(index),)
    return (_plain(index),)


def _plain(item: Any) -> Any:
    """NumPy's arrays as tensors, and its numbers as Python's."""
    if isinstance(item, Tensor) and item.dim() == 0 and _is_integer(item):
        return int(item.item())
    if item is None or item is Ellipsis or isinstance(item, (Tensor, int, slice)):
        return item
    if isinstance(item, (str, bytes)):  # sequences, but of no numbers
        raise TypeError(f"new(): invalid data type '{type(item).__name__}'")
    if hasattr(item, "__array_interface__") and item.ndim > 0:
        return _as_tensor(item)
    if hasattr(item, "__index__"):
        return item.__index__()
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
        f"(got {type(item).__name__})"
    )


def _is_integer(item: Tensor) -> bool:
    """Whether an index tensor holds positions."""
    return not item.is_floating_point() and not item.is_complex() and not _is_mask(item)


def _is_mask(item: Any) -> bool:
    """Whether an index is a tensor of truth values; uint8 stands for them too, as it did before there was bool."""
    return isinstance(item, Tensor) and item.dtype in _MASKS


_MASKS = (_core.dtypes["bool"], _core.dtypes["uint8"])


def _as_tensor(value: Any) -> Tensor:
    from ._creation import tensor

    result = tensor(value)
    return result.long() if result.numel() == 0 else result


def _consumed(item: Any) -> int:
    """How many dimensions of the tensor an index stands for."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    return item.dim() if _is_mask(item) else 1


def _with_ellipsis(self: Tensor, items: tuple[Any, ...]) -> list[Any]:
    """``...`` as the slices it stands for."""
    used = sum(map(_consumed, items))
    if used > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()}")
    result: list[Any] = []
    found = False
    for item in items:
        if item is Ellipsis:
            result += [] if found else [slice(None)] * (self.dim() - used)
            found = True
        else:
            result.append(item)
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


def _selected(self: Tensor, view: Tensor, dim: int, index: int) -> Tensor:
    if self.dim() == 0:
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert "
            "a 0-dim tensor to a number"
        )
    size = view.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")
    result: Tensor = ops.aten.select.int(view, dim, index)
    return result
