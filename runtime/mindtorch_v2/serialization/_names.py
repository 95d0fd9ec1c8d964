"""What checkpoints call things: the names of PyTorch's that stand in a pickle, and what of ours they are."""

from __future__ import annotations

import codecs
import collections
import importlib
from typing import Any

from .. import _core
from .._core import Size, Tensor, UntypedStorage
from .._lazy_values import kept_like
from .._storages import TYPED, TypedStorage
from ..nn.parameter import Parameter

__all__ = [
    "DEFAULT_GLOBALS",
    "StoredDtype",
    "rebuild_from_type_v2",
    "rebuild_meta_tensor",
    "rebuild_parameter",
    "rebuild_parameter_with_state",
    "rebuild_tensor_v2",
    "rebuild_tensor_v3",
    "resolve",
    "written_name",
]

_ORDERED = collections.OrderedDict


class StoredDtype:
    """A storage that is written, with the dtype that a checkpoint names it by."""

    __slots__ = ("dtype", "is_typed", "untyped")

    def __init__(self, untyped: UntypedStorage, dtype: _core.dtype, is_typed: bool = True) -> None:
        self.untyped, self.dtype, self.is_typed = untyped, dtype, is_typed


def _over(storage: Any, dtype: _core.dtype, offset: int, size: Any, stride: Any) -> Tensor:
    """A tensor over a part of a storage, which must reach that far."""
    untyped = storage._untyped_storage if isinstance(storage, TypedStorage) else storage
    if not isinstance(untyped, UntypedStorage):
        raise RuntimeError(f"a checkpoint's tensor must be over a storage, got {type(untyped).__name__}")
    sizes, steps = tuple(size), tuple(stride)
    numbers = (offset, *sizes, *steps)
    if not all(type(n) is int and 0 <= n < 2**63 for n in numbers) or len(sizes) != len(steps):
        raise RuntimeError(
            f"a checkpoint's tensor has offset {offset}, size {sizes} and stride {steps}: expected integers from 0 on, "
            "as many of each"
        )
    reached = 0 if 0 in sizes else offset + 1 + sum((n - 1) * step for n, step in zip(sizes, steps, strict=True))
    if reached * dtype.itemsize > untyped.nbytes():
        raise RuntimeError(
            f"a checkpoint's tensor of size {list(sizes)}, stride {list(steps)} and offset {offset} reaches beyond its "
            f"storage of {untyped.nbytes()} bytes: the file is damaged"
        )
    blank = _core.alloc((0,), dtype, untyped.device)
    made: Tensor = _core.set_to_part(blank, untyped, offset, sizes, steps)
    return made


def rebuild_tensor(storage: Any, offset: int, size: Any, stride: Any) -> Tensor:
    """A tensor over a part of a storage."""
    return _over(storage, storage.dtype, offset, size, stride)


def rebuild_tensor_v2(
    storage: Any, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any, metadata: Any = None
) -> Tensor:
    """A tensor over a part of a storage, with its flag."""
    return _flagged(kept_like(_over(storage, storage.dtype, offset, size, stride), metadata), requires_grad)


def rebuild_tensor_v3(
    storage: Any, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any, dtype: Any, metadata: Any = None
) -> Tensor:
    """A tensor over a part of a storage of bytes."""
    return _flagged(kept_like(_over(storage, dtype, offset, size, stride), metadata), requires_grad)


def rebuild_meta_tensor(dtype: Any, size: Any, stride: Any, requires_grad: bool) -> Tensor:
    """A tensor on meta."""
    reach = 0 if 0 in size else 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    blank = _core.alloc((reach,), dtype, "meta")
    return _flagged(_core.as_strided(blank, size, stride, 0), requires_grad)


def rebuild_wrapper(
    kind: Any, dtype: Any, size: Any, stride: Any, offset: int, layout: Any, device: Any, requires_grad: bool
) -> Tensor:
    """A tensor of a class that has its memory in other tensors, which are among its attributes."""
    made: Tensor = Tensor._make_wrapper_subclass(
        kind, size, strides=stride, storage_offset=offset, dtype=dtype, device=device, requires_grad=requires_grad
    )
    return made


def rebuild_parameter(data: Tensor, requires_grad: bool, hooks: Any) -> Any:
    """A module's parameter."""
    return Parameter(data, requires_grad)


def rebuild_parameter_with_state(data: Tensor, requires_grad: bool, hooks: Any, state: Any) -> Any:
    """A module's parameter with attributes of its own."""
    return _with_state(Parameter(data, requires_grad), state)


def rebuild_from_type_v2(make: Any, kind: type, args: Any, state: Any) -> Any:
    """A tensor of a subclass, or with attributes of its own."""
    made = make(*args)
    if type(made) is not kind:
        made = Tensor._make_subclass(kind, made.detach(), made.requires_grad)
    given = getattr(kind, "__setstate__", None)
    if given is not None and given is not getattr(Tensor, "__setstate__", None):
        given(made, state)
        return made
    return _with_state(made, state)


