"""What programs written for the time when `torch.func` was a package of its own import."""

from . import autograd_function, eager_transforms, utils

__all__ = ["autograd_function", "eager_transforms", "utils"]
