"""``torch.nn.modules.utils``: what loads state dicts that were saved under a prefix, and options for each dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Takes a prefix off the names of a state dict and of its metadata, in place and keeping their order.

    Names without it stay. ``module.`` is that of what `DataParallel` and `DistributedDataParallel` saved.
    """
    _strip(state_dict, prefix)
    if hasattr(state_dict, "_metadata"):
        # A module's own name is its prefix without the dot; that of the whole is empty, and stays.
        _strip(state_dict._metadata, prefix)
        own = prefix.removesuffix(".")
        if own in state_dict._metadata:
            state_dict._metadata[""] = state_dict._metadata.pop(own)


def _strip(names: dict[str, Any], prefix: str) -> None:
    for name in list(names):
        value = names.pop(name)
        names[name.removeprefix(prefix)] = value


# ---------------------------------------------------------------- options for each dimension, by PyTorch's inner names
def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that makes a tuple of what can be iterated over, and of anything else a tuple of ``n`` times that."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single, _pair = _ntuple(1, "_single"), _ntuple(2, "_pair")
_triple, _quadruple = _ntuple(3, "_triple"), _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Sequence[Any], n: int) -> tuple[Any, ...]:
    """The items from the last to the first, each ``n`` times: as `pad` has them of the padding of a convolution."""
    return tuple(item for item in reversed(t) for _ in range(n))


def _list_with_default(out_size: Any, defaults: Sequence[int]) -> Any:
    """A list of sizes with those that are None taken from the last of ``defaults``; a number stays as it is."""
    if not isinstance(out_size, Sequence):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    last = defaults[len(defaults) - len(out_size) :]
    return [default if size is None else size for size, default in zip(out_size, last, strict=True)]
