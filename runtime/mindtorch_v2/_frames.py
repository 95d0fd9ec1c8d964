"""Where the user's code is: the innermost frame that is neither the runtime's nor the built-in operators'."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["is_ours", "user_line", "user_stacklevel"]

_PACKAGE = f"{Path(__file__).parent}{os.sep}"
_OPERATORS = f"{os.sep}mindtorch_ops{os.sep}"


def user_stacklevel() -> int:
    """The ``stacklevel`` at which a warning that the caller gives is at the user's line."""
    return _depth()


def user_line() -> str:
    """``file:line`` of the user's code."""
    frame = sys._getframe(_depth())
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def is_ours(filename: str) -> bool:
    """Whether code belongs to the runtime or the built-in operators."""
    return filename.startswith(_PACKAGE) or _OPERATORS in filename


def _depth() -> int:
    """How many frames lie between the caller's and the user's code."""
    depth = 0
    frame = sys._getframe(1)
    while frame.f_back is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
        depth += 1
    return depth
