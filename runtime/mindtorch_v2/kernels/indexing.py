"""Elements picked and changed by index tensors and masks."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._frames import user_stacklevel
from .._ops import ops
from ..library._fake import allows_dynamic_sizes, new_size
from ._arrays import bits
from ._contexts import saves
from ._native import native
from .reduction import wrap_dim

__all__ = [
    "gather",
    "gather_backward",
    "gather_fake",
    "gather_setup",
    "index",
    "index_backward",
    "index_fake",
    "index_put_",
    "index_put_backward",
    "index_put_setup",
    "index_select",
    "index_select_backward",
    "index_select_setup",
    "index_setup",
    "nonzero",
    "nonzero_fake",
    "scatter_add_",
    "where_nonzero",
]

_BF16, _BOOL, _U8 = (_core.dtypes[n] for n in ("bfloat16", "bool", "uint8"))
_HALVES = _core.dtypes["float16"], _BF16
_PIECE, _PIECES = 1 << 14, 1 << 16  # elements that are looked through at a time, and how often at most
_I32, _I64 = _core.dtypes["int32"], _core.dtypes["int64"]
_CPU = _core.device("cpu")
_BYTES_AS_MASK = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."


def _keys(self: Tensor, indices: Sequence[Tensor | None]) -> dict[int, Tensor]:
    """An index tensor for each dimension that has one. Checks kinds and shapes as PyTorch does."""
    if len(indices) > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()} (got {len(indices)})")
    keys: dict[int, Tensor] = {}
    d = 0
    for index in indices:
        if index is None:
            d += 1
        elif index.dtype is _I64 or index.dtype is _I32:
            if d >= self.dim():
                raise IndexError(f"too many indices for tensor of dimension {self.dim()}")
            keys[d] = index
            d += 1
        elif index.dtype in (_BOOL, _U8):
            if index.dtype is _U8:
                warnings.warn(_BYTES_AS_MASK, stacklevel=user_stacklevel())
            for part in _mask_keys(self, index, d):
                keys[d] = part
                d += 1
        else:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return keys


def _mask_keys(self: Tensor, mask: Tensor, first: int) -> list[Tensor]:
    if mask.dim() == 0:
        raise IndexError("a mask without dimensions selects nothing: use a mask of the tensor's leading dimensions")
    for d, size in enumerate(mask.shape):
        if first + d >= self.dim() or size != self.shape[first + d]:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {d} does not match the shape of the indexed tensor "
                f"{list(self.shape)} at index {first + d}"
            )
    return list(_nonzero_rows(mask).unbind(1))


class _Picked:
    """What index tensors pick: index tensors apart from one another go first, as in NumPy."""

    def __init__(self, self_: Tensor, keys: dict[int, Tensor]) -> None:
        """Raises IndexError where the index tensors do not fit one another."""
        self.source, self.keys = self_, keys
        shapes: list[tuple[int, ...]] = [key.shape for key in keys.values()]
        self.together = shapes[0] if shapes else ()
        if len(shapes) > 1 and shapes.count(self.together) != len(shapes):
            try:
                self.together = _core.broadcast_shapes(*shapes)
            except RuntimeError:
                told = ", ".join(str(list(shape)) for shape in shapes)
                raise IndexError(
                    f"shape mismatch: indexing tensors could not be broadcast together with shapes {told}"
                ) from None
        given = list(keys)
        self.mask = 0
        for d in given:
            self.mask |= 1 << d
        self.place = given[0] if given and given[-1] - given[0] == len(given) - 1 else 0
        rest = [size for d, size in enumerate(self_.shape) if d not in keys] if len(given) < self_.dim() else []
        self.shape = (*rest[: self.place], *self.together, *rest[self.place :])

    def is_nothing(self) -> bool:
        """Whether there is nothing at the indices, which then may be any. IndexError where none could be right."""
        if 0 not in self.shape:
            return False
        if 0 not in self.together and any(not self.source.shape[d] for d in self.keys):
            raise IndexError("index is out of bounds for dimension with size 0")
        return True

    def offsets(self) -> Tensor:
        """Where the elements are in the tensor's memory, for each place of the index tensors."""
        result = _core.alloc(self.together, _I64, _CPU)
        add = native("mt_index_offsets", "desc", "i64", "i64", "desc", "bool_")
        strides = self.source.stride()
        for nth, (d, key) in enumerate(self.keys.items()):
            wide = key if key.shape == self.together else key.expand(self.together)
            try:
                add(wide, self.source.shape[d], strides[d], result, nth == 0)
            except RuntimeError:  # the kernel's, which does not say which
                _check_indices(bits(key), d, self.source.shape[d])
                raise
        return result if self.keys else result.zero_()

    def launch(self, name: str, other: Tensor) -> None:
        """Calls a kernel for what is picked, and a tensor of its shape."""
        kernel = native(name, "desc", "u64", "i64", "desc", "desc")
        kernel(self.source, self.mask, self.place, self.offsets(), other)


