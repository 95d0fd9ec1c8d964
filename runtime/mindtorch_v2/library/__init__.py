"""Defines operators and registers their kernels, fake rules and gradients, as ``torch.library`` does."""

from __future__ import annotations

from ..errors import CheckError, RegistrationError, check_error
from ._custom_op import CustomOpHandle, custom_op
from ._functions import (
    define,
    impl,
    mindspore_kernel,
    python_function,
    register_autograd,
    register_fake,
    register_kernel,
)
from ._inference import infer_schema
from ._library import Library, register

CustomOpDef = CustomOpHandle  # PyTorch's name

__all__ = [
    "CheckError",
    "CustomOpDef",
    "CustomOpHandle",
    "Library",
    "RegistrationError",
    "check_error",
    "custom_op",
    "define",
    "impl",
    "infer_schema",
    "mindspore_kernel",
    "python_function",
    "register",
    "register_autograd",
    "register_fake",
    "register_kernel",
]
