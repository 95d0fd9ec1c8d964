"""LAPACK and BLAS on batches of matrices, and what is asked of matrices before."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor, dtype
from .._ops import ops
from ..errors import LinAlgError
from ._arrays import as_array, scipy
from ._native import native

__all__ = [
    "address",
    "adjoint",
    "check_floating",
    "check_info",
    "check_matrices",
    "check_square",
    "empty",
    "has_lapack",
    "of_exchanges",
    "real_dtype",
    "reduced_to",
    "tied",
]

_DTYPES = _core.dtypes
_I32 = _DTYPES["int32"]
_LETTERS = dict(zip((_DTYPES[n] for n in ("float32", "float64", "complex64", "complex128")), "sdcz", strict=True))
_OF_COMPLEX = {"syevd": "heevd", "orgqr": "ungqr"}
_NO_INDEX = 4  # MT_ERROR_INDEX
_REAL = {_DTYPES["complex64"]: _DTYPES["float32"], _DTYPES["complex128"]: _DTYPES["float64"]}


def real_dtype(given: dtype) -> dtype:
    """The dtype of a complex number's parts; a real dtype itself."""
    return _REAL.get(given, given)


# ---------------------------------------------------------------- checks
def check_matrices(name: str, tensor: Tensor, called: str = "A") -> None:
    """Refuses what has no two dimensions."""
    if tensor.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor {called} must have at least 2 dimensions.")


def check_square(name: str, tensor: Tensor, called: str = "A") -> None:
    """Refuses what is not a batch of square matrices."""
    check_matrices(name, tensor, called)
    if tensor.shape[-1] != tensor.shape[-2]:
        raise RuntimeError(
            f"{name}: {called} must be batches of square matrices, but they are {tensor.shape[-2]} by "
            f"{tensor.shape[-1]} matrices"
        )


def check_floating(name: str, tensor: Tensor, called: str = "A") -> None:
    """Refuses all dtypes but those that LAPACK computes in."""
    kind = tensor.dtype
    if not (kind.is_floating_point or kind.is_complex):
        raise NotImplementedError(f"{name}: Expected a floating point or complex tensor as input. Got {kind}")
    if real_dtype(kind).itemsize < 4:
        raise NotImplementedError(f"{name}: Low precision dtypes not supported. Got {kind} for {called}")


def check_info(name: str, info: Tensor, reason: str) -> None:
    """Raises LinAlgError for the first matrix for which LAPACK reports a fault; ``{}`` in the reason is its number."""
    if info.is_meta or not info.numel() or not info.any().item():
        return
    codes = as_array(info.cpu()).reshape(-1)
    bad = codes.nonzero()[0]
    if len(bad):
        batch = f"(Batch element {bad[0]}): " if info.dim() else ""
        raise LinAlgError(f"{name}: {batch}{reason.format(codes[bad[0]])}")


# ---------------------------------------------------------------- calls
@functools.cache
def has_lapack() -> bool:
    """Whether there are addresses: whether SciPy is installed."""
    return importlib.util.find_spec("scipy") is not None


@functools.cache
def _libraries() -> tuple[Any, Any]:
    """SciPy's modules of addresses in BLAS and LAPACK; of OpenBLAS C++ learns how it counts threads."""
    import ctypes

    scipy("linalg")  # or why it is missing
    from scipy.linalg import cython_blas, cython_lapack  # type: ignore[import-untyped,unused-ignore]

    behind = ctypes.CDLL(cython_lapack.__file__)
    for prefix in ("scipy_openblas", "openblas"):
        get, put = (getattr(behind, f"{prefix}_{verb}_num_threads", None) for verb in ("get", "set"))
        if get is not None and put is not None:
            where = [ctypes.cast(function, ctypes.c_void_p).value for function in (get, put)]
            native("mt_lapack_threads", "i64", "i64")(*where)
            break
    return cython_blas, cython_lapack


@functools.cache
def address(name: str, kind: dtype) -> int:
    """The address of a function of LAPACK or BLAS (``trsm``) for a dtype, whose numbers are C's ``int``."""
    import ctypes

    library = _libraries()[name != "trsm"]
    letter = _LETTERS[kind]
    capsule = library.__pyx_capi__[letter + (_OF_COMPLEX.get(name, name) if letter in "cz" else name)]
    signature, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    signature.restype, signature.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    declared = signature(capsule)
    if b"int *" not in declared:
        raise ImportError(f"SciPy's {name} counts by other integers than int: {declared.decode()}")
    return int(pointer(capsule, declared))


def of_exchanges(failure: _core.KernelError, reason: str) -> Exception:
    """What to raise for what a kernel said that was given exchanges of rows: the reason, where these are none."""
    return RuntimeError(reason) if failure.status == _NO_INDEX else failure


def empty(shape: Sequence[int], target: dtype, like: Tensor) -> Tensor:
    """A tensor on the device of another."""
    return _core.alloc(tuple(shape), target, like.device)


# ---------------------------------------------------------------- gradients
def adjoint(tensor: Tensor) -> Tensor:
    """The conjugates of the transposed matrices."""
    turned: Tensor = tensor.transpose(-2, -1)
    return ops.aten.conj_physical(turned) if tensor.is_complex() else turned


def reduced_to(grad: Tensor, shape: Sequence[int]) -> Tensor:
    """A gradient summed over what was broadcast."""
    result: Tensor = grad if tuple(grad.shape) == tuple(shape) else ops.aten.sum_to_size(grad, list(shape))
    return result


def tied(value: Tensor, like: Tensor) -> Tensor:
    """A value that does not depend on a tensor, in its shape, and with a gradient for it: zeros."""
    everywhere = ops.aten.ones([], dtype=_DTYPES["bool"], device=like.device)
    result: Tensor = ops.aten.where(everywhere, value.expand(like.shape), like)
    return result
