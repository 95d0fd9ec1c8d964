"""``torch.npu``'s random numbers: seeds and states of the NPUs' default generators, which draw by Philox."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from .. import _core
from .._core import Tensor
from .._generators import Generator, generator_of, seed_devices
from .runtime import current_device, device_count

__all__ = [
    "default_generator_of",
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


def default_generator_of(device: Any = "npu") -> Generator:
    """The generator that an NPU's random numbers come from, of the current one by default."""
    place = _core.device("npu", device) if isinstance(device, int) else _core.device(device)
    if place.type != "npu":
        raise ValueError(f"expected an NPU, got {place}")
    return generator_of(_core.device("npu", current_device() if place.index is None else place.index))


def get_rng_state(device: Any = "npu") -> Tensor:
    """The state of an NPU's default generator: 16 bytes on the CPU, a seed and an offset."""
    return default_generator_of(device).get_state()


def set_rng_state(new_state: Tensor, device: Any = "npu") -> None:
    """Sets the state of an NPU's default generator."""
    default_generator_of(device).set_state(new_state)


def get_rng_state_all() -> list[Tensor]:
    """The states of all NPUs' default generators."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Sets the states of all NPUs' default generators."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Starts the sequence that belongs to ``seed`` on the current NPU."""
    default_generator_of().manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Starts the sequences that belong to ``seed`` on all NPUs."""
    seed_devices(int(seed))


def seed() -> None:
    """Starts a sequence from a seed of the operating system's on the current NPU."""
    default_generator_of().seed()


def seed_all() -> None:
    """Starts sequences from one seed of the operating system's on all NPUs."""
    seed_devices(int.from_bytes(os.urandom(8), "little"))


def initial_seed() -> int:
    """The seed that the current NPU's sequence started from."""
    return default_generator_of().initial_seed()
