"""How many floating-point operations a program does: ``torch.utils.flop_counter``.

Matrix products, convolutions and attention are counted, from the shapes of what they are given, forward and backward; a
multiplication and an addition are two. Other operators count for nothing, unless a formula is registered for them.
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from .._core import OpOverloadPacket, Tensor
from .._frames import user_stacklevel
from .._ops import ops
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "flop_registry", "register_flop_formula"]

_Formula = TypeVar("_Formula", bound=Callable[..., Any])
_EVERYTHING = "Global"
_SUFFIXES = ("", "K", "M", "B", "T")

flop_registry: dict[Any, Callable[..., Any]] = {}  # formulas by operator


def _shape(value: Any) -> Any:
    return value.shape if isinstance(value, Tensor) else value


def shape_wrapper(formula: Callable[..., Any]) -> Callable[..., Any]:
    """A formula of shapes as one of tensors: ``out_shape`` is that of the result, or of the results."""

    def of_tensors(*args: Any, out_val: Any = None, **kwargs: Any) -> Any:
        shapes, named, out_shape = tree_map(_shape, (args, kwargs, out_val))
        return formula(*shapes, out_shape=out_shape, **named)

    return of_tensors


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[_Formula], _Formula]:
    """A decorator of the formula of an operator, or of several: what is called in place of it, and gives a number.

    It gets the operator's arguments with shapes in place of tensors, and ``out_shape``; with ``get_raw`` the arguments
    themselves, and ``out_val``. Raises ValueError for what is no `OpOverloadPacket`, RuntimeError for a second formula.
    """

    def register(formula: _Formula) -> _Formula:
        for target in targets if isinstance(targets, (list, tuple)) else (targets,):
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    f"register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. "
                    f"torch.ops.mylib.foo), got {target} which is of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = formula if get_raw else shape_wrapper(formula)
        return formula

    return register


# ---------------------------------------------------------------- formulas
_aten = ops.aten


@register_flop_formula(_aten.mm)
def mm_flop(a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Of a product of matrices."""
    return 2 * int(a_shape[0]) * int(a_shape[1]) * int(b_shape[1])


@register_flop_formula(_aten.addmm)
def addmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """As `mm_flop`: the sum is not counted."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(_aten.bmm)
def bmm_flop(a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Of a batch of products."""
    return int(a_shape[0]) * mm_flop(a_shape[1:], b_shape[1:])


@register_flop_formula(_aten.baddbmm)
def baddbmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """As `bmm_flop`: the sum is not counted."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(
    x_shape: Sequence[int], w_shape: Sequence[int], out_shape: Sequence[int], transposed: bool = False
) -> int:
    """Of a convolution: each place of the output, transposed of the input, meets the whole filter."""
    places = (x_shape if transposed else out_shape)[2:]
    return 2 * x_shape[0] * math.prod(places) * math.prod(w_shape)


@register_flop_formula([_aten.convolution, _aten._convolution])
def conv_flop(
    x_shape: Any,
    w_shape: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    *args: Any,
    out_shape: Any = None,
    **kwargs: Any,
) -> int:
    """Of a convolution."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


@register_flop_formula(_aten.convolution_backward)
def conv_backward_flop(
    grad_out_shape: Any,
    x_shape: Any,
    w_shape: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Sequence[bool],
    out_shape: Any = None,
    **kwargs: Any,
) -> int:
    """Of a convolution's gradients: that of the input and that of the filter take as many as the convolution."""
    return sum(map(bool, output_mask[:2])) * conv_flop_count(x_shape, w_shape, grad_out_shape, transposed)


