"""``torch._library``: PyTorch's inner names of what `library` has, for programs that import them."""

from . import autograd, custom_ops, infer_schema, simple_registry, utils

__all__ = ["autograd", "custom_ops", "infer_schema", "simple_registry", "utils"]
