"""``torch.Generator``, and which generator draws a device's random numbers where none is given."""

from __future__ import annotations

import os
from numbers import Integral
from typing import Any

from . import _core
from ._core import Tensor
from .backends import backend_of

__all__ = ["Generator", "default_generator", "forget", "generator_of", "generators", "seed_devices"]

_FIRST_SEED = 67280421310721  # PyTorch's, of generators that were given none
_CPU = _core.device("cpu")
_BYTES = 5056  # of PyTorch's state of mt19937


def _place(where: Any) -> _core.device:
    """The device that a generator is of. Raises RuntimeError where it has no random numbers."""
    found = _core.device("cpu" if where is None else where)
    if backend_of(found).generator is None:
        raise RuntimeError(f"Generator(): there are no random numbers on {found.type}: expected a device that has some")
    if found.type == "cpu":
        return _CPU
    return _core.device(found.type, found.index or 0)


class Generator(_core.Generator):
    """A source of random numbers with a seed of its own, as ``torch.Generator``.

    That of the CPU is mt19937 and draws what PyTorch's draws; that of another device is Philox 4x32-10. Threads may
    share one: a call holds its lock while it draws.
    """

    def __init__(self, device: Any = "cpu") -> None:
        self._place(_place(device))
        self._start(_FIRST_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Starts the sequence that belongs to ``seed``, 64 bits, a negative one as it is in two's complement.

        Raises RuntimeError for what is no integer, as a bool is not, ValueError for one beyond 64 bits.
        """
        if isinstance(seed, bool) or not isinstance(seed, Integral):
            raise RuntimeError(f"manual_seed expected an int, but got {type(seed).__name__}")
        number = int(seed)
        if not -(2**63) <= number < 2**64:
            raise ValueError(f"Overflow when unpacking long long: the seed {number} needs more than 64 bits")
        self._start(number % 2**64)
        return self

    def seed(self) -> int:
        """Starts a sequence from a seed that the operating system draws, and returns it."""
        self._start(int.from_bytes(os.urandom(8), "little"))
        return self.initial_seed()

    def get_state(self) -> Tensor:
        """All that decides what is drawn next, uint8 on the CPU, as PyTorch lays it out (5056 bytes of mt19937)."""
        text = self._state_bytes()
        state = _core.alloc((len(text),), _core.dtypes["uint8"], _CPU)
        _core.as_memoryview(state)[:] = text
        return state

    def set_state(self, new_state: Tensor) -> Generator:
        """Goes on from a state of `get_state`, or from one of PyTorch's; returns itself.

        Raises TypeError for what is no uint8 tensor of the CPU, RuntimeError for one that is no state.
        """
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not _core.dtypes["uint8"] or new_state.device.type != "cpu":
            raise TypeError("RNG state must be a torch.ByteTensor")
        if not new_state.is_contiguous():
            raise RuntimeError("RNG state must be contiguous")
        self._check_size(new_state.numel())
        if not self._take_state(_core.as_memoryview(new_state.detach().reshape(-1))):
            raise RuntimeError("Invalid mt19937 state")
        return self

    def _check_size(self, count: int) -> None:
        if self.device.type == "cpu":
            if count != _BYTES:
                raise RuntimeError(
                    f"Expected a CPUGeneratorImplState of size {_BYTES} but found the input RNG state size to be "
                    f"{count}"
                )
        elif count not in (8, 16):
            raise RuntimeError(f"RNG state is wrong size: expected a seed and an offset, 16 bytes, got {count}")

    def clone_state(self) -> Generator:
        """A generator that draws from here on what this one would."""
        copy = Generator(self.device)
        copy._take_state(memoryview(self._state_bytes()))
        return copy

    def graphsafe_get_state(self) -> Generator:
        """A generator that shares this one's sequence; not of the CPU's, as in PyTorch."""
        self._refuse_on_cpu("graphsafe_get_state")
        copy = Generator(self.device)
        copy._share(self)
        return copy

    def graphsafe_set_state(self, state: Generator) -> Generator:
        """Draws from another generator's sequence, which both share from now on; not of the CPU's, as in PyTorch."""
        self._refuse_on_cpu("graphsafe_set_state")
        if not isinstance(state, Generator) or state.device != self.device:
            raise RuntimeError(f"graphsafe_set_state: expected a generator of {self.device}, got {state!r}")
        self._share(state)
        return self

    def _refuse_on_cpu(self, name: str) -> None:
        if self.device.type == "cpu":
            raise NotImplementedError(f"{name} is not supported in this Generator")

    def get_offset(self) -> int:
        """How many numbers of 32 bits were drawn. Raises RuntimeError on the CPU, whose state has no offset."""
        self._require_offset()
        offset: int = self._offset()
        return offset

    def set_offset(self, offset: int) -> None:
        """Goes to a place in the sequence, a multiple of 4. Raises RuntimeError for another, and on the CPU."""
        if isinstance(offset, bool) or not isinstance(offset, Integral):
            raise TypeError(f"set_offset expected an integer, but got {type(offset).__name__}")
        number = int(offset)
        if not -(2**63) <= number < 2**64:
            raise ValueError(f"Overflow when unpacking long long: the offset {number} needs more than 64 bits")
        self._require_offset()
        if number < 0 or number % 4:
            raise RuntimeError(f"offset must be a multiple of 4, got {number}")
        self._move_to(number)

    def _require_offset(self) -> None:
        if self.device.type == "cpu":
            raise RuntimeError("CPU Generator does not use offset")

    def __reduce__(self) -> tuple[Any, ...]:
        offset = None if self.device.type == "cpu" else self.get_offset()
        return Generator, (self.device,), (self.initial_seed(), offset, self.get_state())

    def __setstate__(self, state: tuple[int, int | None, Tensor]) -> None:
        if not isinstance(state, tuple) or len(state) != 3:
            raise TypeError(f"__setstate__(): expected a seed, an offset and a state, got {state!r}")
        seed, offset, words = state
        self.manual_seed(seed)
        if offset is not None:
            self.set_offset(offset)
        self.set_state(words)


default_generator = Generator()
_core.hooks.fill(generator_type=Generator)
_core.set_default_generator(default_generator)

_of_devices: dict[_core.device, Generator] = {}  # the default generators of what is no CPU, made when first asked for
_seed_of_devices = _FIRST_SEED


def generator_of(where: _core.device) -> Generator:
    """The default generator of a device."""
    kind = backend_of(where).generator
    if kind == "cpu":
        return default_generator
    place = _place(where)
    if place not in _of_devices:
        _of_devices[place] = Generator(place).manual_seed(_seed_of_devices)
    return _of_devices[place]


def generators(device_type: str) -> dict[int, Generator]:
    """The default generators of a device type that there are by now, by index."""
    return {place.index or 0: g for place, g in _of_devices.items() if place.type == device_type}


def forget(where: _core.device) -> None:
    """Takes a default generator back, as if it had not been asked for."""
    _of_devices.pop(where, None)


def seed_devices(seed: int) -> None:
    """Seeds the default generators of all devices but the CPU, those that come yet too."""
    global _seed_of_devices
    _seed_of_devices = seed
    for generator in _of_devices.values():
        generator.manual_seed(seed)
