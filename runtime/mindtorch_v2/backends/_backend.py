"""`Backend`: all that a device type is, in one value; and the table of those that there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _core

if TYPE_CHECKING:
    from .._core import Tensor, device

__all__ = ["Backend", "Copies", "Memory", "Streams", "all_backends", "backend_of"]


@dataclass(frozen=True)
class Memory:
    """Where a device's memory comes from; ``index`` is the device's, and addresses are never 0."""

    allocate: Callable[[int, int], int]  # (nbytes, index) -> address; raises where there is none
    free: Callable[[int, int, int], None]  # (address, nbytes, index)


@dataclass(frozen=True)
class Copies:
    """How runs of bytes get to a device, back, and from one place of it to another.

    Each takes ``(destination, source, nbytes)``, tensors whose first ``nbytes`` bytes lie one after another; one is on
    the CPU, or both are on one device. A copy to or from the CPU is done when the function returns.

    ``strided(destination, source)`` copies elements of one dtype within a device, whatever the layouts, and says
    whether it did; what it does not take passes through the CPU.
    """

    to_device: Callable[[Tensor, Tensor, int], None]
    to_host: Callable[[Tensor, Tensor, int], None]
    within: Callable[[Tensor, Tensor, int], None]
    strided: Callable[[Tensor, Tensor], bool] = lambda destination, source: False


@dataclass(frozen=True)
class Streams:
    """A device type's streams: its classes, and which stream is current.

    ``stream(device, priority=0)`` and ``event(enable_timing, blocking, interprocess)`` make them, ``current(device)``
    is the calling thread's stream of a device. What else streams do they do themselves; a tensor's `record_stream` is a
    kernel of that operator.
    """

    stream: Callable[..., Any]
    event: Callable[..., Any]
    current: Callable[[device], Any]


@dataclass(frozen=True)
class Backend:
    """A device type.

    What is left out it does not have: without ``memory``, ``start`` and a kernel of `empty` no tensor on it has
    elements, without ``autocast`` there is no autocast.
    """

    name: str  # what `torch.device` calls it
    key: str  # the dispatch key of its kernels; those of its autograd and autocast follow
    indexed: bool = True  # whether a tensor on it is on one of several
    memory: Memory | None = None  # left out: what its kernel of the operator `empty` makes, or nothing
    start: Callable[[], None] | None = None  # opens it before its first allocation
    pinned: Callable[[], Memory] | None = None  # host memory that it reaches by itself
    copies: Callable[[], Copies] | None = None  # left out: its kernel of the operator `_copy_from`
    current_device: Callable[[], int] | None = None  # the index that the thread's tensors go to; left out: 0
    check_index: Callable[[int], None] | None = None  # raises RuntimeError where there can be no such device
    streams: Callable[[], Streams] | None = None  # left out: what a call does on it is done when the call returns
    generator: str | None = "cpu"  # whose generators draw its random numbers, the CPU's or its own; None: it has none
    autocast: tuple[str, ...] = ()  # the dtypes that autocast lowers to, the default first
    abi: str = "c"  # how its kernels are launched unless they say otherwise
    fallback: str | None = None  # "cpu": operators without a kernel of its own run there; left out: they are refused

    def __post_init__(self) -> None:
        """Raises TypeError or RuntimeError for what no device type can be."""
        for field, kinds in _KINDS.items():
            if not isinstance(value := getattr(self, field), kinds):
                expected = " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)
                raise TypeError(f"Backend(): argument '{field}' must be {expected}, not {type(value).__name__}")
        if not self.name.isidentifier() or self.name == "privateuseone":
            raise RuntimeError(f"{self.name!r} is no name for a device type: expected letters, digits and underscores")
        if self.fallback not in (None, "cpu"):
            raise RuntimeError(f"a device type can fall back to 'cpu', not to {self.fallback!r}")
        if self.generator not in (None, "cpu", self.name):
            raise RuntimeError(
                f"a device type's random numbers are its own ({self.name!r}) or those of 'cpu', "
                f"not of {self.generator!r}"
            )
        for dtype in self.autocast:
            if dtype not in _core.dtypes or not _core.dtypes[dtype].is_floating_point:
                raise RuntimeError(f"autocast lowers to floating-point dtypes by their names, not to {dtype!r}")

    @property
    def autograd_key(self) -> str:
        """The dispatch key at which its calls are recorded."""
        return f"Autograd{self.key}"

    @property
    def autocast_key(self) -> str | None:
        """The dispatch key of its autocast; None where it has none."""
        return f"Autocast{self.key}" if self.autocast else None


_KINDS: dict[str, tuple[Any, ...]] = {
    "name": (str,),
    "key": (str,),
    "indexed": (bool,),
    "memory": (Memory, type(None)),
    "autocast": (tuple,),
    **dict.fromkeys(("start", "pinned", "copies", "current_device", "check_index", "streams"), (Callable, type(None))),
    "abi": (str,),
}


def all_backends() -> list[Backend]:
    """The device types that there are, in the order of their keys."""
    found: list[Backend] = _core.devices()
    return found


def backend_of(where: device | str) -> Backend:
    """What a device, or a device type by name, is. Raises RuntimeError for an unknown one."""
    found: Backend = _core.backend_of(where)
    return found
