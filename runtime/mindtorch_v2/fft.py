"""``torch.fft``: Fourier transforms, by the names of the operators ``fft_…``."""

from __future__ import annotations

from typing import Any

from ._creation import with_options
from ._ops import ops
from .library._publishing import published_form

__all__: list[str] = []

_FACTORIES = ("fftfreq", "rfftfreq")


def __getattr__(name: str) -> Any:
    try:
        found = published_form(getattr(ops.aten, f"fft_{name}"))
    except AttributeError:
        raise AttributeError(
            f"module 'torch.fft' has no attribute '{name}': docs/coverage.md lists the names there are"
        ) from None
    globals()[name] = with_options(f"fft_{name}", name) if name in _FACTORIES else found
    return globals()[name]
