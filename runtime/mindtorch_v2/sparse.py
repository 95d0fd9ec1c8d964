"""``torch.sparse``, as far as programs set what it is to check: there are no sparse tensors here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["check_sparse_tensor_invariants"]


class check_sparse_tensor_invariants:  # noqa: N801  (PyTorch's name)
    """Whether sparse tensors are to be checked as they are made: a setting, a block or a decorator.

    It is kept and told for programs that set it; there is nothing to check.
    """

    _enabled = False

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether it is set."""
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable() -> None:
        """Sets it."""
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        """Takes it back."""
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError("This context manager instance is already activated. Use a different one for nesting.")
        self.saved_state = self.is_enabled()
        check_sparse_tensor_invariants._enabled = self.state

    def __exit__(self, *exception: object) -> None:
        check_sparse_tensor_invariants._enabled, self.saved_state = bool(self.saved_state), None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function``, run with the setting."""

        @functools.wraps(function)
        def with_setting(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return with_setting
