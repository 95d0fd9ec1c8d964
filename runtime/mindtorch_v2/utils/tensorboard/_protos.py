"""Tensors, and what a plugin of TensorBoard is told of a tag, as its protos have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

from ..._core import Tensor
from ._arrays import as_array

__all__ = ["one", "shape_proto", "strings", "summary_of", "tensor_proto", "told", "with_plugin"]

# For each dtype TensorFlow's name, and the field of a proto that holds its values.
_FIELDS = {
    "float16": ("DT_HALF", "half_val"),
    "bfloat16": ("DT_BFLOAT16", "half_val"),
    "float32": ("DT_FLOAT", "float_val"),
    "float64": ("DT_DOUBLE", "double_val"),
    "uint8": ("DT_UINT8", "int_val"),
    "int8": ("DT_INT8", "int_val"),
    "int16": ("DT_INT16", "int_val"),
    "int32": ("DT_INT32", "int_val"),
    "int64": ("DT_INT64", "int64_val"),
    "bool": ("DT_BOOL", "bool_val"),
    "complex64": ("DT_COMPLEX64", "scomplex_val"),
    "complex128": ("DT_COMPLEX128", "dcomplex_val"),
}


def shape_proto(shape: Sequence[int]) -> Any:
    """Sizes of dimensions."""
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in shape])


def tensor_proto(value: Any, dtype: str | None = None) -> Any:
    """A tensor or an array of any shape, by its own dtype or as another. Raises ValueError for one that has no name."""
    array = as_array(value)
    name = dtype or (value.dtype.name if isinstance(value, Tensor) else array.dtype.name)
    if name not in _FIELDS:
        raise ValueError(f"TensorBoard has no tensors of {name}")
    if name == "bfloat16":  # the upper half of a float32, which it was converted to
        array = array.view(np.uint32) >> 16
    elif name == "float16":
        array = array.astype(np.float16).view(np.uint16)
    elif name.startswith("complex"):
        array = np.ascontiguousarray(array).view(array.real.dtype)
    kind, field = _FIELDS[name]
    shape = value.shape if isinstance(value, Tensor) else np.shape(value)
    return TensorProto(dtype=kind, tensor_shape=shape_proto(shape), **{field: array.reshape(-1).tolist()})


def strings(values: Sequence[bytes], shape: Sequence[int]) -> Any:
    """Bytes, as a tensor."""
    return TensorProto(dtype="DT_STRING", tensor_shape=shape_proto(shape), string_val=values)


def told(plugin: str, content: bytes = b"") -> Any:
    """Which plugin shows a tag, and what it has to know beside the values."""
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin, content=content))


def with_plugin(tag: str, plugin: str, tensor: Any = None, content: bytes = b"") -> Any:
    """A value that a plugin shows."""
    return Summary.Value(tag=tag, tensor=tensor, metadata=told(plugin, content))


def summary_of(*values: Any) -> Any:
    """A summary of values."""
    return Summary(value=values)


def one(tag: str, **fields: Any) -> Any:
    """A summary of one value, which is no plugin's: ``simple_value``, ``image``, ``histo`` or ``audio``."""
    return summary_of(Summary.Value(tag=tag, **fields))
