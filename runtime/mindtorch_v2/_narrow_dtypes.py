"""Calls with tensors of narrow dtypes: floats of 8 bits, and complex numbers of two halves.

They are kept, moved and converted; what else there is of them follows PyTorch on CPU. The core comes here above the
kernels, so that none of them meets a dtype that it has no code for: a call goes on to a kernel that moves elements
whatever they are, is made with their bits or with wider numbers, or is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from opschema import SchemaKind

from . import _core
from ._core import OpOverload, Tensor, dtype
from ._numbers import as_element
from ._ops import ops
from ._settings import warn_once
from ._stand_ins import call_with_stand_ins

__all__ = ["BITS_OF_NARROW", "call_with_narrow", "is_narrow", "widened"]

_DTYPES = _core.dtypes
_FLOAT8 = frozenset(d for name, d in _DTYPES.items() if name.startswith("float8"))
_C32, _F16, _F32, _C64 = (_DTYPES[name] for name in ("complex32", "float16", "float32", "complex64"))
BITS_OF_NARROW = {_C32: _DTYPES["int32"], **dict.fromkeys(_FLOAT8, _DTYPES["uint8"])}
_WIDE = {_C32: _C64, **dict.fromkeys(_FLOAT8, _F32)}
_NARROWED = {_C64: _C32, _F32: _F16}  # of results, where complex numbers of two halves are computed with


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Operators by their names, without the underscore of those in place. These move or convert elements, or make new ones.
_MOVING = _names("""
    _chunk_cat _conj _conj_physical _copy_from _copy_from_and_resize _local_scalar_dense _neg_view _reshape_copy
    _to_copy _unsafe_index _unsafe_index_put _unsafe_view alias_copy as_strided as_strided_copy as_strided_scatter cat
    block_diag clone conj_physical constant_pad_nd contiguous copy detach_copy diag_embed diagonal_backward
    diagonal_copy diagonal_scatter embedding empty empty_like empty_permuted empty_strided expand_copy eye fill
    fill_diagonal full full_like index index_put index_select lift lift_fresh masked_select narrow_copy new_empty
    new_empty_strided new_full new_ones new_zeros ones ones_like permute_copy pin_memory rand_like randn_like
    record_stream repeat resize resize_as roll select_backward select_copy select_scatter set slice_backward
    slice_copy slice_scatter split_copy split_with_sizes_copy squeeze_copy stack t_copy transpose_copy unbind_copy
    unfold_copy unsafe_split unsafe_split_with_sizes unsqueeze_copy view_as_real_copy view_copy zero zeros zeros_like
