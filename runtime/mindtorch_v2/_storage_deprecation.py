"""The warning that storages with a dtype are deprecated: once in a process, by what is called from outside."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from typing import Any

__all__ = ["Removal", "deprecated", "quiet", "warn_of_removal"]


class Removal(threading.local):
    """When the warning is given: always, or the first time alone; never by what a call that warned calls itself."""

    always = False
    warned = False
    inside = False


_removal = Removal()


def warn_of_removal(stacklevel: int) -> None:
    """Warns that `TypedStorage` is deprecated, unless it did."""
    if Removal.always or not Removal.warned:
        Removal.warned = True
        warnings.warn(
            "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage "
            "class. This should only matter to you if you are using storages directly.  To access UntypedStorage "
            "directly, use tensor.untyped_storage() instead of tensor.storage()",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def quiet(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, during which nothing warns."""

    @functools.wraps(method)
    def called(*args: Any, **kwargs: Any) -> Any:
        outside, _removal.inside = _removal.inside, True
        try:
            return method(*args, **kwargs)
        finally:
            _removal.inside = outside

    return called


def deprecated(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method with the warning, unless it is called with ``_internal=True`` or by another such method."""
    without = quiet(method)

    @functools.wraps(method)
    def called(*args: Any, **kwargs: Any) -> Any:
        if not _removal.inside and not kwargs.get("_internal"):
            warn_of_removal(stacklevel=2)
        return without(*args, **kwargs)

    return called
