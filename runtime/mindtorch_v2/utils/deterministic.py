"""What deterministic programs find in new memory, as ``torch.utils.deterministic``.

``fill_uninitialized_memory`` is True unless set otherwise: under `torch.use_deterministic_algorithms`, tensors that are
made or grow without values are filled, by NaN, by the largest integer or by True.
"""

from __future__ import annotations

import sys
from types import ModuleType

from .._settings import is_filling_uninitialized_memory, set_filling_uninitialized_memory


class _Deterministic(ModuleType):
    """A module whose variable is the setting."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        return is_filling_uninitialized_memory()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        set_filling_uninitialized_memory(mode)


sys.modules[__name__].__class__ = _Deterministic
