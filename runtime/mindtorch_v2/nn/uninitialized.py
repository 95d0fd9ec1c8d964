"""Parameters and buffers whose shape is not known yet: what there is to do with them is to give them one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from .._creation import empty
from .parameter import Buffer, Parameter, UninitializedTensorMixin

__all__ = ["UninitializedBuffer", "UninitializedParameter"]

# What may be asked of a tensor without a shape: what kind it is, and to be moved.
_ALLOWED = frozenset(
    ("bfloat16", "char", "copy_", "cpu", "cuda", "detach", "double", "float", "get_device", "half", "int", "is_complex",
     "is_floating_point", "long", "npu", "register_hook", "requires_grad_", "short", "size", "to", "type")
)  # fmt: skip
_BINARY = ("add", "and", "floordiv", "mod", "mul", "or", "pow", "sub", "truediv", "xor")
_OTHERS = ("abs", "bool", "contains", "eq", "float", "ge", "getitem", "gt", "int", "invert", "iter", "le", "len", "lt",
           "matmul", "ne", "neg")  # fmt: skip
_OPERATORS = (
    *(f"__{form}{name}__" for name in _BINARY for form in ("", "r", "i")),
    *(f"__{name}__" for name in _OTHERS),
)


class _Uninitialized(UninitializedTensorMixin):
    cls_to_become: type
    data: Any

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Gives the tensor memory for a shape, with nothing in it; it is an ordinary one from then on."""
        before = self.data
        self.data = empty(shape, device=device or before.device, dtype=dtype or before.dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """Raises RuntimeError."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. Where `load_state_dict` finds one in the "
            "state dict, that of an initialized module is expected: call `forward` once before `state_dict()`."
        )

    def share_memory_(self) -> Any:
        """Raises RuntimeError."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad,)  # type: ignore[attr-defined]

    __torch_function__ = _core.disabled_torch_function  # by which a call would hear of it, but only by its memory


def _refusing(name: str) -> Callable[..., Any]:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(
            f"Attempted to use an uninitialized parameter in Tensor.{name}. Parameters of a `LazyModule` have a shape "
            f"once its forward has run, `torch.nn.parameter.{type(self).__name__}` objects once `materialize` "
            "was called."
        )

    refuse.__name__, refuse.__doc__ = name, "Raises ValueError."
    return refuse


for _name in (*(n for n in dir(Tensor) if not n.startswith("_")), *_OPERATORS):
    if _name not in _ALLOWED and not hasattr(_Uninitialized, _name) and callable(getattr(Tensor, _name, None)):
        setattr(_Uninitialized, _name, _refusing(_name))
_Uninitialized.__hash__ = Tensor.__hash__  # type: ignore[method-assign,assignment]


def _conversion(name: str) -> Callable[..., Any]:
    """A conversion that gives another tensor without a shape."""
    convert = getattr(Tensor, name)

    def converted(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = convert(self, *args, **kwargs)
        if not isinstance(made, Tensor) or isinstance(made, UninitializedTensorMixin):
            return made
        return type(self)(made.requires_grad, made.device, made.dtype, self.persistent)

    converted.__name__, converted.__doc__ = name, convert.__doc__
    return converted


class UninitializedParameter(_Uninitialized, Parameter):
    """``UninitializedParameter(requires_grad=True, device=None, dtype=None)``: a parameter without a shape yet.

    Methods and arithmetic other than conversions and `materialize` raise ValueError, the shape RuntimeError. To a
    function it is an empty tensor.
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        """A parameter without a shape."""
        return Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


class UninitializedBuffer(_Uninitialized, Tensor):
    """A buffer without a shape yet; see `UninitializedParameter`.

    ``UninitializedBuffer(requires_grad=False, device=None, dtype=None, persistent=True)``
    """

    cls_to_become = Buffer

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        """A buffer without a shape."""
        made: Any = Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)
        made.persistent, made._is_buffer = persistent, True
        return made


for _name in ("bfloat16", "char", "cpu", "double", "float", "half", "int", "long", "npu", "short", "to", "type"):
    setattr(UninitializedBuffer, _name, _conversion(_name))