def rebuild_from_numpy(array: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """A tensor of a device that its checkpoint has as an array of NumPy's."""
    import numpy as np

    from_array = _core.hooks.from_array
    made: Tensor = from_array(np.ascontiguousarray(array)).to(dtype).to(device)
    return _flagged(made, requires_grad)


def rebuild_from_cpu(data: Tensor, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """A tensor of a device that its checkpoint has as one of the CPU."""
    return _flagged(data.to(device), requires_grad)


def _flagged(made: Tensor, requires_grad: bool) -> Tensor:
    if requires_grad:
        made.requires_grad = True
    return made


def _with_state(made: Any, state: Any) -> Any:
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    for name, value in {**(attributes or {}), **(slots or {})}.items():
        setattr(made, name, value)
    return made


def encode_text(text: str, encoding: str = "latin1") -> bytes:
    """How Python's older pickles hold bytes: as text of which each character is one."""
    if encoding not in ("latin1", "latin-1"):
        raise RuntimeError(f"a checkpoint has bytes in the encoding {encoding!r}: expected latin1")
    return codecs.latin_1_encode(text)[0]


def no_bytes() -> bytes:
    """How Python's older pickles hold no bytes at all: as a call of ``bytes``."""
    return b""


def make_bytearray(given: Any = b"", encoding: str = "latin1") -> bytearray:
    """A bytearray of bytes; not one of a size that a file makes up."""
    if isinstance(given, str):
        return bytearray(encode_text(given, encoding))
    if not isinstance(given, (bytes, list, tuple)):
        raise RuntimeError(f"a checkpoint has a bytearray of {type(given).__name__}: expected bytes")
    return bytearray(given)


def strided_layout(name: str) -> str:
    """A layout by its name: there is one."""
    if name != "torch.strided":
        raise RuntimeError(f"a checkpoint has a tensor of layout {name}: expected torch.strided")
    return name


_FUNCTIONS = {
    "torch._utils._rebuild_tensor": rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": rebuild_tensor_v2,
    "torch._utils._rebuild_tensor_v3": rebuild_tensor_v3,
    "torch._utils._rebuild_parameter": rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": rebuild_parameter_with_state,
    "torch._utils._rebuild_wrapper_subclass": rebuild_wrapper,
    "torch._utils._rebuild_meta_tensor_no_storage": rebuild_meta_tensor,
    "torch._utils._rebuild_device_tensor_from_numpy": rebuild_from_numpy,
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": rebuild_from_cpu,
    "torch._tensor._rebuild_from_type_v2": rebuild_from_type_v2,
    "torch.serialization._get_layout": strided_layout,
}
_CLASSES: dict[str, Any] = {
    "torch.Size": Size,
    "torch.Tensor": Tensor,
    "torch.device": _core.device,
    "torch.nn.parameter.Parameter": Parameter,
    "torch.storage.UntypedStorage": UntypedStorage,
    "torch.storage.TypedStorage": TypedStorage,
    **{f"torch.{name}": kind for name, kind in TYPED.items()},
}
_DTYPES = {f"torch.{name}": dtype for name, dtype in _core.dtypes.items()}
_PYTHON: dict[str, Any] = {
    "collections.OrderedDict": _ORDERED,
    "collections.Counter": collections.Counter,
    "_codecs.encode": encode_text,
    "builtins.bytearray": make_bytearray,
    "builtins.bytes": no_bytes,
    "builtins.set": set,
    "builtins.complex": complex,
    "__builtin__.bytearray": make_bytearray,
    "__builtin__.bytes": no_bytes,
    "__builtin__.set": set,
    "__builtin__.complex": complex,
}
# What a checkpoint may name where nothing but weights are wanted.
DEFAULT_GLOBALS: dict[str, Any] = {
    **_FUNCTIONS,
    **_CLASSES,
    **{f"torch.cuda.{name}": kind for name, kind in TYPED.items()},
    "torch.UntypedStorage": UntypedStorage,
    "torch.nn.Parameter": Parameter,
    **_DTYPES,
    **_PYTHON,
}
_WRITTEN = {id(what): name for name, what in (_FUNCTIONS | _CLASSES | _DTYPES).items()}
_PACKAGE = __name__.partition(".")[0]


def written_name(what: Any) -> tuple[str, str] | None:
    """Module and name that a checkpoint has for what is of ours, for PyTorch to find its own; None for others."""
    name = _WRITTEN.get(id(what))
    if name is None:
        return None
    module, _, last = name.rpartition(".")
    return module, last


def resolve(module: str, name: str) -> Any:
    """What a checkpoint that is trusted names: of PyTorch's what is the same here.

    Raises AttributeError or ModuleNotFoundError where there is none.
    """
    known = DEFAULT_GLOBALS.get(f"{module}.{name}")
    if known is not None:
        return known
    if module == "torch" or module.startswith("torch."):
        module = _PACKAGE + module.removeprefix("torch")
    elif module == "__builtin__":
        module = "builtins"
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found
