"""Elements taken from and put to places along a dimension or in the flat tensor."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import IndexOutOfRangeError, Tensor, is_grad_enabled
from .._numbers import as_element
from .._ops import ops
from .._settings import alert_not_deterministic
from .._type_info import contiguous_format
from ..autograd.function import DelayedError
from ._arrays import bits, moved, written_once
from ._native import native
from .indexing import _check_source, _lifted, add_at, scatter_add_, write_at
from .reduction import wrap_dim

_DTYPES = _core.dtypes
_I64, _I32, _F32, _F16, _BF16, _BOOL = (
    _DTYPES[name] for name in ("int64", "int32", "float32", "float16", "bfloat16", "bool")
)
_HALVES = _F16, _BF16
_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _flat_index(self: Tensor, index: Tensor) -> Any:
    if index.dtype is not _I64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index.dtype}")
    places = bits(index)
    size = self.numel()
    if places.size and not size:
        raise IndexError("take(): tried to take from an empty tensor")
    if places.size and (places.min() < -size or places.max() >= size):
        wrong = places[(places < -size) | (places >= size)].flat[0]
        raise IndexError(f"out of range: tried to access index {wrong} on a tensor of {size} elements.")
    return places


def take(self: Tensor, index: Tensor) -> Tensor:
    """Elements of the flat tensor."""
    places = _flat_index(self, index)
    array = bits(self).reshape(-1)
    return moved(array[places], self.dtype)


def put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Elements written to, or added at, places of the flat tensor."""
    if not accumulate:
        alert_not_deterministic("put_")
    if index.dtype is not _I64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {index.dtype}")
    if self.dtype is not source.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {self.dtype} and "
            "source.dtype = "
            f"{source.dtype}"
        )
    if index.numel() != source.numel():
        raise IndexError(
            f"put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.numel()}, index.numel() = {index.numel()}"
        )
    if not index.numel():
        return self
    if not self.numel():
        raise IndexError("put_(): tried to put elements into an empty tensor")
    whole = self.contiguous()
    at, values = {0: index.reshape((-1,))}, source.reshape((-1,))
    try:
        (add_at if accumulate else write_at)(whole.reshape((-1,)), at, values)
    except IndexError:
        _flat_index(self, index)
        raise
    if whole is not self:
        self.copy_(whole)
    return self


