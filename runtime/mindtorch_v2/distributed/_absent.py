"""Names that libraries import before they ask whether they need them: what is not here says so when it is used."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["absent"]


def absent(name: str) -> type:
    """A class of that name without objects: to make one raises NotImplementedError."""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"torch.distributed has no {name} here: nn.parallel.DistributedDataParallel trains in several processes"
        )

    return type(name, (), {"__init__": refuse, "__module__": __name__, "__doc__": f"Stands for {name}: there is none."})
