"""Methods of Tensor that are written in Python, installed when the package is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Tensor
from ._core import device as Device
from ._core import dtype as DType
from ._numbers import PYTHON_TYPES
from ._ops import ops
from .overrides import overridable_property

if TYPE_CHECKING:
    import numpy as np

__all__: list[str] = []


def to(self: Tensor, *args: Any, **options: Any) -> Tensor:
    """``to(dtype)``, ``to(device, dtype=None)``, ``to(other)``, with ``copy=False``; self where nothing changes."""
    wanted_dtype, wanted_device = options.get("dtype"), options.get("device")
    for arg in args:
        if isinstance(arg, Tensor):
            wanted_dtype, wanted_device = arg.dtype, arg.device
        elif isinstance(arg, DType) or arg in PYTHON_TYPES:
            wanted_dtype = arg
        elif isinstance(arg, (str, int, Device)) and not isinstance(arg, bool):
            wanted_device = arg
    where = self.device if wanted_device is None else Device(wanted_device)
    if where.type == self.device.type and where.index is None:
        where = self.device
    target = PYTHON_TYPES.get(wanted_dtype, wanted_dtype) or self.dtype
    if target is self.dtype and where == self.device and not options.get("copy"):
        return self
    result: Tensor = ops.aten._to_copy.default(self, dtype=target, device=where)
    return result


def cpu(self: Tensor) -> Tensor:
    """The tensor on the CPU."""
    return to(self, "cpu")


def npu(self: Tensor, device: Any = None) -> Tensor:
    """The tensor on an NPU, the current one unless one is given."""
    return to(self, "npu" if device is None else (f"npu:{device}" if isinstance(device, int) else device))


def numpy(self: Tensor, *, force: bool = False) -> np.ndarray[Any, Any]:
    """A NumPy array over the same memory; with ``force`` a copy where that is not possible."""
    import numpy as np

    if _core.is_tracing():
        array: np.ndarray[Any, Any] = _left_the_trace("NumPy array", lambda: numpy(self, force=force))
        return array
    source = self.detach().cpu() if force else self
    if source.requires_grad and _core.is_grad_enabled():
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    return np.asarray(_core.as_memoryview(source))


def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers; a number for a tensor without dimensions."""
    if _core.is_tracing():
        return _left_the_trace("list", lambda: tolist(self))
    source = self.detach().cpu()
    return (source.float() if source.dtype is _core.dtypes["bfloat16"] else source).numpy().tolist()


def _left_the_trace(what: str, read: Callable[[], Any]) -> Any:
    from .jit import _reads

    return _reads.left(what, read)


def _conversion(name: str) -> Any:
    def convert(self: Tensor) -> Tensor:
        return to(self, _core.dtypes[name])

    convert.__doc__ = f"The tensor as {name}."
    return convert


def type_(self: Tensor, dtype: DType | None = None) -> Any:
    """The name of the tensor's type, or the tensor as ``dtype``."""
    if dtype is not None:
        return to(self, dtype)
    names = {
        "float32": "Float",
        "float64": "Double",
        "float16": "Half",
        "int64": "Long",
        "int32": "Int",
        "int16": "Short",
        "int8": "Char",
        "uint8": "Byte",
        "bool": "Bool",
        "bfloat16": "BFloat16",
    }
    prefix = "torch" if self.is_cpu else f"torch.{self.device.type}"
    return f"{prefix}.{names.get(self.dtype.name, self.dtype.name)}Tensor"


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor with other's dtype and device."""
    return to(self, other)


def transposed(self: Tensor) -> Tensor:
    """The dimensions in reverse order: ``x.T``."""
    result: Tensor = ops.aten.permute.default(self, tuple(range(self.dim()))[::-1])
    return result


def matrix_transposed(self: Tensor) -> Tensor:
    """The last two dimensions exchanged: ``x.mT``."""
    if self.dim() < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {self.dim()}-D tensor."
        )
    result: Tensor = ops.aten.transpose.int(self, -2, -1)
    return result


def new_tensor(
    self: Tensor, data: Any, *, dtype: DType | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """``torch.tensor(data)`` with self's dtype and device unless others are given."""
    from ._creation import tensor

    return tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Gives the tensor the template's shape in place."""
    if not isinstance(the_template, Tensor):
        raise TypeError(
            f"resize_as_(): argument 'the_template' (position 1) must be Tensor, not {type(the_template).__name__}"
        )
    return _core.resize_(self, tuple(the_template.shape))


def resize_(self: Tensor, *shape: Any, memory_format: Any = None) -> Tensor:
    """Gives the tensor a new contiguous shape in place."""
    if not shape:
        raise TypeError("resize_() missing 1 required positional argument: 'size'")
    return _core.resize_(self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)


def record_stream(self: Tensor, stream: Any) -> None:
    """Says that work queued on an NPU stream uses the tensor: its memory is not reused before that work is done."""
    if not self.is_npu:
        raise NotImplementedError(f"record_stream is for tensors on an NPU, got one on {self.device}")
    if stream.device != self.device:
        raise RuntimeError(f"record_stream: expected a stream of {self.device}, the tensor's device, got {stream}")
    _core.npu_record_stream(self, stream.npu_stream)


_METHODS: dict[str, Any] = {
    "record_stream": record_stream,
    "to": to,
    "cpu": cpu,
    "npu": npu,
    "numpy": numpy,
    "tolist": tolist,
    "type": type_,
    "type_as": type_as,
    "new_tensor": new_tensor,
    "resize_": resize_,
    "resize_as_": resize_as_,
    "T": overridable_property("T", transposed),
    "mT": overridable_property("mT", matrix_transposed),
    "float": _conversion("float32"),
    "double": _conversion("float64"),
    "half": _conversion("float16"),
    "bfloat16": _conversion("bfloat16"),
    "int": _conversion("int32"),
    "long": _conversion("int64"),
    "short": _conversion("int16"),
    "char": _conversion("int8"),
    "byte": _conversion("uint8"),
    "bool": _conversion("bool"),
}

for _name, _method in _METHODS.items():
    if not isinstance(_method, property):
        _method.__name__ = _name
        _method = _core.overridable(_method)
    _core.install_method(_name, _method)
