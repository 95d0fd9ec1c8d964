"""``torch._linalg_utils``: products that algorithms of linear algebra are written in, and what was taken out.

Functions that PyTorch removed keep their names there: a call says what stands in their place (source: PyTorch 2.13).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ._core import Tensor
from ._ops import ops

__all__ = ["basis", "bform", "matmul", "qform"]


def matmul(A: Tensor | None, B: Tensor) -> Tensor:
    """The product of matrices; ``A`` None stands for the identity."""
    product: Tensor = B if A is None else ops.aten.matmul(A, B)
    return product


def bform(X: Tensor, A: Tensor | None, Y: Tensor) -> Tensor:
    """The bilinear form ``X^T A Y``."""
    return matmul(X.mT, matmul(A, Y))


def qform(A: Tensor | None, S: Tensor) -> Tensor:
    """The quadratic form ``S^T A S``."""
    return bform(S, A, S)


def basis(A: Tensor) -> Tensor:
    """An orthogonal basis of what the columns of ``A`` span."""
    return ops.aten.linalg_qr(A)[0]  # type: ignore[no-any-return]


# What is to be called instead, and what is different there.
_INSTEAD = {
    "eig": "`torch.linalg.eig` or `torch.linalg.eigvals`, whose results are complex",
    "lstsq": "`torch.linalg.lstsq`, whose arguments are in the other order, and whose residuals are a result of "
    "their own",
    "matrix_rank": "`torch.linalg.matrix_rank`, where 'symmetric' is called 'hermitian'",
    "solve": "`torch.linalg.solve`, whose arguments are in the other order, and `torch.linalg.lu_factor` for the "
    "factors",
    "symeig": "`torch.linalg.eigh` or `torch.linalg.eigvalsh`, which look at the lower triangle unless `UPLO='U'`",
}


def _removed(name: str, instead: str) -> Callable[..., NoReturn]:
    def call(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            f"torch.{name}: This function was deprecated since version 1.9 and is now removed. Use {instead}."
        )

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Removed: {instead}."
    return call


globals().update({name: _removed(name, instead) for name, instead in _INSTEAD.items()})
