"""Which dtypes a tensor may have that an operator writes its result to.

Into one that the result can be cast to, as a rule: a float into a double, not into an integer. Operators that keep
their input's dtype, matrix products, and those with several results ask for the very dtype; some that reduce compute
in the dtype of what they write to. Source: what PyTorch 2.13 does with outputs of other dtypes, each tried.
"""

from __future__ import annotations

from opschema import Schema, SchemaKind

from ..._core import Tensor, dtype, scalar_types
from ..._functional import can_cast

__all__ = ["computes_in", "dtype_problem"]

# By element, in the dtype of the input.
_KEPT = frozenset((
    "abs", "absolute", "bitwise_not", "ceil", "clamp", "clamp_max", "clamp_min", "clip", "conj_physical", "fix",
    "float_power", "floor", "frac", "hardshrink", "heaviside", "isneginf", "isposinf", "lerp", "nan_to_num", "neg",
    "negative", "round", "sgn", "sign", "signbit", "special_round", "trunc",
))  # fmt: skip
_RUNNING = frozenset(("cummax", "cummin", "logcumsumexp"))
_EXACT = frozenset((
    "addmm", "alias_copy", "all", "amax", "amin", "any", "argmax", "argmin", "bincount", "bucketize", "complex",
    "count_nonzero", "detach_copy", "diag", "diagonal_copy", "dot", "fft_fft", "fft_fft2", "fft_fftn", "fft_ifft",
    "fft_ifft2", "fft_ifftn", "fft_ihfft", "fft_ihfft2", "fft_ihfftn", "fft_rfft", "fft_rfft2", "fft_rfftn", "gather",
    "histc", "inner", "inverse", "isin", "linalg_det", "linalg_eigvals", "linalg_eigvalsh", "linalg_inv",
    "linalg_matmul", "linalg_matrix_norm", "linalg_multi_dot", "linalg_norm", "linalg_solve", "linalg_svdvals",
    "linalg_vecdot", "linalg_vector_norm", "log_softmax", "matmul", "median", "mm", "msort", "mv", "nanmedian",
    "nanquantile", "nonzero", "nuclear_norm", "polar", "quantile", "searchsorted", "slice_copy", "slice_scatter",
    "softmax", "squeeze_copy", "t_copy", "take", "take_along_dim", "tensordot", "tril", "triu", "unsqueeze_copy",
    "upsample_bicubic2d", "upsample_bilinear2d", "upsample_linear1d", "upsample_nearest1d", "upsample_nearest2d",
    "upsample_nearest3d", "_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d",
    "upsample_trilinear3d", "vdot", "view_as_complex_copy",
))  # fmt: skip
_INTO_ITS_DTYPE = frozenset(("cumprod", "cumsum", "nansum", "prod", "sum"))
_OF_TENSORS = frozenset(("clamp.Tensor", "clamp_max.Tensor", "clamp_min.Tensor", "clip.Tensor"))  # these are promoted


def computes_in(base: Schema, out: Tensor) -> dtype | None:
    """The dtype that an operator without one computes in, because it writes to ``out``; None: its own."""
    return out.dtype if base.name in _INTO_ITS_DTYPE else None


def dtype_problem(schema: Schema, base: Schema, pointwise: bool, target: dtype, result: dtype) -> str:
    """What is wrong with writing a result of one dtype to a tensor of another; "" where nothing is."""
    if target is result:
        return ""
    got, wanted = scalar_types[target.name], scalar_types[result.name]
    if base.name in _KEPT and f"{base.name}.{base.overload}" not in _OF_TENSORS:
        return f"Found dtype {got} but expected {wanted}"
    if base.name in _RUNNING:
        return f"expected scalar_type {wanted} but found {got}"
    exact = base.name in _EXACT or len(base.returns) > 1 if schema.kind is SchemaKind.OUT else not pointwise
    if exact:
        return f"Expected out tensor to have dtype {wanted}, but got {got} instead"
    return "" if can_cast(result, target) else f"result type {wanted} can't be cast to the desired output type {got}"
