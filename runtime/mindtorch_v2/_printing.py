"""``repr(tensor)`` as PyTorch prints it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import _core
from ._core import Tensor
from ._hooks import hooks
from ._lazy_values import values_of
from ._narrow_dtypes import widened
from .overrides import handle_attribute

__all__ = ["set_printoptions", "tensor_repr"]


class _Options:
    precision = 4
    threshold: float = 1000
    edgeitems = 3
    linewidth = 80
    sci_mode: bool | None = None


# What a word stands for: precision, threshold, edgeitems and linewidth.
_PROFILES = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, math.inf, 3, 80)}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """How tensors print: digits after the point, how many elements are shown in full, and of longer ones how many.

    ``linewidth`` is in characters; ``profile``, "default", "short" or "full", stands for all of these, of which those
    that are given are set beside. ``sci_mode`` says whether numbers have exponents; None leaves it to the values.
    """
    before = _Options.precision, _Options.threshold, _Options.edgeitems, _Options.linewidth
    usual = before if profile is None else _PROFILES.get(profile, before)  # any other word is passed by, as in PyTorch
    given = precision, threshold, edgeitems, linewidth
    chosen: Any = (old if new is None else new for old, new in zip(usual, given, strict=True))
    _Options.precision, _Options.threshold, _Options.edgeitems, _Options.linewidth = chosen
    _Options.sci_mode = sci_mode


def tensor_repr(self: Tensor, tensor_contents: str | None = None) -> str:
    """``tensor([...], ...)`` with what differs from the defaults: size of an empty one, dtype, device, history.

    ``tensor_contents`` stands in place of the values, after the name of the class.
    """
    kind = type(self)
    plain = kind is Tensor or kind.__name__ == "Parameter"
    prefix = "tensor(" if plain else f"{kind.__name__}("
    indent = len(prefix)
    suffixes: list[str] = []
    default = _core.get_default_device()
    if self.device.type != default.type or (not self.is_cpu and self.device.index is not None):
        suffixes.append(f"device='{self.device}'")
    usual = self.dtype in _implied_dtypes()
    if tensor_contents is not None:
        body = tensor_contents
    elif self.is_meta:
        body = "..."
        suffixes.append(f"size={tuple(self.shape)}")
        usual = self.dtype is _core.get_default_dtype()
    elif self.numel() == 0:
        body = "[]"
        if self.dim() != 1:
            suffixes.append(f"size={tuple(self.shape)}")
        usual = self.dtype is _core.get_default_dtype()
    else:
        body = _body(self, indent)
    if not usual:
        suffixes.append(f"dtype={self.dtype}")
    node = _node_name(self)
    if node is not None:
        suffixes.append(f"grad_fn=<{node}>")
    elif self.requires_grad:
        suffixes.append("requires_grad=True")
    for level in _core.tangent_levels(self):
        suffixes.append(f"tangent={_core.tangent(self, level)!r}")
    text = prefix + _joined(body, suffixes, indent) + ")"
    return text if plain or hooks.is_parameter is None or not hooks.is_parameter(self) else f"Parameter({text})"


def _node_name(self: Any) -> str | None:
    """The name of the node that made a tensor; of a view that is not to be used any more ``Invalid``, as in PyTorch."""
    try:
        node = self.grad_fn
    except RuntimeError:
        return "Invalid"
    return None if node is None else node.name()


def _implied_dtypes() -> tuple[Any, ...]:
    """Dtypes that the values themselves show."""
    default = _core.get_default_dtype()
    complex_ = "complex128" if default is _core.dtypes["float64"] else "complex64"
    return default, *(_core.dtypes[name] for name in ("int64", "bool", complex_))


def _joined(body: str, suffixes: list[str], indent: int) -> str:
    """The body with its suffixes, on a new line where the last one is full."""
    text = body
    last = (
        len(body) - body.rfind("\n") + 1 + (indent if "\n" not in body else 0)
    )  # two more than there are, as in PyTorch
    for suffix in suffixes:
        if last + len(suffix) + 2 > _Options.linewidth:
            text += ",\n" + " " * indent + suffix
            last = indent + len(suffix)
        else:
            text += ", " + suffix
            last += len(suffix) + 2
    return text


def _body(self: Tensor, indent: int) -> str:
    import numpy as np

    edge = _Options.edgeitems
    cut = tuple(self.numel() > _Options.threshold and size > 2 * edge for size in self.shape)
    plain = _edges(self.detach(), cut, edge)
    plain = values_of(plain if plain.is_cpu else plain.cpu())
    values = np.asarray(_core.as_memoryview(plain.float() if plain.dtype in _halves() else widened(plain)))
    shown = values.reshape([2 * edge if is_cut else size for is_cut, size in zip(cut, self.shape, strict=True)])
    show = _formatter(np.asarray(shown), self)
    return _nested(shown, indent, cut, show)


def _halves() -> tuple[Any, ...]:
    return _core.dtypes["bfloat16"], _core.dtypes["float16"]


def _edges(plain: Tensor, cut: tuple[bool, ...], edge: int) -> Tensor:
    """A view of the elements that a summary shows, which are few: a dimension that is cut becomes (2 ends, edge)."""
    size: list[int] = []
    stride: list[int] = []
    for is_cut, count, step in zip(cut, plain.shape, plain.stride(), strict=True):
        size += (2, edge) if is_cut else (count,)
        stride += ((count - edge) * step, step) if is_cut else (step,)
    return _core.as_strided(plain, size, stride, plain.storage_offset()) if any(cut) else plain


def _formatter(values: Any, self: Tensor) -> Callable[[Any], str]:
    if self.is_complex():
        real, imaginary = _floats(values.real), _floats(values.imag)
        return lambda v: (
            f"{real(v.real)}{'-' if math.copysign(1, v.imag) < 0 else '+'}{imaginary(abs(v.imag)).lstrip()}j"
        )
    if self.is_floating_point():
        return _floats(values)
    texts = [str(v) for v in values.ravel().tolist()]
    width = max(map(len, texts))
    return lambda v: f"{v!s:>{width}}"


def _floats(values: Any) -> Callable[[Any], str]:
    """One format for all: integers with a point, decimals, or exponents where the range asks for it."""
    finite = [abs(v) for v in values.astype("float64").ravel().tolist() if math.isfinite(v) and v != 0]
    digits = _Options.precision
    whole = all(v == math.ceil(v) for v in finite)
    exponents = False
    if finite:
        low, high = min(finite), max(finite)
        exponents = high / low > 1000 or high > 1e8 or (low < 1e-4 and not whole)
    if _Options.sci_mode is not None:
        exponents = _Options.sci_mode

    def text(v: float) -> str:
        if exponents:
            return f"{v:.{digits}e}"
        if not whole:
            return f"{v:.{digits}f}"
        return f"{v:.0f}." if math.isfinite(v) else f"{v:.0f}"

    signed = [v for v in values.astype("float64").ravel().tolist() if math.isfinite(v) and v != 0]
    width = max(map(len, map(text, signed)), default=1)
    return lambda v: f"{text(float(v)):>{width}}"


def _nested(values: Any, indent: int, cut: tuple[bool, ...], show: Callable[[Any], str]) -> str:
    if values.ndim == 0:
        return show(values.item())
    if values.ndim == 1:
        return _vector(values, indent, cut[0], show)
    rows = [_nested(row, indent + 1, cut[1:], show) for row in values]
    separator = "," + "\n" * int(values.ndim - 1) + " " * (indent + 1)
    if cut[0]:
        rows.insert(_Options.edgeitems, "...")
    return "[" + separator.join(rows) + "]"


def _vector(values: Any, indent: int, is_cut: bool, show: Callable[[Any], str]) -> str:
    items = values.tolist()
    width = len(show(items[0])) if items else 1
    per_line = max(1, (_Options.linewidth - indent) // (width + 2))
    texts = [*map(show, items)]
    if is_cut:
        texts.insert(_Options.edgeitems, " ...")
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _repr(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """The tensor as text; with ``tensor_contents`` in place of its values."""
    if _core.overridden(self):
        text: str = handle_attribute(Tensor.__repr__, self)
        return text
    return _shown(self) if tensor_contents is None else tensor_repr(self, tensor_contents)


def _shown(self: Tensor) -> str:
    """A tensor as the program that has it sees it: of a transform, one that this wraps."""
    found: str | None = None if hooks.transformed_repr is None else hooks.transformed_repr(self)
    return tensor_repr(self) if found is None else found


_repr.__name__, _repr.__qualname__ = "__repr__", "Tensor.__repr__"
_core.install_repr(_repr)
_core.hooks.fill(tensor_repr=_shown)
