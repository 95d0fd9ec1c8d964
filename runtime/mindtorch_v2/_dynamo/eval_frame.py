"""What a module becomes by `torch.compile`, under the name of the module that PyTorch keeps it in."""

from __future__ import annotations

from typing import Any

from ..library._custom_op import compiled_call
from ..nn import Module

__all__ = ["OptimizedModule"]


class OptimizedModule(Module):
    """What `torch.compile` makes of a module: one around it, ``_orig_mod``, that runs it."""

    _orig_mod: Module

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._orig_mod = mod
        self.training = mod.training

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's own result."""
        with compiled_call():
            return self._orig_mod(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        own = name in ("_orig_mod", "training") or "_modules" not in self.__dict__ or name in self.__dict__
        if own:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)
