"""``torch.random``: the default generators' seeds and states."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from . import _core
from ._core import Tensor
from ._generators import Generator, default_generator, forget, generator_of, generators, seed_devices

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


def set_rng_state(new_state: Tensor) -> None:
    """Sets the state of the CPU's default generator, one of `get_rng_state` or of PyTorch's."""
    default_generator.set_state(new_state)


def get_rng_state() -> Tensor:
    """The state of the CPU's default generator: 5056 bytes, those that PyTorch's would be."""
    return default_generator.get_state()


def manual_seed(seed: int) -> Generator:
    """Starts the sequences of random numbers that belong to ``seed``, on all devices; returns the CPU's generator."""
    number = int(seed)
    default_generator.manual_seed(number)
    seed_devices(number)
    return default_generator


def seed() -> int:
    """Starts the sequences of random numbers from a seed of the operating system's, and returns it."""
    number = default_generator.seed()
    seed_devices(number)
    return number


def initial_seed() -> int:
    """The seed that the CPU's sequence of random numbers started from."""
    return default_generator.initial_seed()


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "npu",
) -> Iterator[None]:
    """Inside, random numbers may be drawn and seeds set; behind it the default generators are as they were before.

    ``devices`` are those, beside the CPU, whose generators are kept, all of ``device_type`` by default. With
    ``enabled`` False it does nothing.
    """
    if not enabled:
        yield
        return
    kept = {} if _core.device(device_type).type == "cpu" else _kept(devices, device_type)
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
        for where in _made(devices, device_type) - set(kept):
            forget(where)
        for where, saved in kept.items():
            generator_of(where).set_state(saved)


def _made(devices: Iterable[Any] | None, device_type: str) -> set[_core.device]:
    """Devices that have a default generator by now, where all are meant."""
    return {_core.device(device_type, index) for index in generators(device_type)} if devices is None else set()


def _kept(devices: Iterable[Any] | None, device_type: str) -> dict[_core.device, Tensor]:
    if devices is None:
        wanted = _made(None, device_type)
    else:
        wanted = {_core.device(device_type, d) if isinstance(d, int) else _core.device(d) for d in devices}
    return {where: generator_of(where).get_state() for where in wanted}
