"""What definitions ask of the runtime that carries them out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._callees import resolved
from ._language import DefinitionError
from ._launcher import Launching

__all__ = ["Runtime"]


class Runtime(Launching):
    """What definitions are carried out with: how its tensors are asked and made, and how its operators are called."""

    byte_dtype: Any  # of memory that holds bytes
    launched_as: Mapping[str, str] = {"CPU": "c", "NPU": "ascendc", "CUDA": "c", "MPS": "c"}  # key of a device -> abi

    @abstractmethod
    def default_dtype(self) -> Any:
        """The dtype of tensors that are made without one."""

    @abstractmethod
    def device_type(self, device: Any) -> str:
        """The kind of a device: ``cpu``, ``npu``, ``cuda``, ``mps`` or ``meta``."""

    @abstractmethod
    def device_index(self, device: Any) -> int | None:
        """The number of a device among those of its kind; None where there is one alone."""

    @abstractmethod
    def is_floating(self, dtype: Any) -> bool:
        """Whether a dtype is a floating-point one."""

    @abstractmethod
    def is_complex(self, dtype: Any) -> bool:
        """Whether a dtype is a complex one."""

    @abstractmethod
    def is_signed(self, dtype: Any) -> bool:
        """Whether a dtype has negative numbers."""

    @abstractmethod
    def itemsize(self, dtype: Any) -> int:
        """How many bytes an element has."""

    @abstractmethod
    def requires_grad(self, tensor: Any) -> bool:
        """Whether a tensor requires a gradient."""

    @abstractmethod
    def empty(self, shape: Sequence[int], dtype: Any, device: Any) -> Any:
        """A new tensor."""

    @abstractmethod
    def broadcast_shapes(self, *shapes: Sequence[int]) -> Sequence[int]:
        """The shape that several broadcast to."""

    @abstractmethod
    def result_type(self, *values: Any) -> Any:
        """The dtype of what arithmetic makes of tensors and numbers."""

    @abstractmethod
    def promote_types(self, first: Any, second: Any) -> Any:
        """The dtype to which two are promoted."""

    @abstractmethod
    def can_cast(self, source: Any, target: Any) -> bool:
        """Whether values of a dtype may become another's."""

    def least(self, first: Any, second: Any) -> Any:
        """The smaller of two numbers."""
        return min(first, second)

    def greatest(self, first: Any, second: Any) -> Any:
        """The greater of two numbers."""
        return max(first, second)

    def stream(self, device: Any) -> int | None:
        """The stream on which kernels for a device are queued; None where there is none."""
        return None

    @abstractmethod
    def upload(self, data: bytes, device: Any) -> Any:
        """Bytes as a tensor on a device."""

    def primitive(self, name: str, attributes: Mapping[str, Any]) -> Callable[..., Any]:
        """A primitive of MindSpore."""
        raise DefinitionError(f"op.mindspore(..., {name!r}): there are no primitives of MindSpore here")

    def variant(self, name: str, base: Any) -> Callable[..., Any]:
        """What runs for an operator that is made of another one: where none writes, that one itself."""
        return base  # type: ignore[no-any-return]

    @abstractmethod
    def function(self, name: str) -> Callable[..., Any]:
        """The operator that a method of tensors stands for."""

    @abstractmethod
    def writes(self, callee: Any) -> bool:
        """Whether an operator that is there writes to an argument."""

    def outputs(self, callee: Any) -> int:
        """How many outputs an operator that is there has; 0 where that is not known."""
        return 0

    # ---- operators that may be defined later
    def may_write(self, callee: Any) -> bool:
        """Whether an operator writes to an argument, as far as is known before it is defined."""
        try:
            return self.writes(resolved(callee))
        except AttributeError:
            return True

    def outputs_of(self, callee: Any) -> int:
        """How many outputs an operator has; 0 where that is not known, yet or at all."""
        try:
            return self.outputs(resolved(callee))
        except AttributeError:
            return 0