def take_along_dim(self: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """As `gather`, with both broadcast against one another; without a dimension of the flat tensors."""
    if indices.dtype is not _I64:
        got = _core.scalar_types[indices.dtype.name]
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {got}")
    if dim is None:
        flat: Tensor = self.reshape((-1,)).gather(0, indices.reshape((-1,)))
        return flat
    if self.dim() != indices.dim():
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{self.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    d = wrap_dim(dim, self.dim())
    own, places = list(self.shape), list(indices.shape)
    own[d] = places[d] = 1
    shape = list(_core.broadcast_shapes(own, places))
    whole = shape.copy()
    whole[d], shape[d] = self.shape[d], indices.shape[d]
    wrapped = (
        ops.aten.remainder(indices, self.shape[d]) if self.shape[d] else indices
    )  # as in PyTorch, whatever they are
    result: Tensor = self.expand(whole).gather(d, wrapped.expand(shape))
    return result


# ---------------------------------------------------------------- scatter
def scatter_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """``src`` written along a dimension, at an index of its own each."""
    d = wrap_dim(dim, self.dim())
    if self.dtype is not src.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if index.numel() == 0:
        return self
    target, where, source = _lifted(self), _lifted(index), _lifted(src)
    _check_source(target, d, where, source)
    if self.is_meta:
        return self
    native("mt_scatter", "desc", "i64", "desc", "desc")(target, d, where, source)
    return self


def scatter_value_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A number written along a dimension, at each index."""
    return scatter_(self, dim, index, _filled(self, index, value))


def _filled(self: Tensor, index: Tensor, value: Any) -> Tensor:
    """The number in a tensor of index's shape, without memory for each element."""
    number = _number(self, value)
    result: Tensor = number.expand(index.shape)
    return result


def _number(self: Tensor, value: Any) -> Tensor:
    """The number as an element of self's dtype. Raises RuntimeError where that cannot hold it."""
    number = value if self.is_meta else as_element(value, self.dtype)
    made: Tensor = ops.aten.full([], number, dtype=self.dtype, device=self.device)
    return made


_BY_WORD = {"add": "sum", "multiply": "prod"}


def scatter_reduce_by_word_(self: Tensor, dim: int, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
    """``src`` added (``"add"``) or multiplied (``"multiply"``) along a dimension."""
    if reduce not in _BY_WORD:
        raise RuntimeError("reduce argument must be either add or multiply.")
    return scatter_reduce_(self, dim, index, src, _BY_WORD[reduce])


def scatter_value_reduce_(self: Tensor, dim: int, index: Tensor, value: Any, *, reduce: str) -> Tensor:
    """A number added or multiplied along a dimension."""
    return scatter_reduce_by_word_(self, dim, index, _filled(self, index, value), reduce=reduce)


def scatter_reduce_(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """``src`` reduced along a dimension, at an index of its own each, with what is there or in its place."""
    d = wrap_dim(dim, self.dim())
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
    if self.dtype is not src.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if reduce == "mean" and self.dtype is _BOOL and not self.is_meta:
        raise NotImplementedError("scatter_reduce(): truth values have no mean")
    if index.numel() == 0:
        return self
    target, where, source = _lifted(self), _lifted(index), _lifted(src)
    _check_source(target, d, where, source)
    if self.is_meta:
        return self
    if reduce in ("sum", "mean"):
        if not include_self:
            scatter_value_(target, d, where, 0)
        if reduce == "sum":
            scatter_add_(target, d, where, source)
        else:
            _mean_at(target, d, where, source, include_self)
        return self
    combine = native(f"mt_scatter_{reduce}", "desc", "i64", "desc", "desc", "bool_")
    if reduce == "prod" and self.dtype in _HALVES and index.dtype is _I64:  # in float32, and rounded once
        wide = target.float()
        combine(wide, d, where, source.float(), not include_self)
        target.copy_(wide)
    else:
        combine(target, d, where, source, not include_self)
    return self


def scatter_reduce(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """As `scatter_reduce_`, into a copy."""
    copy = self.clone(memory_format=contiguous_format)
    return scatter_reduce_(copy, dim, index, src, reduce, include_self=include_self)


def _mean_at(self: Tensor, d: int, index: Tensor, source: Tensor, include_self: bool) -> None:
    """Values added at places, and the sums divided by how many there are."""
    scatter_add_(self, d, index, source)
    once = written_once(index)  # an index for a whole slice is counted once
    shape = [
        1 if k != d and n == 1 and whole == size else size
        for k, (n, whole, size) in enumerate(zip(once.shape, index.shape, self.shape, strict=True))
    ]
    places = index[tuple(slice(n if k != d and shape[k] == 1 else None) for k, n in enumerate(shape))]
    counts = ops.aten.full(shape, int(include_self), dtype=_I64)
    scatter_add_(counts, d, places, ops.aten.ones([], dtype=_I64).expand(places.shape))
    if not include_self:
        counts.clamp_(min=1)
    if self.is_floating_point() or self.is_complex():
        self.copy_(self / counts)
    else:
        self.copy_(ops.aten.div.Tensor_mode(self, counts, rounding_mode="floor"))


def scatter_reduce_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The gradients of what was there and of ``src``."""
    self, index, src, result = ctx.saved_tensors
    dim, reduce, include = ctx.dim, ctx.reduce, ctx.include_self
    aten = ops.aten
    if not index.numel():
        return grad, None, None, grad.new_zeros(src.shape), None, None
    own, theirs = _reduced_gradients(aten, grad, self, index, src, result, dim, reduce, include)
    if not include:
        own = own.scatter(dim, index, 0)
    return own, None, None, theirs, None, None


def _reduced_gradients(
    aten: Any,
    grad: Tensor,
    self: Tensor,
    index: Tensor,
    src: Tensor,
    result: Tensor,
    dim: int,
    reduce: str,
    include: bool,
) -> tuple[Tensor, Tensor]:
    if reduce == "sum":
        return grad, grad.gather(dim, index)
    if reduce == "mean":
        counts = aten.ones_like(grad) if include else aten.zeros_like(grad)
        counts = counts.scatter_add(dim, index, aten.ones_like(src))
        counts = counts.masked_fill(counts == 0, 1)
        return grad / counts, (grad / counts).gather(dim, index)
    if reduce == "prod":
        base = self if include else self.scatter(dim, index, 1)
        zero = src == 0
        ones = aten.where(zero, 1.0, src)
        product = base.scatter_reduce(dim, index, ones, "prod", include_self=True)
        zeros = aten.zeros_like(base).scatter_add(dim, index, zero.to(src.dtype))
        here, own = zeros.gather(dim, index), grad
        others = aten.where(
            zero, product.gather(dim, index) * (here == 1), product.gather(dim, index) / ones * (here == 0)
        )
        if include:
            alone = aten.ones_like(self).scatter_reduce(dim, index, src, "prod", include_self=True)
            own = grad * alone
        if is_grad_enabled() and bool((zeros > 1).any()):
            message = "Double backward is unsupported for src when more than one 0 of it goes to the same place"
            others = DelayedError(message, 1)(others)
        return own, grad.gather(dim, index) * others
    value = result.gather(dim, index)
    hits = (src == value).to(grad.dtype)
    self_hits = (self == result).to(grad.dtype)
    count = (self_hits if include else self_hits.scatter(dim, index, 0)).scatter_add(dim, index, hits)
    share = grad / count.masked_fill(count == 0, 1)
    return self_hits * share, hits * share.gather(dim, index)


def scatter_reduce_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the tensors, the dimension and how it is reduced."""
    self, ctx.dim, index, src, ctx.reduce, ctx.include_self = inputs
    ctx.save_for_backward(self, index, src, output)


# ---------------------------------------------------------------- slices
def _slices(name: str, self: Tensor, dim: int, index: Tensor) -> tuple[int, Any]:
    """The dimension, and the indices of its slices.

    Raises an IndexError that is a RuntimeError, too, for others: PyTorch's is one or the other, by the dimensions.
    """
    d = wrap_dim(dim, self.dim())
    if index.dim() > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: {index.dim()}")
    if index.dtype not in (_I64, _I32):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index but got: {index.dtype}")
    return d, _places(name, d, self.shape[d] if self.dim() else 1, index)


def _places(name: str, d: int, size: int, index: Tensor, first: int = 0) -> Any:
    """The indices of slices among ``size``, of which the least that there may be is ``first``."""
    places = bits(index).reshape(-1)
    if places.size and (places.min() < first or places.max() >= size):
        wrong = places[(places < first) | (places >= size)].flat[0]
        raise IndexOutOfRangeError(f"{name}(): index {wrong} is out of bounds for dimension {d} with size {size}")
    return places


def _check_slices(name: str, self: Tensor, d: int, index: Tensor, source: Tensor) -> None:
    if self.dtype is not source.dtype:
        raise RuntimeError(
            f"{name}(): self and source expected to have the same dtype, but got (self) {self.dtype} and (source) "
            f"{source.dtype}"
        )
    count = index.numel()
    given = source.shape[d] if source.dim() else 1
    if given != count:
        error = IndexError if name == "index_copy_" else RuntimeError
        raise error(
            f"{name}(): Number of indices ({count}) should be equal to source.size(dim): ({given}), for dim: {d}"
        )
    own = [n for k, n in enumerate(self.shape) if k != d]
    theirs = [n for k, n in enumerate(source.shape) if k != d]
    if name != "index_copy_" and (own != theirs or self.dim() != source.dim()):
        raise RuntimeError(
            f"{name}(): source tensor shape must match self tensor shape, excluding the specified dimension. Got "
            f"self.shape = {list(self.shape)} source.shape = {list(source.shape)}"
        )
    if self.dim() and source.dim() and own != theirs:
        raise RuntimeError(
            f"{name}(): Source and destination tensors must have the same slice shapes. Got slices {own} and {theirs} "
            f"along dimension {d}"
        )


def _at(self: Tensor, d: int, places: Any) -> tuple[Any, ...]:
    return (*(slice(None),) * d, places) if self.dim() else (...,)


def index_add_(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """``alpha * source`` added slice by slice."""
    d, _ = _slices("index_add_", self, dim, index)
    _check_slices("index_add_", self, d, index, source)
    if self.is_meta:
        return self
    # Halves in float32, as in PyTorch.
    plain = self.dim() > 1 and alpha == 1 if self.dtype in (*_HALVES, _BOOL) else self.dim() > 0
    if plain and index.dtype is _I64:
        given = source if alpha == 1 else source * ops.aten.scalar_tensor(alpha, dtype=self.dtype)
        return scatter_add_(self, d, _spread(self, d, index, source), given)
    given = source
    if alpha != 1:
        given = source * (float(alpha) if self.dtype is _BF16 else ops.aten.scalar_tensor(alpha, dtype=self.dtype))
    add_at(_lifted(self), {d: index.reshape((-1,))}, _lifted(given))
    return self


def _spread(self: Tensor, d: int, index: Tensor, source: Tensor) -> Tensor:
    """The indices of slices as one for each element of ``source``."""
    places = index.to(_I64).reshape([-1 if k == d else 1 for k in range(max(self.dim(), 1))])
    result: Tensor = places.expand(source.shape) if source.dim() else places.reshape(())
    return result


def index_copy_(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Slices written over."""
    d, places = _slices("index_copy_", self, dim, index)
    if self.dim() and source.dim() and self.dim() != source.dim():
        raise IndexError(
            f"index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.dim()}), destination dimensionality ({self.dim()})"
        )
    _check_slices("index_copy_", self, d, index, source)
    if not self.is_meta:
        bits(self)[_at(self, d, places)] = (
            bits(source).reshape(-1)[0] if not self.dim() and source.dim() else bits(source)
        )
    return self


def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """Slices filled with a number."""
    if not self.is_meta:  # as in PyTorch, which looks at no dtype there
        if index.dtype is not _I64:
            raise IndexError("index_fill_(): Expected dtype int64 for index.")
        if isinstance(value, complex) and not self.is_complex():
            raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    d = wrap_dim(dim, self.dim())
    if index.dim() > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if self.is_meta:
        return self
    number = bits(_number(self, value))
    size = self.shape[d] if self.dim() else 1
    if index.numel() and (self.numel() or not size):
        bits(self)[_at(self, d, _places("index_fill_", d, size, index, -size))] = number
    return self


def index_fill_tensor_(self: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor:
    """Slices filled with the value of a tensor without dimensions."""
    if value.dim():
        raise RuntimeError(f"Only supports 0-dimensional value tensor. Got a tensor with {value.dim()} dimensions.")
    number = 0 if self.is_meta else value.item()  # which may be one of those written to
    filled: Tensor = ops.aten.index_fill_.int_Scalar(self, dim, index, number)
    return filled


def index_reduce(
    self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """``source`` reduced slice by slice into a copy."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    d, _ = _slices("index_reduce_", self, dim, index)
    _check_slices("index_reduce_", self, d, index, source)
    spread = _spread(self, d, index, source)
    result: Tensor
    if reduce == "prod" and self.dtype in _HALVES:  # rounded after each factor, as in PyTorch
        spread = spread.to(_I32)
    if reduce == "mean" and self.dtype in _HALVES:  # rounded after each addition, as in PyTorch
        start = self if include_self else self.index_fill(d, index.to(_I64), 0)
        counts = ops.aten.zeros_like(self, dtype=_F32) + (1 if include_self else 0)
        counts = counts.scatter_add(d, spread, ops.aten.ones_like(source, dtype=_F32)).clamp(min=1)
        result = start.index_add(d, index.to(_I32), source) / counts.to(self.dtype)
        return result
    result = ops.aten.scatter_reduce.two(self, dim, spread, source, reduce, include_self=include_self)
    return result


# ---------------------------------------------------------------- masks
def masked_select(self: Tensor, mask: Tensor) -> Tensor:
    """The elements where a mask holds; both are broadcast."""
    if mask.dtype is not _BOOL:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    result: Tensor
    if self.shape == mask.shape and self.dim():  # as nearly always
        result = ops.aten.index.Tensor(self, [mask])
        return result
    shape = _core.broadcast_shapes(self.shape, mask.shape)
    wide, chosen = self.expand(shape), mask.expand(shape)
    if not shape:
        wide, chosen = wide.reshape((1,)), chosen.reshape((1,))
    result = ops.aten.index.Tensor(wide, [chosen])
    return result


def masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Elements of ``source``, in their order, where a mask holds."""

    if self.dtype is not source.dtype:
        raise RuntimeError(
            f"masked_scatter_: expected self and source to have same dtypes but got {self.dtype} and {source.dtype}"
        )
    if mask.dtype is not _BOOL:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype}")
    where = bits(mask.expand(self.shape))
    count = int(where.sum())
    if count > source.numel():
        raise RuntimeError("Number of elements of source < number of ones in mask")
    bits(self)[where] = bits(source).reshape(-1)[:count]
    return self


def masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """As `masked_scatter_`, into a copy; mask and tensor are broadcast."""
    shape = _core.broadcast_shapes(self.shape, mask.shape)
    wide = self.expand(shape)
    result: Tensor = ops.aten.masked_scatter_(wide.clone(memory_format=contiguous_format), mask.expand(shape), source)
    return result


def masked_scatter_backward(grad_output: Tensor, mask: Tensor, sizes: Any) -> Tensor:
    """The gradient of `masked_scatter`'s source: that of the places it went to, and zeros."""
    shape = grad_output.shape
    taken = grad_output.masked_select(mask.expand(shape))
    count = 1
    for size in sizes:
        count *= size
    rest = grad_output.new_zeros((count - taken.numel(),))
    result: Tensor = ops.aten.cat([taken, rest]).reshape(sizes)
    return result


def argwhere(self: Tensor) -> Tensor:
    """The indices of all elements that are not 0, a row each."""
    result: Tensor = self.nonzero()
    return result
