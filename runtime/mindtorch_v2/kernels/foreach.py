"""``torch._foreach_…``: an operator called for each of a list of tensors.

Each function here has the name of the operator that it repeats, and is made when it is first asked for. An argument
that is a list has an item for each tensor; any other goes to all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core import Tensor
from .._ops import ops

__all__: list[str] = []


def _maximum(self: Tensor, other: Any) -> Tensor:
    aten = ops.aten
    result: Tensor = aten.maximum(self, other) if isinstance(other, Tensor) else aten.clamp_min(self, other)
    return result


def _minimum(self: Tensor, other: Any) -> Tensor:
    aten = ops.aten
    result: Tensor = aten.minimum(self, other) if isinstance(other, Tensor) else aten.clamp_max(self, other)
    return result


def _norm(self: Tensor, ord: Any = 2, dtype: Any = None) -> Tensor:
    result: Tensor = ops.aten.linalg_vector_norm(self, ord, dtype=dtype)
    return result


def _powsum(self: Tensor, ord: Any = 2, dtype: Any = None) -> Tensor:
    if not (self.is_floating_point() or self.is_complex()):
        raise NotImplementedError(
            f"_foreach_powsum: Expected a floating point or complex tensor as input. Got {self.dtype}"
        )
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise NotImplementedError(f"_foreach_powsum is not implemented for {dtype}")
    given = self if dtype is None else self.to(dtype)
    result: Tensor = given.abs().pow(ord).sum()
    return result


def _copied(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    return self.clone().copy_(src, non_blocking)  # type: ignore[no-any-return]


def _valued(name: str) -> Callable[..., Tensor]:
    """`addcmul` and `addcdiv`, whose last argument has a name."""

    def call(self: Tensor, first: Tensor, second: Tensor, value: Any = 1) -> Tensor:
        result: Tensor = getattr(ops.aten, name)(self, first, second, value=value)
        return result

    return call


_SPECIAL: dict[str, Callable[..., Any]] = {
    "addcdiv": _valued("addcdiv"),
    "addcdiv_": _valued("addcdiv_"),
    "addcmul": _valued("addcmul"),
    "addcmul_": _valued("addcmul_"),
    "copy": _copied,
    "maximum": _maximum,
    "minimum": _minimum,
    "maximum_": lambda self, other: ops.aten.clamp_min_(self, other),
    "minimum_": lambda self, other: ops.aten.clamp_max_(self, other),
    "norm": _norm,
    "powsum": _powsum,
}
# The arguments of these that are one tensor for all, and must hold one number; or a number for each.
_ONE_NUMBER = frozenset(("add", "add_", "mul", "mul_", "div", "div_"))
_NUMBERS = frozenset(("addcdiv", "addcdiv_", "addcmul", "addcmul_"))


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__"):
        raise AttributeError(name)
    operator = _SPECIAL.get(name) or getattr(ops.aten, name)

    def repeat(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = [_items(name, argument) for argument in args]
        by_name = {key: _items(name, argument) for key, argument in kwargs.items()}
        lists = [items for items in (self, *given, *by_name.values()) if isinstance(items, (list, tuple))]
        _check_lengths(lists)
        results = []
        for at in range(len(lists[0])):
            first, *others = (_item(items, at) for items in (self, *given))
            results.append(operator(first, *others, **{key: _item(items, at) for key, items in by_name.items()}))
        return None if name.endswith("_") else results

    repeat.__name__ = repeat.__qualname__ = name
    globals()[name] = repeat
    return repeat


def _items(name: str, argument: Any) -> Any:
    """An argument; a tensor that stands for one number, or for a number for each, after a look at its size."""
    if isinstance(argument, Tensor) and name in _ONE_NUMBER and (argument.dim() or argument.numel() != 1):
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {argument.dim()} dimensions and {argument.numel()} "
            "elements."
        )
    if isinstance(argument, Tensor) and name in _NUMBERS:
        if argument.dim() != 1:
            raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {argument.dim()} instead.")
        return argument.tolist()
    return argument


def _item(items: Any, at: int) -> Any:
    return items[at] if isinstance(items, (list, tuple)) else items


def _check_lengths(lists: Sequence[Any]) -> None:
    if not len(lists[0]):
        raise RuntimeError("Tensor list must have at least one tensor.")
    for items in lists[1:]:
        if len(items) == len(lists[0]):
            continue
        if items and not isinstance(items[0], Tensor):
            raise RuntimeError(
                f"Tensor list must have same number of elements as scalar list, got {len(lists[0])} and {len(items)}"
            )
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(lists[0])} and {len(items)}")
