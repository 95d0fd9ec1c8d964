"""`torch.Tag`: what is known of an operator beyond its schema."""

from __future__ import annotations

import enum

__all__ = ["Tag"]


class Tag(str, enum.Enum):
    """PyTorch's operator tags; each is equal to its name."""

    core = "core"
    cudagraph_unsafe = "cudagraph_unsafe"
    data_dependent_output = "data_dependent_output"
    dynamic_output_shape = "dynamic_output_shape"
    flexible_layout = "flexible_layout"
    generated = "generated"
    inplace = "inplace"
    inplace_view = "inplace_view"
    maybe_aliasing_or_mutating = "maybe_aliasing_or_mutating"
    needs_contiguous_strides = "needs_contiguous_strides"
    needs_exact_strides = "needs_exact_strides"
    needs_fixed_stride_order = "needs_fixed_stride_order"
    nondeterministic_bitwise = "nondeterministic_bitwise"
    nondeterministic_seeded = "nondeterministic_seeded"
    out = "out"
    out_variant = "out_variant"
    pointwise = "pointwise"
    pt2_compliant_tag = "pt2_compliant_tag"
    reduction = "reduction"
    view_copy = "view_copy"

    @classmethod
    def _missing_(cls, value: object) -> Tag:
        """A tag by its place in PyTorch's list. Raises TypeError for what is neither that nor a name."""
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(cls):
            return list(cls)[value]
        raise TypeError(f"Tag(): {value!r} is not the name of a tag; they are {', '.join(tag.value for tag in cls)}")
