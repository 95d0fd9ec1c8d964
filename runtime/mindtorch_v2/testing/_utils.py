"""Random numbers that tests leave as they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .._modes import DisableTorchDispatch
from ..random import get_rng_state, manual_seed, set_rng_state

__all__ = ["freeze_rng_state", "wrapper_set_seed"]


@contextmanager
def freeze_rng_state() -> Iterator[None]:
    """Inside, the default generator of the CPU may be drawn from; afterwards its state is that of before."""
    with DisableTorchDispatch():  # modes see neither
        state = get_rng_state()
    try:
        yield
    finally:
        with DisableTorchDispatch():
            set_rng_state(state)


def wrapper_set_seed(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a function of random numbers returns after ``manual_seed(42)``; the generator stays as it is."""
    with freeze_rng_state():
        manual_seed(42)
        return op(*args, **kwargs)
