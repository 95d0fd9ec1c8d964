"""What tests of tensors are written with: `assert_close` and `make_tensor`, as ``torch.testing``."""

from . import _utils as _utils
from ._comparison import assert_close
from ._creation import make_tensor

__all__ = ["assert_close", "make_tensor"]
