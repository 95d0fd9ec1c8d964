"""The state of sharded optimizers, which are not here."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["load_sharded_optimizer_state_dict"]


def load_sharded_optimizer_state_dict(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises NotImplementedError."""
    raise NotImplementedError("torch.distributed.checkpoint: there are no sharded optimizers here; use torch.load")
