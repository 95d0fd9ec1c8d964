"""How an operator runs on each device, as its declaration says."""

from __future__ import annotations

from mtcodegen.entries.composite import is_composite
from mtcodegen.entries.model import OpSpec
from mtcodegen.entries.schemas import fresh_returns
from mtcodegen.entries.validate import device_keys, fallbacks

__all__ = ["states"]


def states(spec: OpSpec) -> dict[str, str]:
    """For each device: ``native`` (a kernel, or a rule, of its own), ``composite``, ``fallback`` or ``absent``."""
    return {device: _state(spec, device) for device in device_keys()}


def _state(spec: OpSpec, device: str) -> str:
    if any(device in kernel.devices for kernel in spec.kernels):
        return "native"
    if device == "meta":
        return _state_on_meta(spec)
    if is_composite(spec):
        return "composite"
    policy = (spec.fallback or fallbacks().get(device)) if device != "cpu" else None
    return "fallback" if policy == "cpu" else "absent"


def _state_on_meta(spec: OpSpec) -> str:
    """Of tensors without elements a rule says what comes out; where nothing new does, nothing is done."""
    changes = bool(spec.schema.returns) or any(argument.is_write for argument in spec.schema.arguments)
    ruled = bool(spec.fakes) or spec.fake_function is not None or not changes
    if ruled or (not fresh_returns(spec.schema) and any(kernel.devices for kernel in spec.kernels)):
        return "native"
    return "composite" if is_composite(spec) else "absent"
