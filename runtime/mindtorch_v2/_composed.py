"""Functions of the top level that are rarely used, composed of operators: ``torch.lu``, ``torch.svd_lowrank``, ..."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._argument_types import checks_types
from ._core import Tensor
from ._ops import ops
from .kernels._lapack import adjoint
from .kernels.reduction import written
from .library._publishing import published_form
from .overrides import overridable

__all__ = [
    "_segment_reduce",
    "cond",
    "frobenius_norm",
    "from_file",
    "lu",
    "norm_except_dim",
    "pca_lowrank",
    "resize_as_",
    "svd_lowrank",
    "while_loop",
]

_segment_reduce = published_form(ops.aten.segment_reduce)


@checks_types
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> tuple[Tensor, ...]:  # noqa: N803
    """L and U in one matrix, the exchanges of rows, and if ``get_infos`` where U has a 0; else that is an error."""
    found: tuple[Tensor, ...] = A.lu(pivot, get_infos)
    if out is None:
        return found
    if len(out) != len(found):
        raise TypeError(f"expected tuple of {len(found)} elements but got {len(out)}")
    return written(tuple(out), found)


@checks_types
def svd_lowrank(
    A: Tensor,  # noqa: N803
    q: int | None = 6,
    niter: int | None = 2,
    M: Tensor | None = None,  # noqa: N803
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of ``A - M`` for about the ``q`` largest singular values, by chance and ``niter`` iterations."""
    if M is not None:
        A = A - M.expand(A.shape)  # noqa: N806
    wanted = 6 if q is None else q
    rows, columns = A.shape[-2:]
    turned = rows < columns
    matrix = adjoint(A) if turned else A
    basis = _approximate_basis(matrix, wanted, 2 if niter is None else niter)
    u, s, v = ops.aten.linalg_svd(ops.aten.matmul(adjoint(basis), matrix), False)
    u, v = ops.aten.matmul(basis, u), adjoint(v)
    return (v, s, u) if turned else (u, s, v)


def _approximate_basis(matrix: Tensor, count: int, steps: int) -> Tensor:
    """Orthogonal columns that nearly span what a matrix makes of vectors."""
    aten = ops.aten
    drawn = aten.randn([matrix.shape[-1], count], dtype=matrix.dtype, device=matrix.device)
    basis = aten.linalg_qr(aten.matmul(matrix, drawn))[0]
    for _ in range(steps):
        basis = aten.linalg_qr(aten.matmul(adjoint(matrix), basis))[0]
        basis = aten.linalg_qr(aten.matmul(matrix, basis))[0]
    result: Tensor = basis
    return result


@checks_types
def pca_lowrank(
    A: Tensor,  # noqa: N803
    q: int | None = None,
    center: bool = True,
    niter: int = 2,
) -> tuple[Tensor, Tensor, Tensor]:
    """As `svd_lowrank`, of a matrix whose columns' means are taken away if ``center``."""
    rows, columns = A.shape[-2:]
    count = min(6, rows, columns) if q is None else q
    if not 0 <= count <= min(rows, columns):
        raise ValueError(
            f"q(={count}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    centred = A - A.mean([-2], True) if center else A
    found: tuple[Tensor, Tensor, Tensor] = svd_lowrank(centred, count, niter)
    return found


def frobenius_norm(input: Tensor, dim: int | Sequence[int] = (), keepdim: bool = False, *, out: Any = None) -> Any:
    """The square root of the sum of squares along dimensions; of all of them unless some are given."""
    dims = [dim] if isinstance(dim, int) else list(dim)
    options = {} if out is None else {"out": out}
    return ops.aten.linalg_vector_norm(input, 2, dims or None, keepdim, **options)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm of each index of a dimension, as a tensor that broadcasts with ``v``; of all of it for -1."""
    kept = range(v.dim()) if dim == -1 else [d for d in range(v.dim()) if d != dim]
    found: Tensor = ops.aten.linalg_vector_norm(v, pow, list(kept), dim != -1)
    return found


def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """`Tensor.resize_as_`."""
    return input.resize_as_(the_template, memory_format=memory_format)  # type: ignore[no-any-return]


def from_file(
    filename: Any,
    shared: bool | None = None,
    size: int | None = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """A tensor of ``size`` elements over a file's bytes; with ``shared`` it writes to the file, which may grow.

    Raises RuntimeError for a device other than the CPU, for pinned memory, and where the file is too small or none.
    """
    wanted = _core.get_default_dtype() if dtype is None else dtype
    if device is not None and _core.device(device).type != "cpu":
        raise RuntimeError(f"from_file() makes tensors on the CPU, not on {device}")
    if pin_memory:
        raise RuntimeError("tensors constructed from a file cannot be pinned")
    count = size or 0
    memory = _core.UntypedStorage.from_file(filename, bool(shared), count * wanted.itemsize)
    result: Tensor = _core.alloc((0,), wanted).set_(memory, 0, (count,), (1,))
    return result


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any] = ()) -> Any:
    """``true_fn(*operands)`` where ``pred``, a bool or a tensor of one element, is true, else that of ``false_fn``."""
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {list(pred.shape)}")
    if not isinstance(pred, (bool, int, Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {type(pred).__name__}")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    return (true_fn if bool(pred) else false_fn)(*operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Any]) -> Any:
    """What ``body_fn`` makes of the inputs, again and again while ``cond_fn`` of them is true."""
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"Expect carried_inputs to be a tuple, but got {type(carried_inputs).__name__}")
    values: Any = tuple(carried_inputs)
    while bool(cond_fn(*values)):
        values = body_fn(*values)
        values = values if isinstance(values, (tuple, list)) else (values,)
    return tuple(values)


for _name in ("lu", "pca_lowrank", "svd_lowrank"):
    globals()[_name] = overridable(globals()[_name], "functional")
norm_except_dim = overridable(norm_except_dim, "")
