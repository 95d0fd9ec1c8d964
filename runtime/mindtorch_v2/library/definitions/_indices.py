"""``x[...]`` of a tensor's symbol: integers, slices and None become calls of operators."""

from __future__ import annotations

from typing import Any

from opschema.definitions import TensorSymbol

from ..._indexing import getitem

__all__ = ["indexed"]


def indexed(tensor: TensorSymbol, index: Any) -> Any:
    """What Python's brackets say."""
    items = index if isinstance(index, tuple) else (index,)
    if not all(item is None or isinstance(item, slice) or _is_int(item) for item in items):
        return _picked(tensor, items)
    found: Any = tensor
    dim = 0
    for item in items:
        if item is None:
            found = found.unsqueeze(dim)
        elif isinstance(item, slice):
            found = found.slice(dim, item.start, item.stop, 1 if item.step is None else item.step)
        else:
            found = found.select(dim, item)
            continue
        dim += 1
    return found


def _is_int(item: Any) -> bool:
    return type(item) is int or getattr(item, "kind", "") == "int"


def _picked(tensor: TensorSymbol, items: tuple[Any, ...]) -> Any:
    """Indexing with tensors: how many dimensions each stands for is known only in the call."""
    of = tensor.of
    bounds = [(i.start, i.stop, i.step) if isinstance(i, slice) else (i,) for i in items]
    widths = tuple(map(len, bounds))

    def pick(tensor: Any, *values: Any) -> Any:
        left = iter(values)
        parts = [slice(next(left), next(left), next(left)) if width > 1 else next(left) for width in widths]
        return getitem(tensor, tuple(parts))

    return of.make("tensor", "python", tensor, *(of.lift(v) for b in bounds for v in b), what=(pick, ()))
