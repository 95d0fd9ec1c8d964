"""Sorting, ranks, unique elements and places in sorted sequences, by NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from .._settings import warn_once
from ._arrays import as_array, bits, moved
from ._native import native
from .reduction import wrap_dim

_I64, _I32, _BOOL = (_core.dtypes[name] for name in ("int64", "int32", "bool"))
_CPU = _core.device("cpu")
_FEW = 8  # elements that others are compared with one by one


def _ordered(self: Tensor, d: int, descending: bool, values: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
    """Fills both with the first elements along a dimension, and their places; equal ones keep their order."""
    order = native("mt_order", "desc", "i64", "i64", "desc", "desc")
    if self.dim():
        order(self, d, descending, values, places)
    else:
        order(self.view((1,)), 0, descending, values.view((1,)), places.view((1,)))
    return values, places


def _order(self: Tensor, d: int) -> Any:
    """The indices that sort an array along a dimension."""
    return bits(_ordered(self, d, False, ops.aten.empty_like(self), ops.aten.empty_like(self, dtype=_I64))[1])


def refuse_complex(name: str, self: Tensor) -> None:
    """Complex numbers have no order."""
    if self.is_complex():
        raise NotImplementedError(f"{name}(): complex numbers have no order; got {self.dtype}")


def sort(self: Tensor, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """Elements in rising order along a dimension, and where they were."""
    return sort_stable(self, stable=True, dim=dim, descending=descending)


def sort_stable(self: Tensor, *, stable: bool | None, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """As `sort`; equal elements always keep their order."""
    d = wrap_dim(dim, self.dim())
    refuse_complex("sort", self)
    return _ordered(self, d, descending, *sort_fake(self))


def sort_fake(self: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Two tensors of the same size and layout."""
    return ops.aten.empty_like(self), ops.aten.empty_like(self, dtype=_I64)


def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """Where the elements are that sort a tensor along a dimension."""
    result: Tensor = ops.aten.sort.default(self, dim, descending)[1]
    return result


def argsort_stable(self: Tensor, *, stable: bool, dim: int = -1, descending: bool = False) -> Tensor:
    """As `argsort`; equal elements keep their order."""
    result: Tensor = ops.aten.sort.stable(self, stable=stable, dim=dim, descending=descending)[1]
    return result


def msort(self: Tensor) -> Tensor:
    """Sorted along the first dimension."""
    result: Tensor = ops.aten.sort.default(self, 0)[0]
    return result


def _length(self: Tensor, d: int) -> int:
    return self.shape[d] if self.dim() else 1


