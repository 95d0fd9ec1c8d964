"""``detach`` as an operator, beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2
from tests.runtime.both import agree


def seen_by_a_mode(library: Any) -> Any:
    from importlib import import_module

    mode = import_module(f"{library.__name__}.utils._python_dispatch").TorchDispatchMode
    seen = []

    class Watch(mode):  # type: ignore[misc, valid-type]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    x = library.ones(2, requires_grad=True)
    y = x * 2
    with Watch():
        z = y.detach()
        z.zero_()
        y.detach_()
    return seen, y, z, y.is_leaf


def seen_by_a_subclass(library: Any) -> Any:
    seen = []

    class Logged(library.Tensor):  # type: ignore[misc, name-defined]
        @staticmethod
        def __new__(cls: Any, inner: Any) -> Any:
            made = library.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=True)
            made.inner = inner
            return made

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return cls(func(*(a.inner if isinstance(a, cls) else a for a in args), **(kwargs or {})).detach())

    x = Logged(library.ones(2))
    y = x.detach()
    return seen, type(y).__name__, y.inner.tolist()


CASES: dict[str, Callable[[Any], Any]] = {
    "in a mode": seen_by_a_mode,
    "of a subclass": seen_by_a_subclass,
    "as a function": lambda library: library.detach(library.ones(2, requires_grad=True)),
    "no view": lambda library: library.ops.aten.detach(library.ones(2))._is_view(),
    "in place": lambda library: (library.ones(2, requires_grad=True) * 2).detach_().requires_grad_(),
    "a leaf in place": lambda library: library.ones(2, requires_grad=True).detach_(),
    "schemas": lambda library: [
        str(library.ops.aten.detach.default._schema),
        str(library.ops.aten.detach_.default._schema),
    ],
}


@pytest.mark.parametrize("name", CASES)
def test_detach(name: str) -> None:
    agree(CASES[name])


def test_a_view_is_not_detached_in_place() -> None:
    agree(lambda library: (library.ones(2, requires_grad=True) * 2).view(2).detach_(), "Can't detach views in-place")


def test_in_place_is_no_change_of_values() -> None:
    x = mindtorch_v2.ones(2, requires_grad=True)
    y = x * 1
    z = y.exp()
    y.detach_()
    z.sum().backward()  # what was saved is as it was
    assert x.grad is not None
    assert y._version == 0