def sdpa_flop_count(query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """Of attention: scores, and sums of values; what a causal mask saves is not taken off."""
    batch, heads, queries, depth = query_shape
    keys, width = value_shape[-2:]
    return 2 * batch * heads * queries * keys * (depth + width)  # type: ignore[no-any-return]


_FORWARD = ("_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_fused_attention_overrideable")


@register_flop_formula([getattr(_aten, name) for name in _FORWARD if hasattr(_aten, name)])
def sdpa_flop(
    query_shape: Any, key_shape: Any, value_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any
) -> int:
    """Of attention in one kernel."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


@register_flop_formula([getattr(_aten, f"{name}_backward") for name in _FORWARD if hasattr(_aten, f"{name}_backward")])
def sdpa_backward_flop(
    grad_out_shape: Any,
    query_shape: Any,
    key_shape: Any,
    value_shape: Any,
    *args: Any,
    out_shape: Any = None,
    **kwargs: Any,
) -> int:
    """Of its gradients: the scores once more, and two products for each of them and of the values."""
    batch, heads, queries, depth = query_shape
    keys, width = value_shape[-2:]
    return 2 * batch * heads * queries * keys * (3 * depth + 2 * width)  # type: ignore[no-any-return]


# ---------------------------------------------------------------- the counter
class FlopCounterMode:
    """``with FlopCounterMode() as counter:`` counts; at the end it prints a table, with ``display``.

    ``custom_mapping`` has formulas for operators beside those that are registered, of shapes as these are, or, with an
    attribute ``_get_raw`` that is true, of the arguments themselves. The table looks into modules as deep as ``depth``.
    Attention in one kernel counts on every device; PyTorch does not count it on the CPU.
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: Mapping[Any, Callable[..., Any]] | None = None,
    ) -> None:
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=user_stacklevel())
        own = {
            op: formula if getattr(formula, "_get_raw", False) else shape_wrapper(formula)
            for op, formula in (custom_mapping or {}).items()
        }
        self.flop_registry = {**flop_registry, **own}
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        self.mod_tracker = ModuleTracker()
        self._mode: _Counting | None = None

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self._mode = _Counting(self)
        self._mode.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        assert self._mode is not None
        self._mode.__exit__(*exc)
        self._mode = None
        self.mod_tracker.__exit__(*exc)
        if self.display:
            print(self.get_table(self.depth))

    def count(self, packet: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
        """Adds a call to what runs."""
        if packet in self.flop_registry:
            found = self.flop_registry[packet](*args, **kwargs, out_val=out)
            for module in self.mod_tracker.parents:
                self.flop_counts[module][packet] += found

    def get_total_flops(self) -> int:
        """All that were counted."""
        return sum(self.flop_counts[_EVERYTHING].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """By module, by operator; ``"Global"`` is the whole program."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as text: a line for each module down to ``depth``, and for each of its operators."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        modules = [name for name in sorted(self.flop_counts) if name != _EVERYTHING and name.count(".") < depth]
        tops = [sum(self.flop_counts[name].values()) for name in modules if "." not in name]
        suffix = get_suffix_str(total)
        rows = [("Module", "FLOP", "% Total")]
        indent = 0
        if not tops or total not in tops:  # something was counted outside of one module
            rows += self._rows(_EVERYTHING, 0, total, suffix)
            indent = 1
        for name in modules:
            rows += self._rows(name, indent + name.count("."), total, suffix)
        return _aligned(rows)

    def _rows(self, name: str, indent: int, total: int, suffix: str) -> list[tuple[str, str, str]]:
        counts = self.flop_counts[name]
        lines = [(name, sum(counts.values())), *((f" - {op}", found) for op, found in counts.items())]
        return [
            (" " * indent + text, convert_num_with_suffix(found, suffix), convert_to_percent_str(found, total))
            for text, found in lines
        ]


class _Counting(TorchDispatchMode):
    """Sees every operator, and tells the counter."""

    def __init__(self, counter: FlopCounterMode) -> None:
        super().__init__()
        self._counter = counter

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        self._counter.count(func._overloadpacket, args, kwargs or {}, out)
        return out


# ---------------------------------------------------------------- text
def get_suffix_str(number: int) -> str:
    """The suffix that leaves one to four digits before the point."""
    return _SUFFIXES[max(0, min(len(_SUFFIXES) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: float, suffix: str) -> str:
    """A number in units of a suffix."""
    return f"{number / 1000 ** _SUFFIXES.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: float, denom: float) -> str:
    """A share."""
    return f"{num / denom:.2%}" if denom else "0%"


def _aligned(rows: Sequence[tuple[str, str, str]]) -> str:
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    lines = ["  ".join((row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].rjust(widths[2]))) for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)
