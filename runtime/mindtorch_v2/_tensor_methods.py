"""Methods of Tensor that are written in Python, installed when the package is imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._argument_types import check_flag
from ._core import Tensor, span
from ._core import device as Device
from ._core import dtype as DType
from ._creation import tensor
from ._hooks import hooks
from ._lazy_values import values_of
from ._modes import stacks
from ._narrow_dtypes import widened
from ._numbers import PYTHON_TYPES
from ._ops import ops
from ._shared_memory import is_shared, share_memory_
from ._storages import bytes_for
from ._type_info import channels_last, channels_last_3d, contiguous_format, memory_format, strided
from .backends._new_memory import resize_ as resize_in_place
from .backends._pinned import is_pinned, pin_memory
from .overrides import handle_attribute, has_torch_function, overridable_property

if TYPE_CHECKING:
    import numpy as np

__all__: list[str] = []

_FUNCTIONALIZE = _core.key_mask("Functionalize")


def to(self: Tensor, *args: Any, **options: Any) -> Tensor:
    """``to(device=None, dtype=None)``, ``to(dtype)`` or ``to(other)``, with ``copy=False``; self if nothing changes."""
    wanted_dtype, wanted_device, copy, memory_format = _destination(args, options)
    where = self.device if wanted_device is None else Device(wanted_device)
    if where.type == self.device.type and where.index is None:
        where = self.device
    target = PYTHON_TYPES.get(wanted_dtype, wanted_dtype) or self.dtype
    with span("cpu_op", "aten::to"):  # PyTorch's profiler shows the operator
        if target is self.dtype and where == self.device and not copy and _lies_in(self, memory_format):
            return self
        result: Tensor = ops.aten._to_copy.default(self, dtype=target, device=where, memory_format=memory_format)
        return result


def parse_to(*args: Any, **options: Any) -> tuple[Device | None, DType | None, bool, memory_format | None]:
    """Device, dtype, whether not to wait, and memory format of a call of ``Module.to``, None for what is not given.

    Raises TypeError for what `to` does not take, RuntimeError for ``copy``, which is of tensors only.
    """
    dtype, device, copy, memory_format = _destination(args, options)
    if copy or "copy" in options:
        raise RuntimeError(".to() does not accept copy argument")
    at = 1 if args and (isinstance(args[0], Tensor) or _is_dtype(args[0])) else 2  # of non_blocking
    waits_not = options.get("non_blocking", args[at] if len(args) > at else False)
    return None if device is None else Device(device), dtype, waits_not, memory_format


def _lies_in(tensor: Tensor, wanted: memory_format | None) -> bool:
    """Whether a tensor need not be copied for its memory format's sake."""
    return wanted is None or wanted == "preserve_format" or wanted == _core.suggested_format(tensor)


_FLAGS = ("non_blocking", "copy")
_ONLY_WHERE = frozenset(("dtype", "device"))


def _destination(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, Any, bool, memory_format | None]:
    """dtype, device, copy and memory format of a call of `to`. Raises TypeError for what is none of its three forms."""
    first = args[0] if args else None
    if len(args) == 1 and not options:  # the usual calls first
        if isinstance(first, DType):
            return first, None, False, None
        if isinstance(first, (str, Device)):
            return None, first, False, None
        if isinstance(first, Tensor):
            return first.dtype, first.device, False, None
    if not args and options.keys() <= _ONLY_WHERE:
        dtype, device = options.get("dtype"), options.get("device")
        if (dtype is None or isinstance(dtype, DType)) and (device is None or isinstance(device, (str, Device))):
            return dtype, device, False, None
    if isinstance(first, (bool, float, complex)):  # stands for a tensor; an integer is a device
        return _destination((_core.alloc((), PYTHON_TYPES[type(first)], Device("cpu")), *args[1:]), options)
    if isinstance(first, Tensor) or _is_dtype(first):
        names = ["other" if isinstance(first, Tensor) else "dtype", *_FLAGS]
    else:
        names = ["device", "dtype", *_FLAGS]
    given = dict(zip(names, args, strict=False))
    fits = len(args) <= len(names) and not given.keys() & options.keys()
    fits = fits and all(name in names[len(args) :] or name == "memory_format" for name in options)
    given.update(options)
    if not (fits and all(_fits(name, value) for name, value in given.items())):
        raise _no_destination(args, options)
    if isinstance(first, Tensor):
        return first.dtype, first.device, given.get("copy", False), given.get("memory_format")
    return given.get("dtype"), given.get("device"), given.get("copy", False), given.get("memory_format")


