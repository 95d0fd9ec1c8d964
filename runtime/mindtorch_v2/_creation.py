"""``torch.tensor``, ``torch.zeros``, ``torch.randn``, ...: the functions that make tensors, as PyTorch spells them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from numbers import Integral, Number
from typing import TYPE_CHECKING, Any

from . import _core
from ._argument_types import check_flag, names_wrong_types
from ._core import QuickFunction, Tensor, UntypedStorage
from ._core import device as Device
from ._core import dtype as DType
from ._dlpack import from_dlpack, is_capsule
from ._hooks import hooks
from ._modes import stacks
from ._nested_values import from_values
from ._numbers import PYTHON_TYPES
from ._ops import ops
from ._sequences import is_sequence
from ._settings import warn_once
from ._storages import TypedStorage, bytes_for, view_of
from .overrides import overridable

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "_efficientzerotensor",
    "arange",
    "as_tensor",
    "asarray",
    "bartlett_window",
    "blackman_window",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "eye",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "hamming_window",
    "hann_window",
    "kaiser_window",
    "linspace",
    "logspace",
    "normal",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "range",
    "scalar_tensor",
    "tensor",
    "zeros",
    "zeros_like",
]


def _sizes(size: tuple[Any, ...]) -> Any:
    """``f(2, 3)`` and ``f((2, 3))`` alike."""
    return size[0] if len(size) == 1 and not hasattr(type(size[0]), "__index__") else size


def _told(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options of a creation function as modes see them: with the device of a new one, and that it is not pinned."""
    settled: dict[str, Any] = {"pin_memory": False}
    if not name.endswith("_like"):
        settled["device"] = _core.get_default_device()
    return {**settled, **{option: value for option, value in options.items() if value is not None}}


def _finished(result: Tensor, requires_grad: bool) -> Tensor:
    if requires_grad:
        result.requires_grad = True
    return result


def _sized(name: str) -> Callable[..., Tensor]:
    """A creation function of a size given as one sequence or as separate integers."""
    make: Any = None

    def function(*size: Any, requires_grad: bool = False, **options: Any) -> Tensor:
        nonlocal make
        if requires_grad is not False:
            check_flag(name, "requires_grad", requires_grad is not None and requires_grad)
        if make is None:
            make = getattr(ops.aten, name)
        if not size and "size" not in options:
            return make(**options)  # type: ignore[no-any-return]  # raises: the size is missing
        sizes = options.pop("size") if not size and "size" in options else _sizes(size)
        if options.get("out") is not None:
            return _finished(_into(name, (sizes,), options), requires_grad)
        if stacks.dispatch:
            options = _told(name, options)
        made: Tensor = make(sizes, **options)
        return _finished(made, requires_grad) if requires_grad else made

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``torch.{name}(*size, dtype=None, device=None, requires_grad=False)``."
    return function


