"""Functions of the top level that take tensors one by one or in a list, or return as many results as are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _core
from ._argument_types import names_wrong_types
from ._core import Size, Tensor
from ._ops import ops
from ._settings import warn_once
from .overrides import handle_torch_function, overridable

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "einsum",
    "meshgrid",
    "nonzero",
    "tensordot",
    "unique",
    "unique_consecutive",
    "unravel_index",
]


def _listed(tensors: tuple[Any, ...]) -> list[Any]:
    """The tensors of a call, which may be given as one list."""
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)


def _at_least(name: str, function: Any, tensors: tuple[Any, ...]) -> Any:
    if _core.any_overridden(tuple(_listed(tensors))):
        return handle_torch_function(function, tuple(_listed(tensors)), *tensors)
    packet = getattr(ops.aten, name)
    if len(tensors) == 1 and not isinstance(tensors[0], (list, tuple)):
        return packet(tensors[0])
    return tuple(packet.Sequence(_listed(tensors)))


def atleast_1d(*tensors: Any) -> Any:
    """Each tensor with one dimension at least; several, or a list of them, as a tuple."""
    return _at_least("atleast_1d", atleast_1d, tensors)


def atleast_2d(*tensors: Any) -> Any:
    """Each tensor with two dimensions at least; several, or a list of them, as a tuple."""
    return _at_least("atleast_2d", atleast_2d, tensors)


def atleast_3d(*tensors: Any) -> Any:
    """Each tensor with three dimensions at least; several, or a list of them, as a tuple."""
    return _at_least("atleast_3d", atleast_3d, tensors)


def block_diag(*tensors: Tensor) -> Tensor:
    """The matrices along the diagonal of one."""
    if _core.any_overridden(tensors):
        return handle_torch_function(block_diag, tensors, *tensors)  # type: ignore[no-any-return]
    return ops.aten.block_diag(list(tensors))  # type: ignore[no-any-return]


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All tuples of elements of vectors, a row each."""
    if _core.any_overridden(tensors):
        return handle_torch_function(cartesian_prod, tensors, *tensors)  # type: ignore[no-any-return]
    return ops.aten.cartesian_prod(list(tensors))  # type: ignore[no-any-return]


_MODES = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}


@names_wrong_types
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The p-norms of the differences of all rows of two matrices, or of batches of them."""
    if _core.any_overridden((x1, x2)):
        return handle_torch_function(cdist, (x1, x2), x1, x2, p, compute_mode)  # type: ignore[no-any-return]
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return ops.aten.cdist(x1, x2, p, _MODES[compute_mode])  # type: ignore[no-any-return]


def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of matrices."""
    if _core.any_overridden(matrices):
        return handle_torch_function(chain_matmul, matrices, *matrices)  # type: ignore[no-any-return]
    return ops.aten.chain_matmul(list(matrices))  # type: ignore[no-any-return]


_NO_OPERAND = (
    "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts "
    "list"
)


def einsum(*args: Any) -> Tensor:
    """The sum of products that subscripts say: ``einsum("ij,jk->ik", x, y)``, ``einsum(x, [0, 1], y, [1, 2], [0, 2])``.

    Numbers from 0 on stand for the letters A to Z and a to z, ``...`` for all other dimensions.
    """
    if len(args) < 2:
        raise ValueError(_NO_OPERAND)
    if isinstance(args[0], Tensor):
        terms = [_term(labels) for labels in args[1::2]]
        equation = ",".join(terms)
        operands = list(args[::2])
        if len(args) % 2:  # the last one says the result
            equation = f"{','.join(terms)}->{_term(args[-1])}"
            operands = list(args[:-1:2])
    else:
        equation, operands = args[0], _listed(args[1:])
        if not operands:
            raise ValueError(_NO_OPERAND)
    if _core.any_overridden(tuple(operands)):
        return handle_torch_function(einsum, tuple(operands), equation, *operands)  # type: ignore[no-any-return]
    return ops.aten.einsum(equation, operands)  # type: ignore[no-any-return]