def add_at(self: Tensor, keys: dict[int, Tensor], values: Tensor) -> None:
    """``values``, of the shape that is picked, added at index tensors for some dimensions: each sum is rounded."""
    picked = _Picked(self, keys)
    if not picked.is_nothing():
        picked.launch("mt_index_add", values)


def write_at(self: Tensor, keys: dict[int, Tensor], values: Tensor) -> None:
    """``values``, of the shape that is picked, written at index tensors for some dimensions."""
    picked = _Picked(self, keys)
    if not picked.is_nothing():
        picked.launch("mt_index_write", values)


def _check_indices(array: Any, d: int, size: int) -> None:
    if array.size and not size:
        raise IndexError("index is out of bounds for dimension with size 0")
    if array.size and not (-size <= array.min() and array.max() < size):
        wrong = array[(array < -size) | (array >= size)].flat[0]
        raise IndexError(f"index {wrong} is out of bounds for dimension {d} with size {size}")


def index(self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """Elements at index tensors or masks."""
    if not indices:
        raise IndexError("at least one index must be provided")
    picked = _Picked(self, _keys(self, indices))
    result = _core.alloc(picked.shape, self.dtype, self.device)
    if not picked.is_nothing():
        picked.launch("mt_index_take", result)
    return result


def index_put_(self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool) -> Tensor:
    """``values`` written, or with ``accumulate`` added, at index tensors or masks."""
    picked = _Picked(self, _keys(self, indices))
    given = tuple(values.shape)
    if values.numel() == 1 and not accumulate and _is_one_mask(indices):
        given = ()  # as a number for `masked_fill`, which may be of another dtype
        values = values.to(self.dtype) if self.dtype.is_complex or not values.dtype.is_complex else values
    if not _fits(given, picked.shape):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing "
            f"result of shape {list(picked.shape)}"
        )
    if self.dtype is not values.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {_core.scalar_types[self.dtype.name]} "
            f"for the destination and {_core.scalar_types[values.dtype.name]} for the source."
        )
    if not picked.is_nothing():
        spread = values if given == picked.shape else values.reshape(given).expand(picked.shape)
        picked.launch("mt_index_add" if accumulate else "mt_index_write", spread)
    return self


def _is_one_mask(indices: Sequence[Tensor | None]) -> bool:
    masks = [index for index in indices if index is not None]
    return len(masks) == 1 and masks[0].dtype is _BOOL


