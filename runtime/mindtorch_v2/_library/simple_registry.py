"""What is registered for an operator besides kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import _ops

__all__ = ["singleton"]


@dataclass(frozen=True)
class Kernel:
    """A function, and where it was registered."""

    func: Any
    source: str | None


@dataclass(frozen=True)
class FakeImpl:
    """The rule that gives an operator's outputs without values; ``kernel`` is None where there is none."""

    qualname: str
    kernel: Kernel | None


@dataclass(frozen=True)
class Entry:
    """What is registered for an operator."""

    qualname: str

    @property
    def fake_impl(self) -> FakeImpl:
        """Its rule for tensors without values."""
        op = _ops.find(self.qualname)
        rule = op.kernel("Meta")
        return FakeImpl(self.qualname, None if rule is None else Kernel(rule, op.kernel_sources().get("Meta")))


class SimpleLibraryRegistry:
    """The entries by operators' names."""

    def find(self, qualname: str) -> Entry:
        """The entry of ``"ns::name"``."""
        return Entry(qualname.removesuffix(".default"))


singleton = SimpleLibraryRegistry()
