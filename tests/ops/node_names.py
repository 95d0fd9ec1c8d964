"""Names of nodes that differ from PyTorch's: ours, PyTorch's, and why. All others are equal."""

from __future__ import annotations

from typing import Any

__all__ = ["COMPOSED", "assert_same_name", "name_of"]

_COMPOSED_HERE = "PyTorch has a gradient for the operator, which here is composed of others"
_COPIED = "here it computes beside its argument and copies the result there"
_RESHAPED = "one node here, whether it copies or not, and also in what is composed with it"
_WHOLE = "PyTorch returns the tensor itself, which its schema does not say"
_STATISTICS = "here all outputs of an operator that writes to its arguments have its node"
_UNKNOWN = "PyTorch gives what has no gradient a node of its own"
_FIRST_OF_TWO = "of few elements the deviation, or the variance, comes with the mean here"

# (PyTorch's, ours): why
COMPOSED: dict[tuple[str | None, str | None], str] = {
    ("BaddbmmBackward0", "AddBackward0"): _COMPOSED_HERE,
    ("ConjBackward0", "ConjPhysicalBackward0"): "here conjugates have memory of their own",
    ("ClampMinBackward0", "ClampBackward1"): _COMPOSED_HERE,
    ("DivBackward1", "DivBackward0"): "of a loss's mean, for which PyTorch divides by a number, not a tensor",
    ("DotBackward0", "SumBackward0"): _COMPOSED_HERE,
    ("LeakyReluBackward0", "WhereBackward0"): _COMPOSED_HERE,
    ("LinalgVectorNormBackward0", "AmaxBackward0"): _COMPOSED_HERE,
    ("LinalgVectorNormBackward0", "AminBackward0"): _COMPOSED_HERE,
    ("LinalgVectorNormBackward0", "PowBackward0"): _COMPOSED_HERE,
    ("LinalgVectorNormBackward0", "SqrtBackward0"): _COMPOSED_HERE,
    ("LinalgVectorNormBackward0", "SumBackward0"): _COMPOSED_HERE,
    ("LinalgVectorNormBackward0", "SumBackward1"): _COMPOSED_HERE,
    ("MseLossBackward0", "MeanBackward0"): _COMPOSED_HERE,
    ("MseLossBackward0", "PowBackward0"): _COMPOSED_HERE,
    ("MseLossBackward0", "SumBackward0"): _COMPOSED_HERE,
    ("MvBackward0", "SqueezeBackward1"): _COMPOSED_HERE,
    ("MvBackward0", "ViewBackward0"): _COMPOSED_HERE,
    ("MulBackward0", "FusedRmsNormBackward0"): "one operator here; PyTorch composes it on the CPU",
    ("NormBackward1", "LinalgVectorNormBackward0"): "PyTorch has two operators for norms",
    ("SafeSoftmaxBackward0", "WhereBackward0"): _COMPOSED_HERE,
    ("NegBackward0", "SumBackward0"): "of a loss that PyTorch negates last, and this before it sums",
    ("RsubBackward0", "SubBackward0"): _COMPOSED_HERE,
    ("SqrtBackward0", "WhereBackward0"): "of a deviation, whose root is 0 where it has no slope",
    ("StdBackward0", "WhereBackward0"): _COMPOSED_HERE,
    ("StdBackward0", "StdMeanBackward0"): _FIRST_OF_TWO,
    ("SqrtBackward0", "StdMeanBackward0"): _FIRST_OF_TWO,
    ("VarBackward0", "VarMeanBackward0"): _FIRST_OF_TWO,
    ("DivBackward0", "VarMeanBackward0"): _FIRST_OF_TWO,
    ("VarBackward0", "DivBackward0"): _COMPOSED_HERE,
    ("SumBackward0", "SumToSizeBackward0"): "an operator here; PyTorch calls the sum that fits",
    ("SumBackward1", "SumToSizeBackward0"): "an operator here; PyTorch calls the sum that fits",
    (None, "SumToSizeBackward0"): "an operator here; PyTorch returns what has the size already",
    (None, "ViewBackward0"): _RESHAPED,
    ("CloneBackward0", "ViewBackward0"): _RESHAPED,
    ("DotBackward0", "ViewBackward0"): _RESHAPED,
    ("ReshapeAliasBackward0", "ViewBackward0"): _RESHAPED,
    ("SqueezeBackward4", "SqueezeBackward1"): "of what was just made, which PyTorch squeezes in place",
    ("SqueezeBackward4", "ViewBackward0"): _RESHAPED,
    ("TransposeBackward0", "ViewBackward0"): _RESHAPED,
    ("UnsafeViewBackward0", "ViewBackward0"): _RESHAPED,
    ("ViewBackward0", "AddBackward0"): "a layer over a batch: here the bias is added last, in PyTorch before the view",
    ("ClampBackward1", "CopyBackwards"): _COPIED,
    ("MulBackward0", "CopyBackwards"): _COPIED,
    ("PowBackward0", "CopyBackwards"): _COPIED,
    ("NotImplemented", "FloorDivideBackward0"): _UNKNOWN,
    (None, "NativeBatchNormLegitBackward0"): _STATISTICS,
    (None, "BatchNormWithUpdateBackward0"): _STATISTICS,
    (None, "AliasBackward0"): _WHOLE,
    (None, "ConjPhysicalBackward0"): _WHOLE,
}  # fmt: skip
# Operators for which PyTorch has a gradient and which are composed here: any node is the last of what they are made of.
COMPOSED_OPERATORS = frozenset(
    {
        "addbmm",
        "addmv",
        "addr",
        "aminmax",
        "angle",
        "block_diag",
        "cdist",
        "celu",
        "clamp",
        "complex",
        "deg2rad",
        "diag",
        "diag_embed",
        "diagflat",
        "diagonal_scatter",
        "diff",
        "dist",
        "einsum",
        "elu",
        "selu",
        "glu",
        "hardshrink",
        "hardsigmoid",
        "hardswish",
        "hardtanh",
        "relu6",
        "index_reduce",
        "ldexp",
        "cross",
        "linear_cross_entropy",
        "linalg.cross",
        "fft.fftshift",
        "fft.ifftshift",
        "_segment_reduce",
        "_unsafe_masked_index",
        "_unsafe_masked_index_put_accumulate",
        "linalg.cond",
        "linalg.householder_product",
        "linalg.matrix_power",
        "linalg.multi_dot",
        "ormqr",
        "triangular_solve",
        "logsigmoid",
        "logsumexp",
        "masked.logsumexp",
        "masked_select",
        "mish",
        "multi_margin_loss",
        "multilabel_margin_loss",
        "special.ndtr",
        "mvlgamma",
        "nansum",
        "narrow_copy",
        "native_dropout_backward",
        "pdist",
        "polar",
        "prelu",
        "rad2deg",
        "renorm",
        "roll",
        "rot90",
        "rrelu",
        "softplus",
        "softshrink",
        "dsplit",
        "hsplit",
        "tensor_split",
        "vsplit",
        "combinations",
        "std_mean",
        "threshold",
        "trace",
        "unsafe_chunk",
        "unsafe_split",
        "vdot",
        "linalg.vecdot",
        "repeat_interleave",
    }
)


def name_of(tensor: Any) -> str | None:
    """The name of the class of the node that made a tensor."""
    return None if tensor.grad_fn is None else type(tensor.grad_fn).__name__


def assert_same_name(mine: Any, theirs: Any) -> None:
    """Of a tensor of ours and PyTorch's, made by the same call: equal names of nodes, or a reason."""
    names = name_of(theirs), name_of(mine)
    assert names[0] == names[1] or names in COMPOSED, "PyTorch's and ours differ: {} and {}".format(*names)
