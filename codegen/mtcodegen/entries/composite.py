"""Which operators are made of others on every device, and which need a rule that says what their outputs look like."""

from __future__ import annotations

import opschema
from mtcodegen.entries.model import Compute, OpSpec, PythonFunction, Variant
from mtcodegen.entries.schemas import fresh_returns

__all__ = ["is_composite", "needs_fake", "runs_on_meta"]

_MADE_OF_OPERATORS = (Compute, PythonFunction, Variant)


def is_composite(spec: OpSpec) -> bool:
    """Whether one kernel made of other operators serves every device, and shape propagation with it."""
    return any(not kernel.devices and isinstance(kernel.body, _MADE_OF_OPERATORS) for kernel in spec.kernels)


def needs_fake(spec: OpSpec) -> bool:
    """Whether nothing but a fake rule can give the outputs' shapes. Outputs that are no tensors have none."""
    returns = spec.schema.returns
    return not runs_on_meta(spec) and any(
        opschema.base_of(returns[i].type).name == "Tensor" for i in fresh_returns(spec.schema)
    )


def runs_on_meta(spec: OpSpec) -> bool:
    """Whether a kernel serves tensors without data."""
    return is_composite(spec) or any("meta" in kernel.devices for kernel in spec.kernels)
