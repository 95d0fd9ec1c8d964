"""The minimal set of operators of a device type from outside: kernels that what its `Backend` says is enough for."""

from __future__ import annotations

from .. import _ops
from .._hooks import hooks
from ..backends import Backend
from ._references import python_function
from ._registrations import Kernel, push_beneath

__all__ = ["add_minimal_set"]

# With memory: what makes tensors, and what touches no elements.
_OF_MEMORY = {
    "empty.memory_format": "mindtorch_v2.kernels.creation:empty",
    "empty_strided": "mindtorch_v2.kernels.creation:empty_strided",
    "as_strided": "mindtorch_v2._core:as_strided",
    "view": "mindtorch_v2._core:viewed",
    "_reshape_alias": "mindtorch_v2._core:as_strided",
    "resize_": "mindtorch_v2.kernels.creation:resize_",
    "set_.source_Tensor": "mindtorch_v2._core:set_to_tensor",
    "set_.source_Storage": "mindtorch_v2._core:set_to_storage",
    "set_.source_Storage_storage_offset": "mindtorch_v2._core:set_to_part",
}
# With copies of runs of bytes: what moves elements.
_OF_COPIES = {
    "_copy_from": "mindtorch_v2.kernels.creation:copy_from",
    "_copy_from_and_resize": "mindtorch_v2.kernels.creation:copy_and_resize",
    "_local_scalar_dense": "mindtorch_v2.kernels.creation:local_scalar_dense",
}


def add_minimal_set(backend: Backend) -> None:
    """Registers them, below what the device brings itself."""
    functions = {**(_OF_MEMORY if backend.memory else {}), **(_OF_COPIES if backend.copies else {})}
    for name, function in functions.items():
        push_beneath(_ops.find(f"aten::{name}"), backend.key, Kernel(python_function(function), __name__))


hooks.fill(device_added=add_minimal_set)
