"""The mode that attention masks are made under, by the name that libraries import it by."""

from __future__ import annotations

from typing import Any

from .._core import Tensor, dtypes
from .._creation import tensor
from .._ops import ops
from ..overrides import TorchFunctionMode
from ..utils._pytree import tree_leaves

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(TorchFunctionMode):
    """While it is on, ``t[i, j]`` of integers and tensors alone is ``aten::index``: no index is read as a number.

    So a function under `vmap` may index by a sample's number. As in PyTorch the parts of a list are indices each, and
    True is 1; an index with a slice, None or an ellipsis goes its usual way.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.__getitem__:
            indices = tree_leaves(args[1])
            if indices and all(isinstance(index, (Tensor, int)) for index in indices):
                return ops.aten.index(args[0], [_as_tensor(index, args[0]) for index in indices])
        return func(*args, **(kwargs or {}))


def _as_tensor(index: Tensor | int, indexed: Tensor) -> Tensor:
    return index if isinstance(index, Tensor) else tensor(index, dtype=dtypes["int64"], device=indexed.device)
