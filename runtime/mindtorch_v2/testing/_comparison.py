"""Whether values are close, alone and in lists and mappings of them: `assert_close`.

Tolerances and messages are those of ``torch.testing``.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .. import _core
from .._core import Tensor
from .._creation import as_tensor
from .._narrow_dtypes import widened

__all__ = ["assert_close"]

_SINGLE, _DOUBLE = (1.3e-6, 1e-5), (1e-7, 1e-7)
_TOLERANCES = {  # (relative, absolute) of dtypes that are not exact
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": _SINGLE,
    "float64": _DOUBLE,
    "complex32": (1e-3, 1e-5),
    "complex64": _SINGLE,
    "complex128": _DOUBLE,
}
_NUMBERS = (int, float, complex)


@dataclass(frozen=True)
class _Options:
    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    checked: tuple[tuple[str, Callable[[Tensor], Any]], ...]  # attributes of tensors that must be equal
    check_dtype: bool


_Place = tuple[Any, ...]  # indices and keys, from the outermost


class _Mismatch(Exception):  # noqa: N818  (how a difference comes to where it is told)
    """A difference: what it is, where, and the class of the error that tells it."""

    def __init__(self, message: str, place: _Place = (), kind: type[Exception] = AssertionError) -> None:
        super().__init__(message)
        self.message, self.place, self.kind = message, place, kind


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raises AssertionError unless ``|actual - expected| <= atol + rtol * |expected|`` everywhere.

    Tensors, arrays, numbers, bools and None, alone or in sequences and mappings. Without tolerances they follow from
    the dtypes; they are given together or not at all (else ValueError). ``msg`` is the error's message, or a function
    of the one that there would be. Raises TypeError for what cannot be compared.
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'rtol' if rtol is None else 'atol'}."
        )
    checked = {
        "device": (check_device, lambda t: t.device),
        "dtype": (check_dtype, lambda t: t.dtype),
        "layout": (check_layout, lambda t: t.layout),
        "stride()": (check_stride, lambda t: t.stride()),
    }
    shown = tuple((name, read) for name, (wanted, read) in checked.items() if wanted)
    options = _Options(allow_subclasses, rtol, atol, equal_nan, shown, check_dtype)
    try:
        pairs = list(_pairs(actual, expected, (), options))  # all of them first: a wrong form is told before a value
        for place, compare in pairs:
            _at(place, compare)
    except _Mismatch as found:
        where = "".join(f"[{part!r}]" for part in found.place)
        message = found.message + (f"\n\nThe failure occurred for item {where}" if where else "")
        if found.kind is AssertionError and msg is not None:
            message = msg(message) if callable(msg) else msg
        raise found.kind(message) from None


def _at(place: _Place, compare: Callable[[], None]) -> None:
    try:
        compare()
    except _Mismatch as found:
        found.place = place
        raise


def _pairs(actual: Any, expected: Any, place: _Place, options: _Options) -> Iterator[tuple[_Place, Callable[[], None]]]:
    """Each pair of values that belong together, as a place and a function that compares them."""
    if _both(actual, expected, Sequence) and not isinstance(actual, str) and not isinstance(expected, str):
        if len(actual) != len(expected):
            raise _Mismatch(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", place)
        for index in range(len(actual)):
            yield from _pairs(actual[index], expected[index], (*place, index), options)
    elif _both(actual, expected, Mapping):
        missing, more = expected.keys() - actual.keys(), actual.keys() - expected.keys()
        if missing or more:
            raise _Mismatch(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(missing)}\n"
                f"Additional keys in the actual mapping: {sorted(more)}",
                place,
            )
        for key in _in_order(actual):
            yield from _pairs(actual[key], expected[key], (*place, key), options)
    else:
        yield place, _comparison(actual, expected, place, options)


_Key = TypeVar("_Key")


def _in_order(mapping: Mapping[_Key, Any]) -> list[_Key]:
    try:
        return sorted(mapping)  # type: ignore[type-var]
    except TypeError:  # keys that have no order
        return list(mapping)


def _comparison(actual: Any, expected: Any, place: _Place, options: _Options) -> Callable[[], None]:
    """How two values are compared. Raises a mismatch with a TypeError for what is no pair."""
    if actual is None or expected is None:
        return lambda: _compare_none(actual, expected)
    if isinstance(actual, bool) and isinstance(expected, bool):
        return lambda: _compare_bools(actual, expected)
    if isinstance(actual, _NUMBERS) and isinstance(expected, _NUMBERS):
        return lambda: _compare_numbers(actual, expected, options)
    tensors = isinstance(actual, Tensor) and isinstance(expected, Tensor)
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if (tensors or (_is_array(actual) and _is_array(expected))) and (
        related if options.allow_subclasses else type(actual) is type(expected)
    ):
        return lambda: _compare_tensors(as_tensor(actual), as_tensor(expected), options)
    raise _Mismatch(
        f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.", place, TypeError
    )


def _is_array(value: Any) -> bool:
    """Whether a value is an array of NumPy's, or shows its memory as one does."""
    return hasattr(type(value), "__array_interface__")