def _fits(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether values of a shape can be broadcast to another as it is."""
    whole = shape[len(shape) - len(given) :]
    return len(given) <= len(shape) and all(n in (1, size) for n, size in zip(given, whole, strict=True))


def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    """Slices of a dimension in the order of an index tensor."""
    if index.dim() > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype not in (_I32, _I64):
        raise RuntimeError(f"index_select(): Expected dtype int32 or int64 for index, got {index.dtype}")
    d = wrap_dim(dim, self.dim())
    if self.dim() and self.numel() == 0 and self.shape[d] == 0 and (index.numel() and self.dim() > 1):
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    result = _core.alloc(_selected(self, d, index.numel()), self.dtype, self.device)
    order = index if index.dim() else index.reshape((1,))
    source, to = (self, result) if self.dim() else (self.reshape((1,)), result.reshape((1,)))
    if not self.dim() and order.numel() != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {order.numel()} value(s)")
    native("mt_index_select", "desc", "i64", "desc", "desc")(source, d, order, to)
    return result


def _selected(self: Tensor, d: int, count: int) -> tuple[int, ...]:
    return (*self.shape[:d], count, *self.shape[d + 1 :]) if self.dim() else ()


def gather(self: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Elements along a dimension, at an index of their own each."""
    d = wrap_dim(dim, self.dim())
    if index.numel() == 0:
        return _core.alloc(index.shape, self.dtype, self.device)
    source, where = (self, index) if self.dim() and index.dim() else (_lifted(self), _lifted(index))
    _check_places(source, d, where)
    result = _core.alloc(where.shape, self.dtype, self.device)
    native("mt_gather", "desc", "i64", "desc", "desc")(source, d, where, result)
    return result if where is index else result.reshape(index.shape)


def gather_fake(self: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """The result of `gather` without its values."""
    d = wrap_dim(dim, self.dim())
    if index.numel():
        _check_places(_lifted(self), d, _lifted(index))
    return _core.alloc(index.shape, self.dtype, self.device)


def _lifted(tensor: Tensor) -> Tensor:
    """A tensor without dimensions as one of a single element."""
    result: Tensor = tensor.reshape((1,)) if tensor.dim() == 0 else tensor
    return result


def _check_places(self: Tensor, d: int, index: Tensor) -> None:
    """Refuses what is no index, and one that reaches beyond self's other dimensions."""
    if index.dim() != self.dim():
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    if index.dtype not in (_I32, _I64):
        raise RuntimeError(f"gather(): Expected dtype int32/int64 for index, got {index.dtype}")
    if _core.fits_within(index, self, d):
        return
    for k, size in enumerate(index.shape):
        if k != d and size > self.shape[k]:
            raise RuntimeError(
                f"Size does not match at dimension {k} expected index {list(index.shape)} to be no larger than self "
                f"{list(self.shape)} apart from dimension {d}"
            )


def _check_source(self: Tensor, d: int, index: Tensor, src: Tensor) -> None:
    """Refuses an index that has no element of ``src``, or no place in self, for each of its own."""
    if index.dtype not in (_I32, _I64):
        raise RuntimeError(f"scatter(): Expected dtype int32/int64 for index, got {index.dtype}")
    for name, other in (("self", self), ("src", src)):
        if index.dim() != other.dim():
            raise RuntimeError(
                f"Index tensor must have the same number of dimensions as {name} tensor, which has {other.dim()}, not "
                f"{index.dim()}"
            )
        sizes = zip(index.shape, other.shape, strict=True)
        if any(n > size for k, (n, size) in enumerate(sizes) if k != d or other is src):
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from dimension "
                f"{d} and to be no larger size than src {list(src.shape)}"
            )


def scatter_add_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """``src`` added along a dimension, at an index of its own each."""
    d = wrap_dim(dim, self.dim())
    if self.dtype is not src.dtype:
        raise RuntimeError(f"scatter(): Expected self.dtype to be equal to src.dtype, got {self.dtype} and {src.dtype}")
    if index.numel() == 0:
        return self
    target, where, source = _lifted(self), _lifted(index), _lifted(src)
    _check_source(target, d, where, source)
    if self.is_meta:
        return self
    add = native("mt_scatter_add", "desc", "i64", "desc", "desc")
    if self.dtype in _HALVES:  # their sums are made in float32
        wide = target.float()
        add(wide, d, where, source.float())
        target.copy_(wide)
    else:
        add(target, d, where, source)
    return self


def index_fake(self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """The result of `index` without its values; what a mask selects depends on its values."""
    if any(index is not None and index.dtype in (_BOOL, _U8) for index in indices):
        raise NotImplementedError(
            "aten::index: how many elements a mask selects is data-dependent, and a fake rule has no data"
        )
    if len(indices) > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()} (got {len(indices)})")
    if any(index is not None and index.dtype not in (_I32, _I64) for index in indices):
        # The kernel's error is an IndexError: PyTorch has two classes for it.
        raise RuntimeError("tensors used as indices must be long, int, byte or bool tensors")
    given = [d for d, index in enumerate(indices) if index is not None]
    picked = _core.broadcast_shapes(*(index.shape for index in indices if index is not None))
    together = bool(given) and given == list(range(given[0], given[-1] + 1))
    rest = [size for d, size in enumerate(self.shape) if d not in given]
    place = given[0] if together else 0
    return _core.alloc((*rest[:place], *picked, *rest[place:]), self.dtype, self.device)


def nonzero_fake(self: Tensor) -> Tensor:
    """An error where every size has to be known: how many elements are not 0 depends on their values."""
    if allows_dynamic_sizes():
        made: Tensor = ops.aten.empty(
            [new_size(0, self.numel()), self.dim()], dtype=_core.dtypes["int64"], device=self.device
        )
        return made
    raise NotImplementedError(
        "aten::nonzero: how many elements are not 0 is data-dependent, and a fake rule has no data"
    )


def where_nonzero(condition: Tensor) -> list[Tensor]:
    """The indices of all elements that are not 0, a tensor for each dimension; a number counts as one element."""
    rows: Tensor = ops.aten.nonzero(condition if condition.dim() else condition.unsqueeze(0))
    return list(rows.unbind(1))


def _nonzero_rows(self: Tensor) -> Tensor:
    """The indices of the elements that are not 0, a row each, of a tensor of at least one dimension."""
    counts = _core.alloc((min(-(-self.numel() // _PIECE), _PIECES),), _I64, self.device)
    native("mt_nonzero_counts", "desc", "desc")(self, counts)
    rows = _core.alloc((int(bits(counts).sum()), self.dim()), _I64, self.device)
    native("mt_nonzero_rows", "desc", "desc", "desc")(self, counts, rows)
    return rows


def nonzero(self: Tensor) -> Tensor:
    """The indices of all elements that are not 0, a row each."""
    if self.dim() == 0:
        return _core.alloc((int(bool(bits(self.to(_BOOL)))), 0), _I64, self.device)
    return _nonzero_rows(self)


# ---------------------------------------------------------------- gradients
@saves(indices=slice(None), self_sym_sizes="shape")
def index_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the shape and the indices."""
    self, indices = inputs
    ctx.shape = self.shape
    ctx.save_for_backward(*indices)


def index_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The gradient added where the elements came from."""
    zeros = grad.new_zeros(ctx.shape)
    return zeros.index_put(list(ctx.saved_tensors), grad, True), None


@saves(indices=slice(None), accumulate="accumulate")
def index_put_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the indices and the values' shape."""
    _, indices, values, ctx.accumulate = inputs
    ctx.values_shape = values.shape
    ctx.save_for_backward(*indices)


def index_put_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """What was overwritten gets no gradient; the values get that of their places."""
    indices = list(ctx.saved_tensors)
    own = grad
    if not ctx.accumulate and ctx.needs_input_grad[0]:
        own = grad.index_put(indices, grad.new_zeros(()), False)
    values = None
    if ctx.needs_input_grad[2]:
        values = ops.aten.index.Tensor(grad, indices)
        lead = len(ctx.values_shape) - values.dim()
        if lead > 0:
            values = values.reshape((*(1,) * lead, *values.shape))
    return own, None, values, None


@saves(index=0, dim="dim", self_sym_sizes="shape")
def index_select_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the shape and the indices."""
    self, dim, index = inputs
    ctx.shape, ctx.dim = self.shape, wrap_dim(dim, self.dim())
    ctx.save_for_backward(index)


def index_select_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The gradient added where the slices came from."""
    (index,) = ctx.saved_tensors
    zeros = grad.new_zeros(ctx.shape)
    if len(ctx.shape) == 0:
        return grad, None, None
    return zeros.index_put([*[None] * ctx.dim, index.reshape((-1,))], grad, True), None, None


@saves(index=0, dim="dim")
def gather_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the shape and the indices."""
    self, dim, index = inputs[:3]
    ctx.shape, ctx.dim = self.shape, dim
    ctx.save_for_backward(index)


def gather_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The gradient added where the elements came from."""
    (index,) = ctx.saved_tensors
    base = grad.new_zeros(ctx.shape)
    return base if index.numel() == 0 else base.scatter_add(ctx.dim, index, grad), None, None, None