def topk(self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """The ``k`` largest or least elements along a dimension, and where they are."""
    refuse_complex("topk", self)
    if self.dtype is _BOOL:
        raise NotImplementedError("topk() is not implemented for bool")
    d = wrap_dim(dim, self.dim())
    return _ordered(self, d, largest, *topk_fake(self, k, d))


def _check_k(k: int, length: int) -> None:
    if not 0 <= k <= length:
        raise RuntimeError("selected index k out of range")


def topk_fake(self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """Two tensors with ``k`` in a dimension."""
    d = wrap_dim(dim, self.dim())
    _check_k(k, _length(self, d))
    shape = (*self.shape[:d], k, *self.shape[d + 1 :]) if self.dim() else ()
    return tuple(_core.alloc(shape, dtype, self.device) for dtype in (self.dtype, _I64))  # type: ignore[return-value]


def _chosen(self: Tensor, order: Any, d: int, at: Any, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The elements at a place of an order, along a dimension."""
    import numpy as np

    if not self.dim():
        return self.clone(), moved(order, _I64)
    index = np.take(order, [at], axis=d) if isinstance(at, int) else np.take_along_axis(order, at, d)
    values = np.take_along_axis(bits(self), index, d)
    if not keepdim:
        values, index = values.squeeze(d), index.squeeze(d)
    return moved(values, self.dtype), moved(index, _I64)


def kthvalue(self: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The k-th least elements along a dimension, and where they are."""
    refuse_complex("kthvalue", self)
    d = wrap_dim(dim, self.dim())
    if self.dim() and not self.shape[d]:
        raise IndexError(f"kthvalue(): Expected reduction dim {d} to have non-zero size.")
    if not 1 <= k <= _length(self, d):
        raise RuntimeError("kthvalue(): selected number k out of range for dimension " + str(d))
    return _chosen(self, _order(self, d), d, k - 1, keepdim)


def median(self: Tensor) -> Tensor:
    """The lower of the elements in the middle; NaN if there is one."""
    return _middle("median", self)


def nanmedian(self: Tensor) -> Tensor:
    """As `median`, of what is not NaN."""
    return _middle("nanmedian", self)


def _middle(name: str, self: Tensor) -> Tensor:
    if self.is_complex():
        raise NotImplementedError(f"{name}(): complex numbers have no order; got {self.dtype}")
    flat = self.reshape((-1,))
    if not self.numel():
        if not self.is_floating_point():
            return moved(_least(self.dtype), self.dtype)
        return ops.aten.full([], float("nan"), dtype=self.dtype)  # type: ignore[no-any-return]
    if self.dtype is _BOOL:
        raise NotImplementedError(f"{name}() is not implemented for {self.dtype}")
    return _middle_of(name, flat, 0, False)[0]


def _least(dtype: Any) -> Any:
    """NaN converted: the least integer, or true."""
    import numpy as np

    name = str(dtype).removeprefix("torch.")
    return np.ones((), name) if name == "bool" else np.array(np.iinfo(name).min)


def median_dim(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The lower elements in the middle along a dimension, and where they are."""
    return _middle_of("median", self, dim, keepdim)


def nanmedian_dim(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """As `median_dim`, of what is not NaN."""
    return _middle_of("nanmedian", self, dim, keepdim)


def _middle_of(name: str, self: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    import numpy as np

    refuse_complex(name, self)
    d = wrap_dim(dim, self.dim())
    if self.dim() and not self.shape[d]:
        raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
    array = as_array(self)
    order = _order(self, d)
    size = _length(self, d)
    axis = d if self.dim() else None
    missing = (
        np.isnan(array).sum(axis=axis, keepdims=True)
        if array.dtype.kind == "f"
        else np.zeros_like(order).sum(axis=axis, keepdims=True)
    )
    if name == "median":
        first = size - missing  # the first NaN in order
        at = np.where(missing > 0, first, (size - 1) // 2)
    else:
        at = np.maximum(size - missing - 1, 0) // 2
    return _chosen(self, order, d, at, keepdim)


def reduced_fake(self: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """Values and places with a dimension reduced."""
    d = wrap_dim(dim, self.dim())
    shape = [1 if k == d else size for k, size in enumerate(self.shape) if keepdim or k != d]
    return tuple(_core.alloc(shape, dtype, self.device) for dtype in (self.dtype, _I64))  # type: ignore[return-value]


def mode(self: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The most frequent elements along a dimension, the least of them, and a place of each."""
    d = wrap_dim(dim, self.dim())
    refuse_complex("mode", self)
    if self.dim() and not self.shape[d]:
        raise IndexError(f"mode(): Expected reduction dim {d} to have non-zero size.")
    if not self.dim():
        return self.clone(), ops.aten.zeros_like(self, dtype=_I64)
    values, places = reduced_fake(self, d, True)
    native("mt_mode", "desc", "i64", "desc", "desc")(self, d, values, places)
    return (values, places) if keepdim else (values.squeeze(d), places.squeeze(d))


# ---------------------------------------------------------------- unique elements
def data_dependent(*args: Any, **kwargs: Any) -> Any:
    """Always an error: the size of the result depends on values."""
    raise NotImplementedError("the size of the result is data-dependent, and a fake rule has no data")


def unique(self: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Tensor, Tensor]:
    """As `unique2`, without the counts."""
    return unique2(self, sorted, return_inverse)[:2]


def _nothing() -> Tensor:
    return _core.alloc((0,), _I64, _CPU)


def _without_repeats(rows: Tensor, inverse: bool, counts: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The rows of a matrix without those that are equal to the one before; where each is among them, and how often."""
    count = rows.shape[0]
    values, found = _core.alloc(rows.shape, rows.dtype, rows.device), _core.alloc((1,), _I64, _CPU)
    places, times = (_core.alloc((count if asked else 0,), _I64, _CPU) for asked in (inverse, counts))
    native("mt_unique_rows", "desc", "desc", "desc", "desc", "desc")(rows, values, places, times, found)
    left = found.item()
    if left < count:  # of memory no more is kept
        values = values.narrow(0, 0, left).clone()
        times = times.narrow(0, 0, left).clone() if counts else times
    return values, places, times


def _unique_rows(rows: Tensor, inverse: bool, counts: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The rows of a matrix, each once and in rising order; where each is among them, and how often."""
    order = _core.alloc((rows.shape[0],), _I64, _CPU)
    if rows.shape[1] == 1 and not rows.is_complex():
        ordered = _ordered(rows, 0, False, _core.alloc(rows.shape, rows.dtype, _CPU), order.unsqueeze(1))[0]
    else:
        native("mt_order_rows", "desc", "desc")(rows, order)
        ordered = rows.index_select(0, order)
    values, places, times = _without_repeats(ordered, inverse, counts)
    return values, places.new_empty(places.shape).scatter_(0, order, places) if inverse else places, times


def _rows(self: Tensor, d: int | None) -> Tensor:
    """The elements, or the slices along a dimension, as a contiguous matrix."""
    if d is None:
        return self.contiguous().reshape((-1, 1))  # type: ignore[no-any-return]
    return self.movedim(d, 0).contiguous().reshape((self.shape[d], -1))  # type: ignore[no-any-return]


def _slices(self: Tensor, d: int, rows: Tensor) -> Tensor:
    """Rows as slices along a dimension."""
    rest = [size for k, size in enumerate(self.shape) if k != d]
    result: Tensor = rows.reshape((rows.shape[0], *rest)).movedim(0, d)
    return result


def unique2(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The elements, each once and in rising order; where each element is among them; how often each is there."""
    if not self.numel():
        inverse = _core.alloc(self.shape, _I64, _CPU) if return_inverse else _nothing()
        return _core.alloc((0,), self.dtype, _CPU), inverse, _nothing()
    values, inverse, counts = _unique_rows(_rows(self, None), return_inverse, return_counts)
    return values.reshape((-1,)), inverse.reshape(self.shape) if return_inverse else inverse, counts


def _checked_dim(self: Tensor, dim: int) -> int:
    """A dimension whose slices may be unique, counted from 0."""
    if not self.dim():
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = wrap_dim(dim, self.dim())
    if not self.numel() and (self.shape[d] or sum(n == 0 for n in self.shape) > 1):
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    return d


def unique_dim(
    self: Tensor, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The slices along a dimension, each once and in rising order; and as `unique2`."""
    d = _checked_dim(self, dim)
    if not self.numel():
        return self.clone(), _nothing(), _nothing()
    values, inverse, counts = _unique_rows(_rows(self, d), True, True)
    return _slices(self, d, values), inverse, counts


def unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The elements, or the slices along a dimension, without those that are equal to the one before."""
    d = None if dim is None else _checked_dim(self, dim)
    if not self.numel():
        return (self.clone(), _nothing(), _nothing()) if d is not None else unique2(self, True, return_inverse)
    asked = (return_inverse, return_counts) if d is None else (True, True)  # as in PyTorch
    values, inverse, counts = _without_repeats(_rows(self, d), *asked)
    if d is not None:
        return _slices(self, d, values), inverse, counts
    return values.reshape((-1,)), inverse.reshape(self.shape) if return_inverse else inverse, counts


# ---------------------------------------------------------------- places
def isin(elements: Tensor, test_elements: Tensor, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element is among others."""
    wide = _core.common_dtype(elements, test_elements)
    if test_elements.numel() <= _FEW:
        alike: Tensor = (elements.to(wide).unsqueeze(-1) == test_elements.to(wide).flatten()).any(-1)
        return alike.logical_not_() if invert else alike
    import numpy as np

    found = np.isin(as_array(elements.to(wide)), as_array(test_elements.to(wide)), invert=invert)
    return moved(found, _BOOL)


def isin_scalar(elements: Tensor, test_element: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element is a number."""
    result: Tensor = elements != test_element if invert else elements == test_element
    return result


def isin_of_number(element: Any, test_elements: Tensor, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether a number is among elements."""
    given = ops.aten.scalar_tensor(
        element, dtype=_core.common_dtype(test_elements, element), device=test_elements.device
    )
    result: Tensor = ops.aten.isin.Tensor_Tensor(given, test_elements, assume_unique=assume_unique, invert=invert)
    return result


def searchsorted(
    sorted_sequence: Tensor,
    self: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where elements would stand in sorted sequences, before equal ones, or by ``right`` behind them."""
    import numpy as np

    right = _check_search(sorted_sequence, self, right, side, sorter)
    for what, tensor in (("input value", self), ("boundary", sorted_sequence), ("sorter", sorter)):
        if tensor is not None and not tensor.is_contiguous():
            warn_once(
                f"torch.searchsorted(): {what} tensor is non-contiguous, this will lower the performance due to extra "
                f"data copy when converting non-contiguous tensor to contiguous, please use contiguous {what} tensor "
                "if possible. This message will only appear once per program.",
                f"searching with a strided {what} tensor",
            )
    wide = _core.common_dtype(sorted_sequence, self)
    if wide.is_complex and self.numel():
        raise NotImplementedError(f"torch.searchsorted() is not implemented for {wide}")
    sequences = as_array(sorted_sequence.to(wide))
    if sorter is not None:
        order = bits(sorter)
        if order.size and (order.min() < 0 or order.max() >= sequences.shape[-1]):
            raise RuntimeError("torch.searchsorted(): sorter index out of range")
        sequences = np.take_along_axis(sequences, order, -1)
    values = as_array(self.to(wide))
    where: Any = "right" if right else "left"
    if sequences.ndim == 1:
        found = np.searchsorted(sequences, values, where)
    else:
        found = np.zeros(values.shape, "int64")
        for at in np.ndindex(*sequences.shape[:-1]):
            found[at] = np.searchsorted(sequences[at], values[at], where)
    target = _I32 if out_int32 else _I64
    return moved(np.asarray(found).astype(str(target)[6:]), target)


def _check_search(sequence: Tensor, values: Tensor, right: bool, side: str | None, sorter: Tensor | None) -> bool:
    if side is not None:
        if side not in ("left", "right"):
            raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
        if right and side == "left":
            raise RuntimeError(
                f"torch.searchsorted(): side and right can't be set to opposites, got side of {side} while right "
                "was True"
            )
        right = side == "right"
    if not sequence.dim() or (sequence.dim() != 1 and not values.dim()):
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({sequence.dim()})"
        )
    if sequence.dim() != 1 and (values.dim() != sequence.dim() or values.shape[:-1] != sequence.shape[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(sequence.shape)} and input "
            f"value tensor {list(values.shape)}"
        )
    if sorter is not None:
        if sorter.shape != sequence.shape:
            raise RuntimeError(
                "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                f"{list(sequence.shape)} and got sorter tensor {list(sorter.shape)}"
            )
        if sorter.dtype is not _I64:
            raise RuntimeError(
                f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {sorter.dtype}"
            )
    return right


def searchsorted_scalar(sorted_sequence: Tensor, self: Any, **options: Any) -> Tensor:
    """As `searchsorted`, of a number."""
    given = ops.aten.scalar_tensor(self, dtype=sorted_sequence.dtype, device=sorted_sequence.device)
    result: Tensor = ops.aten.searchsorted.Tensor(sorted_sequence, given, **options)
    return result


def bucketize(self: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """Between which boundaries each element is."""
    if boundaries.dim() != 1:
        raise RuntimeError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    result: Tensor = ops.aten.searchsorted.Tensor(boundaries, self, out_int32=out_int32, right=right)
    return result


def bucketize_scalar(self: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """As `bucketize`, of a number."""
    given = ops.aten.scalar_tensor(self, dtype=boundaries.dtype, device=boundaries.device)
    return bucketize(given, boundaries, out_int32=out_int32, right=right)


# ---------------------------------------------------------------- gradients
def value_selecting_backward(grad: Tensor, dim: int, indices: Tensor, sizes: Sequence[int], keepdim: bool) -> Tensor:
    """Zeros, with a gradient at the places that were chosen along a dimension."""
    if sizes and not keepdim:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    zeros = grad.new_zeros(sizes)
    if not sizes:
        return grad
    result: Tensor = zeros.scatter_add(dim, indices, grad)
    return result
