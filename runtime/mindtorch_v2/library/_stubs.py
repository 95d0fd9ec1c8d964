"""Stubs: the loop inside the kernels of an operator that works element by element, which a device can bring alone.

What such an operator checks, which shape and dtype its result has, and how its arguments are broadcast and converted is
the same everywhere: its rule for meta tensors says it. A stub gets runs of elements that go together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opschema import SchemaKind

from .. import _core
from .._core import OpOverload, Tensor
from ..errors import RegistrationError
from .definitions._policies import called, in_tensors, merged

__all__ = ["operators_of_stub", "stub_kernel"]

_SUFFIX = "_stub"
_BOOL = _core.dtypes["bool"]


def operators_of_stub(namespace: str, name: str) -> list[OpOverload]:
    """The operators whose loop a stub is: of ``add_stub`` all overloads of `add` and `add_` that are no composites.

    Raises RegistrationError for a name that is no stub's.
    """
    base = name.removesuffix(_SUFFIX)
    found = []
    for full_name in _core.operator_names():
        overload = _core.find_operator(full_name)
        if overload is None or overload.namespace != namespace or overload._schema.name not in (base, f"{base}_"):
            continue
        composite = any(key.startswith("Composite") for key in overload.kernel_sources())
        if _is_elementwise(overload) and not composite:
            found.append(overload)
    if base == name or not found:
        raise RegistrationError(
            f"{name!r} is no stub: the name of one is an operator's that works element by element and has kernels of "
            f"its own, as in 'abs{_SUFFIX}'"
        )
    return found


def _is_elementwise(overload: OpOverload) -> bool:
    schema = overload._schema
    returns_one = len(schema.returns) == 1 and str(schema.returns[0].type) == "Tensor"
    kinds = (SchemaKind.FUNCTIONAL, SchemaKind.INPLACE)
    return "pointwise" in overload.tags and returns_one and schema.kind in kinds


def stub_kernel(overload: OpOverload, function: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of an operator that has a stub do the work: ``function(out, *operands, **others)``.

    ``out`` and the operands are contiguous, of one dimension and one length, and on the device; of out's dtype, or,
    where that is bool, of the dtype that the operands have together. ``others`` are the arguments that are no tensors.
    """
    arguments = overload._schema.arguments
    in_place = overload._schema.kind is SchemaKind.INPLACE

    def kernel(*args: Any, **kwargs: Any) -> Tensor:
        values = merged(overload._schema, args, kwargs)
        shown = called(overload, [in_tensors(_without_values, value) for value in values])
        tensors = [value for value in values if isinstance(value, Tensor)]
        if in_place and values[0].is_contiguous():
            out = values[0]
        else:
            out = _core.alloc(shown.shape, shown.dtype, next(t.device for t in tensors if not t.is_cpu))
        common = _core.result_type(*tensors) if out.dtype is _BOOL and len(tensors) > 1 else tensors[0].dtype
        dtype = common if out.dtype is _BOOL else out.dtype
        operands = [_run(value, dtype, out) for value in tensors]
        others = {
            argument.name: value
            for argument, value in zip(arguments, values, strict=True)
            if not isinstance(value, Tensor)
        }
        if out.numel():
            function(out.view(-1), *operands, **others)
        result: Tensor = values[0].copy_(out) if in_place and out is not values[0] else out
        return result

    kernel.__name__ = kernel.__qualname__ = f"{overload._schema.name}{_SUFFIX}"
    return kernel


def _without_values(tensor: Tensor) -> Tensor:
    return _core.alloc(tensor.shape, tensor.dtype, "meta")


def _run(operand: Tensor, dtype: Any, out: Tensor) -> Tensor:
    """An operand's elements, one for each of out's."""
    there: Tensor = operand.to(dtype=dtype, device=out.device).expand(out.shape).contiguous().view(-1)
    return there
