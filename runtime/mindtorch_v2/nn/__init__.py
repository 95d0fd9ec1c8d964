"""Modules, parameters and losses, as ``torch.nn``."""

from __future__ import annotations

from . import (
    activations,
    attention,
    convolutions,
    dropouts,
    functional,
    init,
    losses,
    modules,
    norms,
    pools,
    rnn,
    sparse,
    spatial,
)
from .activations import *  # noqa: F403
from .attention import *  # noqa: F403
from .container import ModuleDict, ModuleList, ParameterList, Sequential
from .convolutions import *  # noqa: F403
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
from .loss import CrossEntropyLoss, L1Loss, MSELoss, NLLLoss
from .losses import *  # noqa: F403
from .module import Module
from .norms import *  # noqa: F403
from .parameter import Parameter
from .pools import *  # noqa: F403
from .rnn import *  # noqa: F403
from .sparse import *  # noqa: F403
from .spatial import *  # noqa: F403

__all__ = [
    "GELU",
    "Bilinear",
    "CrossEntropyLoss",
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
    "ParameterList",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Tanh",
    "Unflatten",
    "functional",
    "init",
    "modules",
    *activations.__all__,
    *attention.__all__,
    *convolutions.__all__,
    *dropouts.__all__,
    *losses.__all__,
    *norms.__all__,
    *pools.__all__,
    *rnn.__all__,
    *sparse.__all__,
    *spatial.__all__,
]