def _into(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
    """A creation function that writes to ``out``, which has a dtype and a device already."""
    out = options.pop("out")
    dtype = options.pop("dtype", None)
    if dtype is not None and _as_dtype(dtype) is not out.dtype:
        raise RuntimeError(f"dtype {dtype} does not match dtype of out parameter ({out.dtype})")
    if options.get("layout") not in (None, out.layout):
        raise RuntimeError(f"layout {options['layout']} does not match layout of out parameter ({out.layout})")
    for settled in ("device", "layout", "pin_memory"):
        options.pop(settled, None)
    return getattr(ops.aten, name)(*args, **options, out=out)  # type: ignore[no-any-return]


def with_options(name: str, called: str = "") -> Callable[..., Tensor]:
    """A creation function that hands its arguments to the operator, and takes ``requires_grad``.

    ``called`` is what it is called as, if not as the operator is.
    """

    def function(*args: Any, requires_grad: bool = False, **options: Any) -> Tensor:
        if requires_grad is not False:
            check_flag(name, "requires_grad", requires_grad is not None and requires_grad)
        if options:
            if options.get("dtype", name) is None:  # left out, for a function; `torch.ops` has a meaning for it
                del options["dtype"]
            if options.get("out") is not None:
                return _finished(_into(name, args, options), requires_grad)
        made: Tensor = getattr(ops.aten, name)(*args, **(_told(name, options) if stacks.dispatch else options))
        return _finished(made, requires_grad) if requires_grad else made

    function.__name__ = function.__qualname__ = called or name
    function.__doc__ = f"``torch.{name}``: the operator of that name, with ``requires_grad=False``."
    return function


rand, randn, _efficientzerotensor = (_sized(name) for name in ("rand", "randn", "_efficientzerotensor"))
empty, zeros, ones = (QuickFunction(_sized(name), "sized") for name in ("empty", "zeros", "ones"))
full, arange, linspace, logspace, eye = (
    QuickFunction(with_options(name), "numbers") for name in ("full", "arange", "linspace", "logspace", "eye")
)
randint, randperm, range, scalar_tensor = (  # `range` is PyTorch's from here on
    with_options(name) for name in ("randint", "randperm", "range", "scalar_tensor")
)
empty_strided = with_options("empty_strided")
empty_like, zeros_like, ones_like = (with_options(name) for name in ("empty_like", "zeros_like", "ones_like"))
full_like = with_options("full_like")
rand_like, randn_like = (QuickFunction(with_options(name), "like") for name in ("rand_like", "randn_like"))
randint_like = with_options("randint_like")
for _name in ("empty_like", "full_like", "ones_like", "zeros_like"):
    globals()[_name] = overridable(globals()[_name], "", "like")
empty_permuted = with_options("empty_permuted")
bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window = (
    with_options(f"{name}_window") for name in ("bartlett", "blackman", "hamming", "hann", "kaiser")
)


def normal(
    mean: Tensor | float = 0.0,
    std: Tensor | float = 1.0,
    size: Sequence[int] | None = None,
    *,
    generator: Any = None,
    out: Tensor | None = None,
    requires_grad: bool = False,
    **options: Any,
) -> Tensor:
    """``torch.normal``: around ``mean`` and ``std`` wide; tensors tell the size, two numbers need one."""
    given = (mean, std) if size is None else (float(mean), float(std), size)
    if out is not None:
        return _finished(_into("normal", given, {**options, "generator": generator, "out": out}), requires_grad)
    return _finished(ops.aten.normal(*given, generator=generator, **options), requires_grad)


@names_wrong_types
def tensor(
    data: Any,
    *,
    dtype: DType | type | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor with the values of a number, of nested sequences, of a NumPy array or of another tensor.

    Raises ValueError for sequences of unequal lengths, RuntimeError where there is no number to infer a dtype from
    (TypeError with ``dtype``, and for text), and for a number that ``dtype`` cannot hold.
    """
    check_flag("tensor", "requires_grad", requires_grad)
    check_flag("tensor", "pin_memory", pin_memory)
    target = _as_dtype(dtype)
    if _core.is_tracing() and not isinstance(data, Tensor):
        constant = hooks.constructed(lambda: tensor(data, dtype=target, device=device))
        return _finished(constant, requires_grad)
    if isinstance(data, Tensor):
        if pin_memory:
            raise RuntimeError("Can't pin tensor constructed from a variable")
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
        where = data.device if device is None else device
        return _finished(_converted(data.detach().clone(), target, where), requires_grad)
    if isinstance(data, (TypedStorage, UntypedStorage)):
        kind = target or (data.dtype if isinstance(data, TypedStorage) else _core.dtypes["int64"])
        return _finished(_converted(view_of(bytes_for(kind, data), kind), kind, device), requires_grad)
    if hasattr(data, "__array__") and not isinstance(data, (list, tuple, type)):
        array = _array_of(data)
        made = _converted(_copied_as_it_lies(array), target, device)
    elif _is_array(data):
        made = _converted(from_dlpack(data).clone(), target, device)
    else:
        made = _converted(from_values(data, target), None, device)
    made = made.pin_memory() if pin_memory else made
    seen = stacks.dispatch or stacks.functional  # by modes, and by `functionalize`
    return _finished(ops.aten.lift_fresh(made) if seen else made, requires_grad)


def _is_array(data: Any) -> bool:
    """Whether a value hands over its memory by DLPack."""
    return not isinstance(data, (list, tuple, type)) and hasattr(data, "__dlpack__")


_QUANTIZED = frozenset(_core.quantized_dtypes.values())


def _as_dtype(given: Any) -> DType | None:
    """A dtype, or that which a type of Python's stands for."""
    found: DType | None = PYTHON_TYPES.get(given, given)
    if found in _QUANTIZED:
        raise RuntimeError(f"{found}: there are no quantized tensors here, only storages")
    return found


def _array_of(data: Any) -> Any:
    import numpy as np

    try:
        return np.array(data)
    except ValueError as error:
        raise TypeError(f"tensor(): {type(data).__name__} has __array__, but gives no array: {error}") from error


@names_wrong_types
def as_tensor(data: Any, *, dtype: DType | type | None = None, device: Any = None) -> Tensor:
    """``data`` itself where it is a tensor, its memory where it is an array, else a new tensor."""
    target = _as_dtype(dtype)
    default = _core.get_default_device()
    device = default if device is None and default.type != "cpu" else device
    if isinstance(data, Tensor):
        return _converted(data, target, data.device if device is None else device)
    if hasattr(data, "__array_interface__") and getattr(data, "ndim", 0) > 0:
        return _converted(from_numpy(data), target, device)
    if _is_array(data) and not hasattr(data, "__array__"):
        return _converted(from_dlpack(data), target, device)
    return tensor(data, dtype=target, device=device)


def legacy_tensor(cls: type[Tensor], *args: Any, **options: Any) -> Tensor:
    """What calling the class ``Tensor`` gives: sizes stand for an uninitialised tensor, a sequence for its values."""
    if cls is Tensor and len(args) == 1 and not options and type(args[0]) is list:  # as nearly always
        listed_values = _core.tensor_of_lists(args[0], _core.get_default_dtype())
        if listed_values is not None:
            return listed_values
    if options.keys() - {"device"}:
        raise TypeError(
            f"new() received an invalid combination of arguments - got {', '.join(sorted(options))}; expected sizes, a "
            "tensor, or a sequence of values, and nothing by keyword but device"
        )
    where = Device(options.get("device") or "cpu")
    if where.type != "cpu":
        raise RuntimeError(f"legacy constructor expects device type: cpu but device type: {where.type} was passed")
    if len(args) == 1 and isinstance(args[0], Tensor):
        if "device" in options:
            raise RuntimeError(
                "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not supported"
            )
        same: Tensor = ops.aten.alias(args[0]) if cls is Tensor else _core.change_class(args[0], cls)
        return same
    made: Tensor = Tensor._make_subclass(cls, _legacy_values(args))
    return made


def _legacy_values(args: tuple[Any, ...]) -> Tensor:
    if not args:
        return _core.alloc((0,), None, "cpu")
    if len(args) == 1:
        data = args[0]
        if isinstance(data, _core.Size) or _is_size(data):
            return _core.alloc(data if isinstance(data, _core.Size) else (data,), None, "cpu")
        if isinstance(data, (str, bytes)):
            raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
        if not is_sequence(data):
            raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
        return tensor(data, dtype=_core.get_default_dtype(), device="cpu")
    for position, size in enumerate(args):
        if not (_is_size(size) or (position and isinstance(size, bool))):
            raise TypeError(
                f"new(): argument 'size' must be tuple of ints, but found element of type {type(size).__name__} at pos "
                f"{position + 1}"
            )
    return _core.alloc([int(size) for size in args], None, "cpu")


def _of_arrays(function: Callable[[Any], Tensor]) -> Callable[[Any], Tensor]:
    return QuickFunction(function, "array")


def _is_size(value: Any) -> bool:
    """Whether a value is a size: an int, a NumPy one, or a tensor that holds one."""
    if isinstance(value, Tensor):
        return value.numel() == 1 and not value.is_floating_point() and not value.is_complex()
    return isinstance(value, Integral) and not isinstance(value, bool)


@_of_arrays
def from_numpy(ndarray: Any) -> Tensor:
    """A tensor over a NumPy array's memory: a change to either is seen by both."""
    import numpy as np

    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    found = _core.dtypes.get(ndarray.dtype.name)
    if found is not None and not ndarray.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            f"currently not supported. Use array.astype({found.name!r})."
        )
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type {ndarray.dtype}. The only supported types are: float64, float32, "
            "float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
        )
    steps, itemsize = ndarray.strides, ndarray.itemsize
    if any(step < 0 for step in steps):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are "
            "not currently supported. (You can probably work around this by making a copy of your array "
            " with array.copy().) "
        )
    if any(step % itemsize for step in steps):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array first."
        )
    if not ndarray.flags.writeable:
        warn_once(
            "The given NumPy array is not writable, and there are no non-writable tensors: writing to the tensor is "
            "undefined. Copy the array first.",
            "read-only NumPy arrays",
        )
    strides = tuple(step // itemsize for step in steps)
    return _core.from_buffer(ndarray, ndarray.ctypes.data, ndarray.shape, strides, found)


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A tensor of one dimension over the memory of what has Python's buffer interface, from ``offset`` bytes on.

    Raises ValueError where the buffer has fewer bytes than ``count`` elements take, or none.
    """
    check_flag("frombuffer", "requires_grad", requires_grad)
    if not isinstance(dtype, DType):
        raise TypeError(f"frombuffer(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    try:
        view = memoryview(buffer).cast("B")
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if view.nbytes == 0 or count == 0:
        raise ValueError(f"both buffer length ({view.nbytes}) and count ({count}) must not be 0")
    if not 0 <= offset < view.nbytes:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({view.nbytes} bytes) "
            "minus 1"
        )
    left = view.nbytes - offset
    size = dtype.itemsize
    if count < 0:
        if left % size:
            raise ValueError(
                f"buffer length ({left} bytes) after offset ({offset} bytes) must be a multiple of element size "
                f"({size})"
            )
        count = left // size
    if count * size > left:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({view.nbytes} bytes)"
        )
    if view.readonly:
        warn_once(
            "The given buffer is not writable, and there are no non-writable tensors: writing to the tensor is "
            "undefined. Copy it first.",
            "read-only buffers",
        )
    import numpy as np

    held = np.frombuffer(view, dtype="u1")
    result = _core.from_buffer(held, held.ctypes.data + offset, (count,), (1,), dtype)
    return _finished(result, requires_grad)


def asarray(
    obj: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of what there is, over its memory where that can be and ``copy`` does not ask for another.

    ``obj`` is a tensor, a storage (of bytes unless ``dtype`` says else), an array, a capsule of DLPack, a number, or
    nested sequences.
    """
    check_flag("asarray", "requires_grad", requires_grad)
    if copy is not None:
        check_flag("asarray", "copy", copy)
    if is_capsule(obj):
        obj = from_dlpack(obj)
    has_memory = isinstance(obj, (UntypedStorage, Tensor, bytes, bytearray, memoryview)) or hasattr(obj, "shape")
    if copy is False and not has_memory:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    if copy is False and isinstance(obj, Number):
        raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray.")
    if isinstance(obj, UntypedStorage):
        source = view_of(obj, dtype or _core.dtypes["uint8"])
    elif isinstance(obj, (bytes, bytearray, memoryview)):
        source = frombuffer(obj, dtype=dtype or _core.get_default_dtype())
    elif isinstance(obj, Tensor):
        source = obj.detach() if obj.requires_grad and not requires_grad else obj
    else:
        source = as_tensor(obj, dtype=dtype)
    made = _converted(source, dtype, source.device if device is None else device)
    if copy is False and made is not source:
        if made.device != source.device:
            raise ValueError(f"can't alias tensor from device '{source.device}' to '{made.device}'.")
        raise ValueError(f"can't alias tensor with dtype '{source.dtype}' into dtype '{made.dtype}'.")
    if copy and made is source:
        made = made.clone()
    return _finished(made, requires_grad)


def _converted(source: Tensor, dtype: DType | None, device: Any) -> Tensor:
    where = _core.get_default_device() if device is None else Device(device)
    if (
        (dtype is None or source.dtype is dtype)
        and where.type == source.device.type
        and (where.index is None or where.index == source.device.index)
    ):
        return source
    result: Tensor = ops.aten._to_copy(source, dtype=dtype, device=where)
    return result


def _copied_as_it_lies(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor with an array's values, in memory of its own, in the order of its dimensions there."""
    import numpy as np

    result = _core.empty_like(from_numpy(array))
    np.asarray(_core.as_memoryview(result))[...] = array
    return result


_core.hooks.fill(legacy_tensor=legacy_tensor)