def _fits(name: str, value: Any) -> bool:
    if name in _FLAGS:
        return isinstance(value, bool)
    if name == "device":
        return value is None or (isinstance(value, (str, bytes, int, Device)) and not isinstance(value, bool))
    if name == "dtype":
        return value is None or _is_dtype(value)
    return name == "other" or value is None or (name == "memory_format" and isinstance(value, memory_format))


def _is_dtype(value: Any) -> bool:
    return isinstance(value, DType) or (isinstance(value, type) and value in PYTHON_TYPES)


def _no_destination(args: tuple[Any, ...], options: dict[str, Any]) -> TypeError:
    got = [type(arg).__name__ for arg in args] + [f"{name}={type(value).__name__}" for name, value in options.items()]
    flags = "non_blocking=False, copy=False, *, memory_format=None"
    return TypeError(
        f"to() received an invalid combination of arguments - got ({', '.join(got)}), but expected one of:\n"
        f" * (torch.device device=None, torch.dtype dtype=None, {flags})\n * (torch.dtype dtype, {flags})\n"
        f" * (Tensor other, {flags})"
    )


def cpu(self: Tensor, memory_format: memory_format | None = None) -> Tensor:
    """The tensor on the CPU."""
    return to(self, "cpu", **_in_format("cpu", memory_format))


def npu(self: Tensor, device: Any = None) -> Tensor:
    """The tensor on an NPU, the current one unless one is given."""
    return to(self, "npu" if device is None else (f"npu:{device}" if isinstance(device, int) else device))


def numpy(self: Tensor, force: bool = False) -> np.ndarray[Any, Any]:
    """A NumPy array over the same memory, whose size then stays; with ``force`` a copy where that is not possible."""
    check_flag("numpy", "force", force)
    _refuse_subclass("numpy", self)
    if _core.is_tracing():
        array: np.ndarray[Any, Any] = hooks.left("NumPy array", lambda: numpy(self, force=force))
        return array
    source = _values_on_cpu(self) if force else self
    if source.requires_grad and _core.is_grad_enabled() and not source.is_meta:  # a meta tensor has no values at all
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    array = _array_over(source)
    _core.fix_size(source.untyped_storage())  # as in PyTorch, whatever becomes of the array
    return array


def _array_over(tensor: Tensor) -> np.ndarray[Any, Any]:
    """An array to look at, which is dropped before anybody could make the memory another."""
    import numpy as np

    return np.asarray(_core.as_memoryview(tensor))


def _values_on_cpu(tensor: Tensor) -> Tensor:
    """What a tensor stands for, outside the graph, in memory that NumPy can show."""
    return values_of(tensor.detach().cpu())


def _refuse_subclass(name: str, tensor: Tensor) -> None:
    """Raises RuntimeError for what has its values in other tensors, of which its ``__torch_dispatch__`` alone knows."""
    if _core.only_claims_memory(tensor):
        raise RuntimeError(f".{name}() is not supported for tensor subclasses.")


