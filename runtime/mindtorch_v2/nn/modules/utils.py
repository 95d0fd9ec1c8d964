"""PyTorch's place of what loads state dicts that were saved under a prefix: ``torch.nn.modules.utils``."""

from __future__ import annotations

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
