"""Tensors as NumPy arrays and back, for kernels that NumPy or SciPy computes."""

from __future__ import annotations

import functools
from typing import Any

from .. import _core
from .._core import Tensor, dtype
from .._narrow_dtypes import BITS_OF_NARROW

__all__ = ["as_array", "as_tensor", "bits", "moved", "numpy", "scipy", "written_once"]

_BF16, _F32, _I16 = (_core.dtypes[name] for name in ("bfloat16", "float32", "int16"))
_AS_BITS = {_BF16: _I16, **BITS_OF_NARROW}


@functools.cache
def numpy() -> Any:
    """NumPy, from the first use on: to import it takes as long as all that this package imports."""
    import numpy

    return numpy


def scipy(name: str) -> Any:
    """SciPy's ``fft`` or ``linalg``, imported when first used. Raises ImportError where SciPy is not installed."""
    try:
        if name == "fft":
            from scipy import fft as found  # type: ignore[import-untyped,unused-ignore]
        else:
            from scipy import linalg as found
    except ImportError:
        raise ImportError(f"this operator needs scipy.{name}, which is not installed: pip install scipy") from None
    return found  # type: ignore[no-any-return,unused-ignore]


def as_array(tensor: Tensor) -> Any:
    """The tensor's memory as an array; bfloat16, which NumPy lacks, as float32."""
    import numpy as np

    return np.asarray(_core.as_memoryview(tensor.to(_F32) if tensor.dtype is _BF16 else tensor))


def as_tensor(array: Any, target: dtype, shape: tuple[int, ...] | None = None) -> Tensor:
    """A new tensor of an array's elements, in a dtype; of another shape the array is broadcast to that."""
    import numpy as np

    kept = _F32 if target is _BF16 else target
    result = _core.alloc(np.shape(array) if shape is None else shape, kept, _core.device("cpu"))
    if result.numel():
        np.asarray(_core.as_memoryview(result))[...] = array
    return result.to(target) if target is _BF16 else result


def bits(tensor: Tensor) -> Any:
    """The tensor's memory as an array; of a dtype that NumPy lacks its bits, to be moved but not computed with."""
    kind = _AS_BITS.get(tensor.dtype)
    if kind is None:
        return numpy().asarray(_core.as_memoryview(tensor))
    view = _core.from_buffer(tensor.untyped_storage(), tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), kind)
    return numpy().asarray(_core.as_memoryview(view))


def moved(array: Any, target: dtype) -> Tensor:
    """A new tensor of an array that `bits` gave, or of a part or order of its elements."""
    import numpy as np

    result = _core.alloc(np.shape(array), target, _core.device("cpu"))
    if result.numel():
        bits(result)[...] = array
    return result


def written_once(tensor: Tensor) -> Tensor:
    """The tensor with a size of 1 along each dimension that it is expanded along: a place for each element."""
    own = [size if step else min(size, 1) for size, step in zip(tensor.shape, tensor.stride(), strict=True)]
    result: Tensor = tensor if own == list(tensor.shape) else tensor.as_strided(own, tensor.stride())
    return result