def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers; a number for a tensor without dimensions."""
    _refuse_subclass("tolist", self)
    if _core.is_tracing():
        return hooks.left("list", lambda: tolist(self))
    if self.dim() and self.shape[0] == 0 and not self.is_meta:
        return []  # NumPy makes no array of some shapes without elements
    source = _values_on_cpu(self)
    try:
        array = _array_over(source.float() if source.dtype is _core.dtypes["bfloat16"] else widened(source))
    except ValueError:  # more bytes than an address counts, though few of them lie in memory
        raise MemoryError(f"tolist(): no memory holds a list of shape {list(self.shape)}") from None
    return array.tolist()


def _conversion(name: str) -> Any:
    def convert(self: Tensor, memory_format: memory_format | None = None) -> Tensor:
        return to(self, _core.dtypes[name], **_in_format(name, memory_format))

    convert.__doc__ = f"The tensor as {name}."
    return convert


def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type, or the tensor as ``dtype``: a dtype, or such a name."""
    check_flag("type", "non_blocking", non_blocking)
    if dtype is None:
        prefix = "torch" if self.is_cpu else f"torch.{self.device.type}"
        return f"{prefix}.{_core.scalar_types[self.dtype.name]}Tensor"
    if isinstance(dtype, DType):
        return to(self, dtype)
    if dtype is Tensor:
        return to(self, _core.get_default_dtype())
    if not isinstance(dtype, (str, type)):
        raise TypeError(f"type(): argument 'dtype' must be a dtype or a type's name, not {type(dtype).__name__}")
    name = dtype if isinstance(dtype, str) else f"{dtype.__module__}.{dtype.__name__}"
    for found, short in _core.scalar_types.items():
        if name == f"torch.{short}Tensor":
            return to(self, "cpu", _core.dtypes[found])
    raise ValueError(f"invalid type: {name!r}; types are called torch.FloatTensor, torch.LongTensor, ...")


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor with other's dtype and device."""
    if not isinstance(other, Tensor):
        raise TypeError(f"type_as(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}")
    return to(self, other)


def transposed(self: Tensor) -> Tensor:
    """The dimensions in reverse order: ``x.T``."""
    result: Tensor = ops.aten.permute.default(self, tuple(range(self.dim()))[::-1])
    return result


def matrix_transposed(self: Tensor) -> Tensor:
    """The last two dimensions exchanged: ``x.mT``."""
    if self.dim() == 0:
        whole: Tensor = ops.aten.alias.default(self)
        return whole
    if self.dim() == 1:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {self.dim()}-D tensor."
        )
    result: Tensor = ops.aten.transpose.int(self, -2, -1)
    return result


def new_tensor(self: Tensor, data: Any, dtype: DType | None, device: Any, requires_grad: bool) -> Tensor:
    """``torch.tensor(data)`` with self's dtype and device unless others are given."""
    check_flag("new_tensor", "requires_grad", requires_grad)
    where = self.device if device is None else device
    return tensor(data, dtype=dtype or self.dtype, device=where, requires_grad=requires_grad)


def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    """Gives the tensor the template's shape in place."""
    if not isinstance(the_template, Tensor):
        raise TypeError(
            f"resize_as_(): argument 'the_template' (position 1) must be Tensor, not {type(the_template).__name__}"
        )
    return _resized("resize_as_", self, the_template.shape, memory_format, the_template)


def resize_(self: Tensor, *shape: Any, memory_format: memory_format | None = None) -> Tensor:
    """Gives the tensor a new shape in place, in rows unless a memory format is given."""
    if not shape:
        raise TypeError("resize_() missing 1 required positional argument: 'size'")
    return _resized(
        "resize_", self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape, memory_format
    )


def _resized(
    name: str, tensor: Tensor, shape: Any, wanted: memory_format | None, template: Tensor | None = None
) -> Tensor:
    wanted = _in_format(name, wanted).get("memory_format")
    if wanted == "preserve_format":
        if template is None:
            raise RuntimeError("Unsupported memory format Preserve: resize_() has no tensor whose format it could be")
        wanted = _FORMATS[_core.suggested_format(template)]
    if stacks.dispatch or _core.tensor_keys(tensor) & _FUNCTIONALIZE:
        return ops.aten.resize_(tensor, shape, memory_format=wanted)  # type: ignore[no-any-return]
    return resize_in_place(tensor, shape, wanted)


_FORMATS = {known.name: known for known in (contiguous_format, channels_last, channels_last_3d)}


def _in_format(function: str, wanted: memory_format | None) -> dict[str, memory_format]:
    """The argument of that name, where it is given. Raises TypeError for what is no memory format."""
    if wanted is None:
        return {}
    if not isinstance(wanted, memory_format):
        got = type(wanted).__name__
        raise TypeError(f"{function}(): argument 'memory_format' must be torch.memory_format, not {got}")
    return {"memory_format": wanted}


