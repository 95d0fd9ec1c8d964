"""Whether operations are recorded for backward, per thread: context managers that are decorators too."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from .._argument_types import check_flag
from .._core import Tensor, is_grad_enabled, set_grad_enabled_, set_inference_mode_, set_version_
from .._core import is_inference_mode as is_inference_mode_enabled
from .._managers import not_entered
from ._decorators import ContextDecorator, warn_of_class

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

Function = TypeVar("Function", bound=Callable[..., Any])


class _GradMode(ContextDecorator):
    """Sets grad mode while inside ``with``, or while a decorated function or generator runs."""

    mode: bool

    def __init__(self) -> None:
        self._outer: list[bool] = []  # a stack: one object can be entered again inside itself

    def __enter__(self) -> None:
        self._outer.append(set_grad_enabled_(self.mode))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._outer:
            raise not_entered(self)
        set_grad_enabled_(self._outer.pop())

    def __call__(self, function: Function) -> Function:
        """Decorates a function or a generator function: the mode holds while its body runs."""
        if inspect.isgeneratorfunction(function):
            return super().__call__(function)
        warn_of_class(function)
        mode = self.mode

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            outer = set_grad_enabled_(mode)
            try:
                return function(*args, **kwargs)
            finally:
                set_grad_enabled_(outer)

        return wrapper  # type: ignore[return-value]


class _BareDecorator(_GradMode):
    """A mode whose class is a decorator too: ``@no_grad`` as well as ``@no_grad()``."""

    def __new__(cls, orig_func: Any = None) -> Any:
        instance = object.__new__(cls)
        if orig_func is None:
            return instance
        _GradMode.__init__(instance)
        return instance(orig_func)


class no_grad(_BareDecorator):  # noqa: N801  (PyTorch's name)
    """Nothing is recorded: ``with no_grad():``, ``@no_grad()`` or ``@no_grad``."""

    mode = False


class enable_grad(_BareDecorator):  # noqa: N801
    """Operations are recorded, also inside `no_grad`: ``with enable_grad():``, ``@enable_grad()``, ``@enable_grad``."""

    mode = True

    def __init__(self, orig_func: None = None) -> None:
        self._outer = []


class set_grad_enabled(_GradMode):  # noqa: N801
    """Sets grad mode at once: ``set_grad_enabled(False)``; leaving it as a context manager restores the mode before."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        check_flag("set_grad_enabled", "enabled", mode)
        self.mode = mode
        self._before = set_grad_enabled_(self.mode)

    def clone(self) -> set_grad_enabled:
        """The same mode, set at once."""
        return set_grad_enabled(self.mode)

    def __enter__(self) -> None:
        self._outer.append(self._before)
        set_grad_enabled_(self.mode)

    def __call__(self, orig_func: Function) -> Function:
        """Decorates a function: the mode holds while it runs."""
        set_grad_enabled_(self._before)  # a decorator changes the mode of the function only
        return super().__call__(orig_func)


class inference_mode(ContextDecorator):  # noqa: N801
    """Like `no_grad`, and new tensors never take part in autograd: no version, and no saving for backward.

    ``with inference_mode():``, ``@inference_mode()`` or ``@inference_mode``; ``inference_mode(False)`` turns it off
    inside.
    """

    def __new__(cls, mode: Any = True) -> Any:
        """A mode, or the decorated function where that is what is given."""
        instance = super().__new__(cls)
        if isinstance(mode, bool):
            return instance
        instance.__init__()  # type: ignore[misc]  # used as a bare decorator: `mode` is the function
        return instance(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self._outer: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        # Inside, grad mode is the opposite of inference mode, whatever it was.
        self._outer.append((set_inference_mode_(self.mode), set_grad_enabled_(not self.mode)))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._outer:
            raise not_entered(self)
        outer, grad = self._outer.pop()
        set_inference_mode_(outer)
        set_grad_enabled_(grad)

    def clone(self) -> inference_mode:
        """The same mode."""
        return inference_mode(self.mode)


class _unsafe_preserve_version_counter(ContextDecorator):  # noqa: N801
    """Inside, changes of these tensors in place are not counted: backward does not notice them, and may be wrong."""

    def __init__(self, tensors: Tensor | tuple[Tensor, ...]) -> None:
        self._tensors = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
        self._versions = [t._version for t in self._tensors]

    def __enter__(self) -> None:
        """Nothing to do: the versions are known."""

    def __exit__(self, *exc: object) -> None:
        for tensor, version in zip(self._tensors, self._versions, strict=True):
            set_version_(tensor, version)

    def clone(self) -> _unsafe_preserve_version_counter:
        """Another one of the same tensors, as they are now."""
        return type(self)(self._tensors)


class _Multithreading(threading.local):
    """Whether this thread's backward passes may use several threads."""

    enabled = True


_multithreading = _Multithreading()


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` has set on this thread; True at first."""
    return _multithreading.enabled


class set_multithreading_enabled(ContextDecorator):  # noqa: N801
    """Says at once, or inside ``with``, whether backward passes may use several threads.

    A pass runs on the thread that asks for it, whatever is said here: code that is written for PyTorch, whose passes
    run on a thread for each device, finds its setting.
    """

    def __init__(self, mode: bool) -> None:
        check_flag("set_multithreading_enabled", "enabled", mode)
        self.mode, self._outer = mode, _multithreading.enabled
        _multithreading.enabled = mode

    def __enter__(self) -> None:
        _multithreading.enabled = self.mode

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _multithreading.enabled = self._outer

    def clone(self) -> set_multithreading_enabled:
        """Another one of the same mode, which sets it at once, as this one did."""
        return type(self)(self.mode)
