"""Classes with ``__torch_dispatch__`` alone: no ``__torch_function__``, slots, their own text, gradients of theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

from tests.runtime.both import agree


def wrapper(torch: Any) -> Any:
    """A class that keeps another tensor in a slot."""

    class Wrapper(torch.Tensor):  # type: ignore[misc, name-defined]
        __slots__ = ["held"]

        @staticmethod
        def __new__(cls: Any, held: Any) -> Any:
            made = torch.Tensor._make_wrapper_subclass(cls, held.size(), dtype=held.dtype, device=held.device)
            made.held = held
            return made

        def __repr__(self) -> str:
            text: str = super().__repr__(tensor_contents=f"{self.held}")
            return text

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            tree = torch.utils._pytree.tree_map
            plain = tree(lambda v: v.held if isinstance(v, cls) else v, (args, kwargs or {}))
            return tree(lambda v: cls(v) if isinstance(v, torch.Tensor) else v, func(*plain[0], **plain[1]))

    return Wrapper


def functions_of_classes(torch: Any) -> Any:
    def dispatch(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))

    def function(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super(cls, cls).__torch_function__(func, types, args, kwargs)

    own = {"__torch_dispatch__": classmethod(dispatch)}
    one = type("One", (torch.Tensor,), own)
    classes = [
        one, type("Below", (one,), {}), type("Plain", (torch.Tensor,), {}),
        type("Both", (torch.Tensor,), {**own, "__torch_function__": classmethod(function)}),
    ]  # fmt: skip
    for cls in classes:
        torch.ones(2).as_subclass(cls)
    return [cls.__torch_function__ is torch._C._disabled_torch_function_impl for cls in classes]


def text(torch: Any) -> Any:
    return repr(wrapper(torch)(torch.ones(2)))


def gradient_of_its_class(torch: Any) -> Any:
    cls = wrapper(torch)
    x = cls(torch.ones(3)).requires_grad_()
    (g,) = torch.autograd.grad(x.sum(), x)
    (same,) = torch.autograd.grad(x.exp()[0], x, create_graph=True)
    return type(g).__name__, g.held, type(same).__name__, same.held


def jacobian_of_its_class(torch: Any) -> Any:
    found = torch.autograd.functional.jacobian(lambda x: x.sin(), wrapper(torch)(torch.ones(2)))
    return type(found).__name__, found.held


@pytest.mark.parametrize("case", [functions_of_classes, text, gradient_of_its_class, jacobian_of_its_class])
def test_as_in_pytorch(case: Callable[[Any], Any]) -> None:
    agree(case)


def test_a_vectorized_jacobian_of_a_wrapper() -> None:
    """Whose tangents are told apart though wrappers have no addresses."""

    def case(t: Any) -> Any:
        tree_map = t.utils._pytree.tree_map

        class Wrapper(t.Tensor):  # type: ignore[misc]
            @staticmethod
            def __new__(cls, inner: Any) -> Any:
                made = t.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype)
                made.held = inner
                return made

            @classmethod
            def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                bare = tree_map(lambda a: a.held if isinstance(a, cls) else a, (args, kwargs or {}))
                out = func(*bare[0], **bare[1])
                return tree_map(lambda a: cls(a) if isinstance(a, t.Tensor) else a, out)

        x = Wrapper(t.tensor([1.0, 2.0]))
        found = t.autograd.functional.jacobian(lambda x: x * x, x, vectorize=True, strategy="forward-mode")
        return getattr(found, "held", found).tolist()

    agree(case)
