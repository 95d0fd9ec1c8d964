"""What checks of recorded functions expect of errors."""

from __future__ import annotations

import re
from types import TracebackType

from ._checks import aot_autograd_check

__all__ = ["aot_autograd_check", "assert_raises_regex"]


class assert_raises_regex:  # noqa: N801 - PyTorch's name
    """``with assert_raises_regex(RuntimeError, "pattern"):`` fails unless the block raises such an error."""

    def __init__(self, exception_cls: type[BaseException], regex: str) -> None:
        self.exception_cls, self.regex = exception_cls, regex

    def __enter__(self) -> None:
        """Nothing is expected before the end."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        expected = f"Expected exception {self.exception_cls.__name__}"
        if error is None:
            raise AssertionError(f"{expected}, and nothing was raised")
        if not isinstance(error, self.exception_cls):
            raise AssertionError(f"{expected}, instead got {type(error).__name__}") from error
        if not re.search(self.regex, str(error)):
            raise AssertionError(f"{expected} to match regex {self.regex!r}, and it says: {error}") from error
        return True