""")
# Those that only choose among elements, made with their bits.
_CHOOSING = _names("where tril triu")
# Those of which only complex numbers of two halves are drawn.
_DRAWING = _names("normal uniform")
# Those that are computed with wider numbers.
_COMPUTED = {
    _C32: _names("""
        abs add addcmul all any count_nonzero dist eq index_add index_copy index_fill isfinite isinf isnan where
        linalg_vector_norm masked_fill mul ne neg nonzero nonzero_static norm rsub sgn std std_mean sub var var_mean
    """),
    **dict.fromkeys(_FLOAT8, _names("abs addbmm addmm all any eq equal isnan mm mul ne")),
}
_COMPUTED[_DTYPES["float8_e5m2"]] |= {"isfinite", "isinf"}  # the one with infinities
_FILLING = _names("index_fill masked_fill")  # whose number, the last argument, must be an element
_PROMOTING = _names("add addcmul eq mul ne rsub sub where")


def is_narrow(given: dtype) -> bool:
    """Whether few operators compute with numbers of a dtype."""
    return given in _WIDE


def widened(tensor: Tensor) -> Tensor:
    """A tensor of a narrow dtype, in the least one that holds its numbers and that NumPy has; another one itself."""
    return tensor.to(_WIDE[tensor.dtype]) if tensor.dtype in _WIDE else tensor


def call_with_narrow(op: OpOverload, keys: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``op`` returns where one of its tensors is of a narrow dtype; ``keys`` are those below.

    Raises NotImplementedError where PyTorch has no such operator, RuntimeError for dtypes that have no common one.
    """
    name = op._schema.name.rstrip("_")
    given = list(_tensors((args, kwargs)))
    found = next(tensor.dtype for tensor in given if tensor.dtype in _WIDE)
    if op._schema.kind is SchemaKind.OUT:  # calls the operator that makes its result, and copies that
        return op.redispatch(keys, *args, **kwargs)
    if name in _MOVING or given[0].is_meta or (name in _DRAWING and found is _C32):
        return op.redispatch(keys, *args, **kwargs)
    has_common = name in _PROMOTING or "pointwise" in op.tags
    common = _core.common_dtype(*_operands(name, args, given)) if has_common else found
    if common is _C32 and (name == "addcmul" or (name in ("add", "sub") and _factor(args, kwargs) != 1)):
        return _in_steps(op, args, kwargs)
    if name == "index_add" and found is _C32 and -max(args[0].dim(), 1) <= args[1] < max(args[0].dim(), 1):
        return _added_by_parts(op, *args, **kwargs)
    if name == "where" and not (isinstance(args[1], Tensor) and isinstance(args[2], Tensor)):
        return op.redispatch(keys, *args, **kwargs)  # which makes a tensor of the number
    if name in _CHOOSING and common in BITS_OF_NARROW and (name == "where" or common is _C32):
        return _call_with(_bits_of, _of_bits, op, keys, args, kwargs, common)
    if name in _COMPUTED[found] and not _is_refused(name, common, args):
        if name in _FILLING and not isinstance(args[-1], Tensor):
            as_element(args[-1], found)
        return _call_with(widened, _of_wider, op, keys, args, kwargs, common)
    shown = _core.scalar_types[(common if common in _WIDE else found).name]
    raise NotImplementedError(f"\"{op._schema.name.strip('_')}_cpu\" not implemented for '{shown}'")


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        yield from _tensors(tuple(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _operands(name: str, args: tuple[Any, ...], given: list[Tensor]) -> list[Any]:
    """What decides over the dtype that an operator computes in."""
    if name == "where":
        return list(args[1:3])
    return [*given, *(value for value in args[1:2] if isinstance(value, (int, float, complex)))]


def _is_refused(name: str, common: dtype, args: tuple[Any, ...]) -> bool:
    """Whether PyTorch's kernel lacks a form of an operator: of floats of 8 bits, products with one number."""
    one = args[1:] and (not isinstance(args[1], Tensor) or args[1].numel() == 1)
    return name == "mul" and common in _FLOAT8 and bool(one)


def _call_with(
    stand_in: Callable[[Tensor], Tensor],
    back: Callable[[Tensor, dtype], Tensor],
    op: OpOverload,
    keys: int,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    common: dtype,
) -> Any:
    """A call with what stands for tensors of narrow dtypes: their bits, or the same numbers wider.

    ``back`` gives what it makes the dtype that it is to have, where the call is one in ``common``.
    """
    promotes = op._schema.name.rstrip("_") in _PROMOTING and common in _WIDE

    def standing(value: Any, writes: bool) -> Any:
        if promotes and not (writes and isinstance(value, Tensor)):
            value = _promoted(op, common, value)
        return stand_in(value) if isinstance(value, Tensor) and value.dtype in _WIDE else value

    def put_back(tensor: Tensor, stood_in: Tensor) -> None:
        tensor.copy_(back(stood_in, common))

    def made(value: Any) -> Any:
        return back(value, common) if isinstance(value, Tensor) else value

    return call_with_stand_ins(op, keys, args, kwargs, standing, put_back, made)


def _promoted(op: OpOverload, common: dtype, value: Any) -> Any:
    """An operand as the common dtype holds it; what chooses is none."""
    if isinstance(value, Tensor):
        chooses = (op._schema.name == "where" and value.dtype is _DTYPES["bool"]) or value.dtype is common
        return value if chooses else value.to(common)
    if isinstance(value, (float, complex)):
        element = ops.aten.scalar_tensor(value, dtype=common).item()
        return element if isinstance(value, complex) else element.real
    return value


def _factor(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a sum multiplies by: a last argument that is a number."""
    given = kwargs.get("alpha", kwargs.get("value"))
    return given if given is not None else args[2] if len(args) > 2 and not isinstance(args[2], Tensor) else 1


def _in_steps(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """A sum of complex numbers of two halves and a product, which is rounded first: by ``alpha`` or ``value``."""
    name, written = op._schema.name.rstrip("_"), op._schema.name.endswith("_")
    added = ops.aten.scalar_tensor(_factor(args, kwargs), dtype=_C32) * args[1]
    if name == "addcmul":
        added = added * args[2]
    result: Tensor = args[0] - added if name == "sub" else args[0] + added
    return args[0].copy_(result) if written else result


def _added_by_parts(op: OpOverload, self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """``index_add`` of complex numbers of two halves: a half at a time, whose sums are rounded each."""
    aten = ops.aten
    added = source if alpha == 1 else aten.scalar_tensor(alpha, dtype=_C32) * source
    target = self if op._schema.name.endswith("_") else self.clone()
    shown, parts = (aten.view_as_real(x if x.dim() else x.view(1)) for x in (target, added))
    first = dim % max(self.dim(), 1)  # `index_add` of halves adds in float32
    aten.index_put_(shown.movedim(first, 0), [index.reshape(-1)], parts.movedim(first, 0), True)
    return target


def _bits_of(tensor: Tensor) -> Tensor:
    return _core.retyped(
        tensor, BITS_OF_NARROW[tensor.dtype], tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
    )


def _of_bits(tensor: Tensor, common: dtype) -> Tensor:
    return _core.retyped(tensor, common, tuple(tensor.shape), tensor.stride(), tensor.storage_offset())


def _of_wider(tensor: Tensor, common: dtype) -> Tensor:
    target = tensor.dtype
    if common is _C32:
        target = _NARROWED.get(target, target)
    elif common in _WIDE and target is _F32:
        target = common
    result: Tensor = tensor.to(target)
    return result


def _warn_experimental() -> None:
    warn_once("ComplexHalf support is experimental and many operators don't support it yet.", "ComplexHalf")


_core.hooks.fill(call_with_narrow=call_with_narrow, warn_experimental=_warn_experimental)