def _term(labels: Sequence[Any]) -> str:
    letters = []
    for label in labels:
        if label is Ellipsis:
            letters.append("...")
        elif 0 <= label < 26:
            letters.append(chr(ord("A") + label))
        elif 26 <= label < 52:
            letters.append(chr(ord("a") + label - 26))
        else:
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
    return "".join(letters)


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """For each vector its values at all places of the grid of all; by ``"xy"`` the first two dimensions exchanged."""
    given = _listed(tensors)
    if _core.any_overridden(tuple(given)):
        return handle_torch_function(meshgrid, tuple(given), *given, indexing=indexing)  # type: ignore[no-any-return]
    if indexing is None:
        warn_once(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
            "meshgrid without indexing",
        )
        return tuple(ops.aten.meshgrid.default(given))
    return tuple(ops.aten.meshgrid.indexing(given, indexing=indexing))


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """The sums of products over dimensions: the last ``dims`` of a and the first of b, or two lists of them."""
    if _core.any_overridden((a, b)):
        return handle_torch_function(tensordot, (a, b), a, b, dims=dims, out=out)  # type: ignore[no-any-return]
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        first, second = list(range(-dims, 0)), list(range(dims))
    else:
        first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    if out is None:
        return ops.aten.tensordot(a, b, first, second)  # type: ignore[no-any-return]
    return ops.aten.tensordot(a, b, first, second, out=out)  # type: ignore[no-any-return]


@names_wrong_types
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The elements, or the slices along a dimension, each once; with where each is among them, and how often."""
    if _core.any_overridden((input,)):
        given = {"sorted": sorted, "return_inverse": return_inverse, "return_counts": return_counts, "dim": dim}
        return handle_torch_function(unique, (input,), input, **given)
    if dim is None:
        found = ops.aten._unique2(input, sorted, return_inverse, return_counts)
    else:
        found = ops.aten.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return _asked(found, return_inverse, return_counts)


@names_wrong_types
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or the slices along a dimension, without those equal to the one before; and as `unique`."""
    if _core.any_overridden((input,)):
        given = {"return_inverse": return_inverse, "return_counts": return_counts, "dim": dim}
        return handle_torch_function(unique_consecutive, (input,), input, **given)
    return _asked(ops.aten.unique_consecutive(input, return_inverse, return_counts, dim), return_inverse, return_counts)


def _asked(found: Sequence[Tensor], *wanted: bool) -> Any:
    kept = [found[0], *(part for part, is_wanted in zip(found[1:], wanted, strict=True) if is_wanted)]
    return kept[0] if len(kept) == 1 else tuple(kept)


@names_wrong_types
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Places in the flat tensor as coordinates in a shape."""
    if indices.is_floating_point() or indices.is_complex() or indices.dtype is _core.dtypes["bool"]:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)) or isinstance(shape, str):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    if not isinstance(shape, int) and not all(isinstance(size, int) for size in shape):
        raise TypeError(f"expected 'shape' sequence to only contain ints, but got {tuple(shape)}")
    sizes = Size((shape,) if isinstance(shape, int) else tuple(shape))
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    found, rest = [], indices
    for size in reversed(sizes):
        found.append(rest % size)
        rest = rest.div(size, rounding_mode="floor")
    return tuple(reversed(found))


@names_wrong_types
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """The indices of all elements that are not 0, a row each; or ``as_tuple`` for each dimension those in it."""
    if _core.any_overridden((input,)):
        return handle_torch_function(nonzero, (input,), input, out=out, as_tuple=as_tuple)
    if as_tuple and out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    if not as_tuple:
        return ops.aten.nonzero(input) if out is None else ops.aten.nonzero(input, out=out)
    rows = ops.aten.nonzero(input if input.dim() else input.unsqueeze(0))
    return tuple(rows.unbind(1))


globals().update({name: overridable(globals()[name], "" if name == "nonzero" else "functional") for name in __all__})
for _function in (nonzero, unique, unique_consecutive):
    _core.install_method(_function.__name__, _core.overridable(_function))
