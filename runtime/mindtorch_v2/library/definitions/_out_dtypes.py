"""Which dtypes a tensor may have that an operator writes its result to.

Into the very dtype of the result, as a rule. Operators by element, sums and products, and what joins tensors write to
whatever the result can be cast to: a float to a double, not to an integer; some that reduce compute in the dtype of
what they write to. A program's own operators cast. Source: what PyTorch 2.13 does with outputs of other dtypes, each
tried.
"""

from __future__ import annotations

from opschema import Schema, SchemaKind

from ..._core import Tensor, dtype, scalar_types
from ..._functional import can_cast

__all__ = ["computes_in", "dtype_conflict", "dtype_problem", "misfit"]

# By element, but in the dtype of the result alone.
_KEPT = frozenset((
    "abs", "absolute", "bitwise_not", "ceil", "celu", "clamp", "clamp_max", "clamp_min", "clip", "complex",
    "conj_physical", "elu", "fix", "float_power", "floor", "frac", "gelu", "hardshrink", "hardsigmoid", "hardswish",
    "hardtanh", "heaviside", "isinf", "isnan", "isneginf", "isposinf", "leaky_relu", "lerp", "log_sigmoid",
    "masked_fill", "mish", "nan_to_num", "neg", "negative", "polar", "relu", "round", "rsub", "sgn", "sign", "signbit",
    "silu", "softplus", "softshrink", "special_round", "trunc", "where",
    "bitwise_and.Scalar_Tensor", "bitwise_left_shift.Scalar_Tensor", "bitwise_or.Scalar_Tensor",
    "bitwise_right_shift.Scalar_Tensor", "bitwise_xor.Scalar_Tensor", "remainder.Scalar_Tensor",
))  # fmt: skip
# Of these names, but promoted as others by element.
_PROMOTED = frozenset(("clamp.Tensor", "clamp_max.Tensor", "clamp_min.Tensor", "clip.Tensor", "lerp.Scalar"))
_RUNNING = frozenset(("cummax", "cummin", "logcumsumexp"))
_JOINED = frozenset((
    "cat", "column_stack", "concat", "concatenate", "dstack", "hstack", "row_stack", "stack", "vstack",
))  # fmt: skip
# Not by element, and cast none the less.
_CAST = _JOINED | {
    "addr", "all", "any", "cholesky", "cholesky_inverse", "cholesky_solve", "diff", "fft_fftfreq", "fft_hfft",
    "fft_hfft2", "fft_hfftn", "fft_irfft", "fft_irfft2", "fft_irfftn", "fft_rfftfreq", "ger", "glu", "huber_loss",
    "kron", "linalg_cond", "linalg_eigvals", "linalg_householder_product", "linalg_matrix_power",
    "linalg_matrix_rank", "linalg_pinv",
    "linalg_tensorinv", "linalg_tensorsolve", "logsumexp", "matrix_power", "max", "mean", "min", "mse_loss",
    "mvlgamma", "nanmean", "orgqr", "outer", "smooth_l1_loss", "special_logsumexp", "special_multigammaln",
    "special_xlogy", "std", "var",
}  # fmt: skip
_INTO_ITS_DTYPE = frozenset(("cumprod", "cumsum", "nansum", "prod.dim_int", "sum.dim_IntList"))
_TRUTHS = frozenset(("all", "any"))  # into bytes, too
_TOLD = frozenset(("cumprod", "cumsum", "mean", "nanmean", "nansum", "prod", "sum"))  # a dtype, which is that of `out`
# Of linear algebra, each with what it calls its output, where that is not the argument's name.
_SAFELY = {
    **dict.fromkeys((
        "cholesky", "cholesky_inverse", "cholesky_solve", "linalg_cond", "linalg_householder_product",
        "linalg_matrix_rank", "linalg_pinv", "linalg_tensorinv", "linalg_tensorsolve", "orgqr",
    ), "result"),
    "linalg_eigvals": "eigenvalues",
}  # fmt: skip
# PyTorch's words for element types, where they are those of C++.
_CPP = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int",
    "int64": "long int", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip
