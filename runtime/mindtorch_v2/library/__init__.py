"""Defines operators and registers their kernels, fake rules and gradients, as ``torch.library`` does."""

from __future__ import annotations

from .._core import KernelError
from .._pending import on_first_use
from ..errors import CheckError, RegistrationError, check_error, failed_check
from . import _devices  # noqa: F401  (fills the table of what is called upward)
from ._custom_op import CustomOpHandle, custom_op
from ._fake import get_ctx
from ._functions import (
    _scoped_library,  # noqa: F401  (PyTorch's tests and libraries' import it)
    define,
    impl,
    impl_abstract,
    mindspore_kernel,
    python_function,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
)
from ._inference import infer_schema
from ._kernel_function import get_kernel
from ._library import Library, _impls, fallthrough_kernel, register  # noqa: F401  (_impls: PyTorch's tests look at it)
from ._opcheck import OpCheckError, opcheck
from ._status import operator_status, status_table
from ._tags import Tag
from ._tangents import tangent

CustomOpDef = CustomOpHandle  # PyTorch's name

__all__ = [
    "CheckError",
    "CustomOpDef",
    "CustomOpHandle",
    "KernelError",
    "Library",
    "OpCheckError",
    "RegistrationError",
    "Tag",
    "check_error",
    "custom_op",
    "define",
    "failed_check",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "mindspore_kernel",
    "on_first_use",
    "opcheck",
    "operator_status",
    "python_function",
    "register",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "status_table",
    "tangent",
]
