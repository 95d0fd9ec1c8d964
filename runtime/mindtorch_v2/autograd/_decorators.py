"""Context managers that decorate functions, too: what they set holds while the body runs, and for each call anew."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import Any, TypeVar

__all__ = ["ContextDecorator", "decorate_generator", "warn_of_class"]

Function = TypeVar("Function", bound=Callable[..., Any])


def warn_of_class(function: object) -> None:
    """Says of a class that it is not to be decorated."""
    if inspect.isclass(function):
        warnings.warn(
            "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
            "functions or methods. To preserve the current behavior of class decoration, you can directly decorate the "
            "`__init__` method and nothing else.",
            FutureWarning,
            stacklevel=3,
        )


class ContextDecorator:
    """A base of context managers that may stand above a function or a generator function."""

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *exc: Any) -> Any:
        raise NotImplementedError

    def clone(self) -> Any:
        """One of its kind for one call: calls may nest, and run in several threads at once."""
        return type(self)()

    def __call__(self, function: Function) -> Function:
        """Decorates a function or a generator function; of a class what makes its objects, which is obsolete."""
        warn_of_class(function)
        if inspect.isgeneratorfunction(function):
            generator: Function = decorate_generator(function, self.clone)
            return generator

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]


def decorate_generator(function: Any, context: Callable[[], AbstractContextManager[Any]]) -> Any:
    """A context is entered whenever the generator's body runs, its end included, and left while its consumer does."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        resume: Callable[[], Any] = functools.partial(next, generator)
        while True:
            try:
                with context():
                    value = resume()
            except StopIteration as stop:
                return stop.value
            try:
                sent = yield value
            except GeneratorExit:
                with context():
                    generator.close()
                raise
            except BaseException as error:  # belongs into the generator, which may handle it
                resume = functools.partial(generator.throw, error)
            else:
                resume = functools.partial(generator.send, sent)

    return wrapper
