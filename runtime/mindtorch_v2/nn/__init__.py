"""Modules, parameters and losses, as ``torch.nn``."""

from __future__ import annotations

import importlib
from typing import Any

from . import (
    _linear_cross_entropy,
    activations,
    attention,
    convolutions,
    dropouts,
    functional,
    grad,
    init,
    lazy,
    loss,
    losses,
    modules,
    norms,
    pools,
    rnn,
    sparse,
    spatial,
    transformer,
    utils,
)
from .activations import *  # noqa: F403
from .adaptive import AdaptiveLogSoftmaxWithLoss
from .container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .convolutions import *  # noqa: F403
from .cross_map import CrossMapLRN2d
from .dropouts import *  # noqa: F403
from .layers import (
    GELU,
    Bilinear,
    Dropout,
    Embedding,
    Flatten,
    Identity,
    LeakyReLU,
    Linear,
    LogSoftmax,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Tanh,
    Unflatten,
)
from .lazy import *  # noqa: F403
from .loss import CrossEntropyLoss, L1Loss, MSELoss, NLLLoss
from .losses import *  # noqa: F403
from .module import Module
from .norms import *  # noqa: F403
from .parameter import Buffer, Parameter
from .pools import *  # noqa: F403
from .rnn import *  # noqa: F403
from .sparse import *  # noqa: F403
from .spatial import *  # noqa: F403
from .synchronised import SyncBatchNorm
from .transformer import *  # noqa: F403
from .uninitialized import UninitializedBuffer, UninitializedParameter

# Imported when first used: who trains in one process needs no other.
_LAZY_NAMES = ("DataParallel", "parallel")
# What libraries derive from, or ask an object for, by PyTorch's inner names: in the files of ``torch.nn.modules``, for
# all of which this package stands.
_BASES = {
    "LazyModuleMixin": lazy.LazyModuleMixin,
    "NonDynamicallyQuantizableLinear": transformer.NonDynamicallyQuantizableLinear,
    "_AdaptiveAvgPoolNd": pools._AdaptiveAvgPool,
    "_AdaptiveMaxPoolNd": pools._AdaptiveMaxPool,
    "_AvgPoolNd": pools._AvgPool,
    "_BatchNorm": norms._BatchNorm,
    "_CircularPadNd": spatial._CircularPad,
    "_ConstantPadNd": spatial._ConstantPad,
    "_ConvNd": convolutions._Convolution,
    "_ConvTransposeNd": convolutions._ConvTranspose,
    "_DropoutNd": Dropout,
    "_InstanceNorm": norms._InstanceNorm,
    "_LPPoolNd": pools._LPPool,
    "_Loss": loss.ReducedLoss,
    "_MaxPoolNd": pools._MaxPool,
    "_MaxUnpoolNd": pools._MaxUnpool,
    "_NormBase": norms._Running,
    "_WeightedLoss": loss.WeightedLoss,
    "_linear_cross_entropy_batch_chunked": _linear_cross_entropy.batch_chunked,
    "_linear_cross_entropy_batch_chunked_no_reduction": _linear_cross_entropy.batch_chunked_no_reduction,
}
__all__ = [
    "GELU",
    "AdaptiveLogSoftmaxWithLoss",
    "Bilinear",
    "Buffer",
    "CrossEntropyLoss",
    "CrossMapLRN2d",
    "Dropout",
    "Embedding",
    "Flatten",
    "Identity",
    "L1Loss",
    "LeakyReLU",
    "Linear",
    "LogSoftmax",
    "MSELoss",
    "Module",
    "ModuleDict",
    "ModuleList",
    "NLLLoss",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "SyncBatchNorm",
    "Tanh",
    "Unflatten",
    "UninitializedBuffer",
    "UninitializedParameter",
    "attention",
    "functional",
    "grad",
    "init",
    "modules",
    "utils",
    *_LAZY_NAMES,
    *activations.__all__,
    *transformer.__all__,
    *convolutions.__all__,
    *dropouts.__all__,
    *lazy.__all__,
    *losses.__all__,
    *norms.__all__,
    *pools.__all__,
    *rnn.__all__,
    *sparse.__all__,
    *spatial.__all__,
]


def __getattr__(name: str) -> Any:
    if name in _BASES:
        return _BASES[name]
    if name not in _LAZY_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    parallel = importlib.import_module(f"{__name__}.parallel")
    return parallel if name == "parallel" else getattr(parallel, name)