# What some say of another dtype than their result's, in words of their own.
_WORDS = {
    **dict.fromkeys(_TRUTHS, "{name} only supports bool tensor for result, got: {got}"),
    **dict.fromkeys(
        ("complex", "polar"), "Expected object of scalar type {wanted} but got scalar type {got} for argument 'out'"
    ),
    **dict.fromkeys(
        ("bucketize", "searchsorted"),
        "torch.searchsorted(): output tensor's dtype is wrong, it can only be {wanted} here, but we got {got}",
    ),
    "histogram": "torch.histogram: input tensor and {argument} tensor should have the same dtype, but got {wanted} "
    "and {got}",
    **dict.fromkeys(
        ("isneginf", "isposinf"), "{name} does not support non-boolean outputs, but the output has dtype {got}"
    ),
    "float_power": "the output given to float_power has dtype {got} but the operation's result requires dtype {wanted}",
    "frexp": "torch.frexp() expects {argument} to have dtype {wanted} but got {got}",
    "nonzero_static": "nonzero_static: Expected out tensor to have scalar type {wanted} but got scalar type {got}",
    "linalg_multi_dot": "multi_dot(): expected out tensor to have dtype {wanted} but got {got}",
    "mode": "expected scalar type '{wanted}' but got '{got}' for {argument} output",
    "nonzero": "nonzero: Expected out tensor to have scalar type {wanted} but got scalar type {got}",
    **dict.fromkeys(("nanquantile", "quantile"), "quantile() out tensor must be same dtype as the input tensor"),
}


def _full_name(schema: Schema) -> str:
    return f"{schema.name}.{schema.overload}" if schema.overload else schema.name


def computes_in(base: Schema, out: Tensor) -> dtype | None:
    """The dtype that an operator without one computes in, because it writes to ``out``; None: its own."""
    return out.dtype if _full_name(base) in _INTO_ITS_DTYPE else None


def dtype_conflict(base: Schema, told: dtype, out: Tensor) -> str:
    """What is wrong with a dtype that an operator is to compute in, beside what it writes to; "" where nothing is."""
    if base.namespace != "aten" or base.name not in _TOLD or told is out.dtype:
        return ""
    return _another_dtype(told, out.dtype)


def _another_dtype(wanted: dtype, got: dtype) -> str:
    words = (_CPP.get(one.name, scalar_types[one.name]) for one in (wanted, got))
    return "Expected out tensor to have dtype {}, but got {} instead".format(*words)


def _casts(base: Schema, pointwise: bool) -> bool:
    """Whether an operator with one result writes it to another dtype."""
    return pointwise or base.namespace != "aten" or base.name in _CAST or _full_name(base) in _INTO_ITS_DTYPE


def dtype_problem(schema: Schema, base: Schema, pointwise: bool, argument: str, target: dtype, result: dtype) -> str:
    """What is wrong with writing a result of one dtype to an argument of another; "" where nothing is."""
    if target is result:
        return ""
    got, wanted = scalar_types[target.name], scalar_types[result.name]
    name = _full_name(base)
    if base.name in _TRUTHS and target.name == "uint8":
        return ""
    if schema.kind is SchemaKind.OUT and base.namespace == "aten" and base.name in _WORDS:
        return _WORDS[base.name].format(name=base.name, argument=argument, wanted=wanted, got=got)
    if name in _KEPT or (base.name in _KEPT and name not in _PROMOTED):
        return f"Found dtype {got} but expected {wanted}"
    if base.name in _RUNNING:
        return f"expected scalar_type {wanted} but found {got}"
    casts = len(base.returns) == 1 and _casts(base, pointwise) if schema.kind is SchemaKind.OUT else pointwise
    if not casts:
        return _another_dtype(result, target)
    if can_cast(result, target):
        return ""
    if base.name in _SAFELY:
        argument = _SAFELY[base.name] or argument
        return f"Expected {argument} to be safely castable from {wanted} dtype, but got {argument} with dtype {got}"
    return f"result type {wanted} can't be cast to the desired output type {got}"


def misfit(base: Schema) -> type[Exception] | None:
    """The class of errors that an operator says it by, where it is one of PyTorch's own; None: the usual one."""
    return TypeError if base.namespace == "aten" and base.name in _JOINED else None