def set_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Makes the tensor show what a tensor shows, or a part of a storage: of one that has a dtype, the tensor's own."""
    named = {name: bytes_for(self.dtype, value) for name, value in kwargs.items()}
    return ops.aten.set_(self, *(bytes_for(self.dtype, value) for value in args), **named)  # type: ignore[no-any-return]


def split(self: Tensor, split_size: int | Sequence[int] | Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts along a dimension, as views: of one size, the last may be smaller, or of the sizes given."""
    if isinstance(split_size, Tensor) and split_size.numel() == 1:
        split_size = int(split_size)
    packet = ops.aten.split if isinstance(split_size, int) else ops.aten.split_with_sizes
    return tuple(packet(self, split_size, dim))


def gradient(self: Tensor) -> Tensor | None:
    """``x.grad`` under the name by which it was once written to."""
    return self.grad


def set_gradient(self: Tensor, value: Tensor | None) -> None:
    """See `gradient`."""
    self.grad = value


def hermitian(self: Tensor) -> Tensor:
    """A matrix transposed and conjugated."""
    return ops.aten.matrix_H(self)  # type: ignore[no-any-return]


def adjoint(self: Tensor) -> Tensor:
    """The last two dimensions exchanged, and conjugated."""
    return ops.aten.adjoint(self)  # type: ignore[no-any-return]


def real(self: Tensor) -> Tensor:
    """The real parts, a view of them."""
    return ops.aten.real(self)  # type: ignore[no-any-return]


def imag(self: Tensor) -> Tensor:
    """The imaginary parts, a view of them."""
    return ops.aten.imag(self)  # type: ignore[no-any-return]


def _parts_setter(part: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Any], None]:
    """Writes a tensor, or a number, to the parts of a complex tensor."""

    def write(self: Tensor, value: Any) -> None:
        if not isinstance(value, (Tensor, int, float, complex)):
            raise TypeError(
                f"can't assign a {type(value).__name__} to a {part(self).type()}: assign a number or a tensor"
            )
        part(self).copy_(value if isinstance(value, Tensor) else ops.aten.scalar_tensor(value, dtype=part(self).dtype))

    return write


_DTYPES_OF_METHODS = {
    "chalf": "complex32",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
}
# The methods whose usual calls the core answers, each with the dtype that it stands for.
_CONVERSIONS: dict[str, Any] = {
    "to": (),
    "type_as": (None, True),
    "cpu": (None, False, _core.device("cpu")),
    **{name: (_core.dtypes[target],) for name, target in _DTYPES_OF_METHODS.items()},
}


def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What a module keeps in this tensor's place when ``other`` is loaded: this one with its values, or that one."""
    if _core.overrides_among((other,), {}) and has_torch_function((other,)):  # what is loaded is asked, too
        return handle_attribute(Tensor.module_load, self, other, assign=assign)  # type: ignore[no-any-return,attr-defined]
    loaded: Any = other if assign else self.copy_(other)
    return loaded.detach()  # type: ignore[no-any-return]


_METHODS: dict[str, Any] = {
    "module_load": module_load,
    "pin_memory": pin_memory,
    "is_pinned": is_pinned,
    "is_shared": is_shared,
    "share_memory_": share_memory_,
    "to": to,
    "cpu": cpu,
    "npu": npu,
    "type": type_,
    "type_as": type_as,
    "resize_": resize_,
    "resize_as_": resize_as_,
    "set_": set_,
    "split": split,
    "T": overridable_property("T", transposed),
    "mT": overridable_property("mT", matrix_transposed),
    "H": overridable_property("H", hermitian),
    "mH": overridable_property("mH", adjoint),
    "_grad": property(gradient, set_gradient),
    "real": overridable_property("real", real, _parts_setter(real)),
    "imag": overridable_property("imag", imag, _parts_setter(imag)),
    **{name: _conversion(target) for name, target in _DTYPES_OF_METHODS.items()},
}

for _name, _method in _METHODS.items():
    if not isinstance(_method, property):
        _method.__name__ = _name
        own = _core.ConversionMethod if _name in _CONVERSIONS else _core.overridable
        _method = own(_method, *_CONVERSIONS.get(_name, ()))
    _core.install_method(_name, _method)

_core.hooks.fill(strided=strided, numpy=numpy, tolist=tolist, new_tensor=new_tensor)
