"""Members by the paths of their names, under PyTorch's inner name."""

from .._named_members import NamedMemberAccessor, set_tensor, swap_submodule, swap_tensor

__all__ = ["NamedMemberAccessor", "set_tensor", "swap_submodule", "swap_tensor"]
