"""``torch._library``: PyTorch's inner names of what `library` has, for programs that import them."""

from . import custom_ops, infer_schema, simple_registry, utils

__all__ = ["custom_ops", "infer_schema", "simple_registry", "utils"]
