"""Sizes, strides, device and layout that a wrapper's class answers for itself, by its ``__torch_dispatch__``.

A tensor made with ``dispatch_sizes_strides_policy``, ``dispatch_device`` or ``dispatch_layout`` is asked by the
operators below. None as the answer means: what the tensor was made with. Source: PyTorch's ``_make_wrapper_subclass``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opschema import parse_schema

from . import _core, _ops
from ._core import Size, Tensor
from ._modes import DisableTorchDispatch
from ._ops import ops
from ._type_info import channels_last, channels_last_3d, contiguous_format
from .overrides import ask_dispatch

__all__: list[str] = []


def _define(namespace: str, schema: str, answer: Callable[..., Any]) -> Any:
    """An operator that no ``__torch_dispatch__`` sees called: it calls the method, which asks where it is to ask."""
    op = _core.OpOverload(namespace, parse_schema(schema).in_namespace(namespace), __name__)
    op.set_kernel("CompositeExplicitAutograd", answer, __name__)
    op.set_kernel("Python", _core.fallthrough_kernel, __name__)
    _ops.add(op)
    return op


_DIM = _define("aten", "dim(Tensor self) -> int", lambda x: x.dim())
_NUMEL = _define("aten", "numel(Tensor self) -> int", lambda x: x.numel())
_SIZES = _define("aten", "sym_size(Tensor self) -> SymInt[]", lambda x: x.size())
_define("aten", "size(Tensor self) -> int[]", lambda x: x.size())
_define("aten", "size.int(Tensor self, int dim) -> int", lambda x, dim: x.size(dim))
_define("aten", "stride(Tensor self) -> int[]", lambda x: x.stride())
_define("aten", "stride.int(Tensor self, int dim) -> int", lambda x, dim: x.stride(dim))
_define("aten", "sym_size.int(Tensor self, int dim) -> SymInt", lambda x, dim: x.size(dim))
_STRIDES = _define("aten", "sym_stride(Tensor self) -> SymInt[]", lambda x: x.stride())
_define("aten", "sym_stride.int(Tensor self, int dim) -> SymInt", lambda x, dim: x.stride(dim))
_define("aten", "sym_numel(Tensor self) -> SymInt", lambda x: x.numel())
_define("aten", "sym_storage_offset(Tensor self) -> SymInt", lambda x: x.storage_offset())
_CONTIGUOUS = _define("aten", "is_contiguous(Tensor self) -> bool", lambda x: x.is_contiguous())
_IN_FORMAT = _define(
    "aten",
    "is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool",
    lambda x, memory_format: x.is_contiguous(memory_format=memory_format),
)
_DEVICE = _define("prim", "device(Tensor a) -> Device", lambda x: x.device)
_LAYOUT = _define("prim", "layout(Tensor a) -> Layout", lambda x: x.layout)


# The dimensions from the one whose neighbours lie nearest on.
_ORDERS = {channels_last: (1, 3, 2, 0), channels_last_3d: (1, 4, 3, 2, 0)}


def _strides_like(x: Tensor, memory_format: Any) -> bool:
    """Whether the strides rise in the order of a format's dimensions, with gaps or without."""
    answer = _asked(_LIKE_FORMAT, "strides", x, memory_format)
    if answer is not None:
        return bool(answer)
    with DisableTorchDispatch():
        size, stride = x.size(), x.stride()
    order = _ORDERS.get(memory_format, ())
    if len(order) != len(size) or stride[1] == 0:
        return False
    least = 0
    for dim in order:
        if size[dim] == 0 or stride[dim] < least or (dim == 0 and stride[0] == stride[1] == least):
            return False
        least = stride[dim] * max(size[dim], 1)
    return True


def _non_overlapping_and_dense(x: Tensor) -> bool:
    """Whether the elements lie in one piece of memory, each once."""
    answer = _asked(_DENSE, "strides", x)
    if answer is not None:
        return bool(answer)
    with DisableTorchDispatch():
        places = sorted(zip(x.stride(), x.size(), strict=True))
    reach = 1
    for step, size in places:
        if size == 0:
            return True
        if size != 1 and step != reach:
            return False
        reach *= size
    return True


_LIKE_FORMAT = _define("aten", "is_strides_like_format(Tensor self, MemoryFormat memory_format) -> bool", _strides_like)
_DENSE = _define("aten", "is_non_overlapping_and_dense(Tensor self) -> bool", _non_overlapping_and_dense)


def _asked(op: Any, what: str, tensor: Tensor, *args: Any) -> Any:
    """What a class says when it is asked by an operator; None where it is not asked, or has nothing to say."""
    if what not in _core.asked(tensor):
        return None
    return ask_dispatch(f"torch.ops.{op.namespace}.{op._schema.name}", op, (tensor, *args), {})


@dataclass(frozen=True)
class _Question:
    """How an attribute, or a call of a method, is answered: by which operator, and what is made of its answer."""

    what: str  # "sizes", "strides", "device" or "layout"
    op: Any
    finish: Callable[..., Any] = lambda answer, tensor: answer


def _of_dim(answer: Any, tensor: Tensor, dim: int | None = None) -> Any:
    return answer if dim is None else answer[dim]


_QUESTIONS = {
    "shape": _Question("sizes", _SIZES, lambda answer, tensor: Size(answer)),
    "size": _Question("sizes", _SIZES, lambda answer, tensor, dim=None: _of_dim(Size(answer), tensor, dim)),
    "dim": _Question("sizes", _DIM),
    "ndim": _Question("sizes", _DIM),
    "numel": _Question("sizes", _NUMEL),
    "nelement": _Question("sizes", _NUMEL),
    "data_ptr": _Question("sizes", _NUMEL, lambda answer, tensor: NotImplemented if answer else 0),
    "stride": _Question("strides", _STRIDES, lambda answer, tensor, dim=None: _of_dim(tuple(answer), tensor, dim)),
    "device": _Question("device", _DEVICE),
    "is_cpu": _Question("device", _DEVICE, lambda answer, tensor: answer.type == "cpu"),
    "is_npu": _Question("device", _DEVICE, lambda answer, tensor: answer.type == "npu"),
    "is_cuda": _Question("device", _DEVICE, lambda answer, tensor: answer.type == "cuda"),
    "is_meta": _Question("device", _DEVICE, lambda answer, tensor: answer.type == "meta"),
    "get_device": _Question("device", _DEVICE, lambda answer, tensor: -1 if answer.index is None else answer.index),
    "layout": _Question("layout", _LAYOUT),
}


def _ask(tensor: Tensor, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the core calls for an attribute of a tensor that is asked; NotImplemented: it has what it was made with."""
    if name in ("is_contiguous", "contiguous"):
        return _ask_order(tensor, name, **kwargs)
    question = _QUESTIONS.get(name)
    answer = None if question is None else _asked(question.op, question.what, tensor)
    return NotImplemented if question is None or answer is None else question.finish(answer, tensor, *args, **kwargs)


def _ask_order(tensor: Tensor, name: str, memory_format: Any = contiguous_format) -> Any:
    """As `_ask`, of the two methods that ask whether the elements lie in the order of a memory format."""
    plain = memory_format == contiguous_format
    answer = _asked(_CONTIGUOUS, "strides", tensor) if plain else _asked(_IN_FORMAT, "strides", tensor, memory_format)
    if answer is None:
        return NotImplemented
    if name == "is_contiguous":
        return answer
    return tensor if answer else ops.aten.clone(tensor, memory_format=memory_format)


_core.hooks.fill(asked_attribute=_ask)