def _both(actual: Any, expected: Any, kind: type) -> bool:
    return isinstance(actual, kind) and isinstance(expected, kind)


# ---------------------------------------------------------------- what is compared as a whole
def _compare_none(actual: Any, expected: Any) -> None:
    if actual is not expected:
        raise _Mismatch(f"None mismatch: {actual} is not {expected}")


def _compare_bools(actual: bool, expected: bool) -> None:
    if actual is not expected:
        raise _Mismatch(f"Booleans mismatch: {actual} is not {expected}")


def _compare_numbers(actual: Any, expected: Any, options: _Options) -> None:
    if options.check_dtype and type(actual) is not type(expected):
        raise _Mismatch(f"The (d)types do not match: {type(actual)} != {type(expected)}.")
    exact = all(isinstance(value, int) for value in (actual, expected))
    rtol, atol = _tolerances([] if exact else ["float64"], options)
    if not _close(actual, expected, rtol, atol, options.equal_nan):
        raise _Mismatch(_scalars_message(actual, expected, rtol, atol))


def _close(actual: Any, expected: Any, rtol: float, atol: float, equal_nan: bool) -> bool:
    if actual == expected:
        return True
    if equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
        return True
    difference = abs(actual - expected)
    return bool(cmath.isfinite(difference) and difference <= atol + rtol * abs(expected))


def _scalars_message(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    difference = abs(actual - expected)
    relative = difference / abs(expected) if expected != 0 else float("inf")
    allowed = ("", "") if rtol == atol == 0 else (f" (up to {atol} allowed)", f" (up to {rtol} allowed)")
    return (
        f"Scalars are not {_closeness(rtol, atol)}!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{allowed[0]}\nRelative difference: {relative}{allowed[1]}"
    )


def _closeness(rtol: float, atol: float) -> str:
    return "equal" if rtol == atol == 0 else "close"


def _tolerances(dtypes: Sequence[str], options: _Options) -> tuple[float, float]:
    if options.rtol is not None and options.atol is not None:
        return options.rtol, options.atol
    known = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
    return max((r for r, _ in known), default=0.0), max((a for _, a in known), default=0.0)


# ---------------------------------------------------------------- tensors
def _compare_tensors(actual: Tensor, expected: Tensor, options: _Options) -> None:
    if actual.shape != expected.shape:
        raise _different("shape", actual.shape, expected.shape)
    for name, read in options.checked:
        if read(actual) != read(expected):
            raise _different(name, read(actual), read(expected))
    rtol, atol = _tolerances([str(t.dtype).removeprefix("torch.") for t in (actual, expected)], options)
    if actual.device.type == "meta":  # there are no values
        return
    actual, expected = _alike(actual.detach(), expected.detach())
    matches = actual.isclose(expected, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if bool(matches.all()):
        return
    if not actual.shape:
        raise _Mismatch(_scalars_message(actual.item(), expected.item(), rtol, atol))
    raise _Mismatch(_tensors_message(actual, expected, matches, rtol, atol))


def _different(name: str, actual: Any, expected: Any) -> _Mismatch:
    return _Mismatch(f"The values for attribute '{name}' do not match: {actual} != {expected}.")


def _alike(actual: Tensor, expected: Tensor) -> tuple[Tensor, Tensor]:
    """Two tensors on one device, of one dtype: what was to be equal of them has been compared."""
    if actual.device != expected.device:
        actual, expected = actual.cpu(), expected.cpu()
    if actual.dtype is not expected.dtype:
        common = _core.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(common), expected.to(common)
    return widened(actual), widened(expected)


def _tensors_message(actual: Tensor, expected: Tensor, matches: Tensor, rtol: float, atol: float) -> str:
    """How many elements differ, and by how much at most."""
    wrong = matches.logical_not()
    count, total = int(wrong.sum()), actual.numel()
    if not (actual.is_floating_point() or actual.is_complex()):  # differences of small or unsigned integers wrap around
        actual, expected = actual.to(_core.dtypes["int64"]), expected.to(_core.dtypes["int64"])
    absolute = (actual - expected).abs()
    relative = absolute / expected.abs()
    lines = [
        f"Tensor-likes are not {_closeness(rtol, atol)}!\n",
        f"Mismatched elements: {count} / {total} ({count / total:.1%})",
    ]
    for name, values, allowed in (("absolute", absolute, atol), ("relative", relative, rtol)):
        outside = values.masked_fill(matches, -1)  # below every difference of what does not match
        flat = int(outside.argmax())
        shown = "" if rtol == atol == 0 else f" (up to {allowed} allowed)"
        greatest = outside.flatten()[flat].item()
        lines.append(f"Greatest {name} difference: {greatest} at index {_index(flat, actual.shape)}{shown}")
    return "\n".join(lines)


def _index(flat: int, shape: Sequence[int]) -> tuple[int, ...]:
    """The index of an element that is counted row by row."""
    found = []
    for size in reversed(shape):
        flat, at = divmod(flat, size)
        found.append(at)
    return tuple(reversed(found))
