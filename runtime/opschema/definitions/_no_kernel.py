"""What an error says where a call takes a way through a definition on which nothing runs on its device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from ._conditions import expectation, names_of
from ._symbols import Symbol
from ._tracer import Trace, displayed

__all__ = ["Message", "no_kernel"]

Message = Callable[[Callable[[Symbol], Any]], str]  # what an error says, by the values of symbols in the call


def no_kernel(operator: str, device: str, way: Trace, taken: Sequence[Trace], ways: Sequence[Trace]) -> Message:
    """The message; ``taken`` are those of the ``ways`` on which a kernel runs on the device.

    Conditions stand in the order of the definition, so that what it has kernels for is where a way parts from this one.
    """
    place = "any device" if device == "any" else device
    there = list(dict.fromkeys(_expected(way, taken, ways)))
    if not there:
        message = f"{operator}: it has no kernel for {place}" + (f" where {way}" if way.known else "")
        return lambda value_of: message
    expected = f"{operator}: expected arguments that a kernel for {place} takes: {'; or '.join(there)}"
    return partial(_with_values, expected, list(way.known))


def _with_values(expected: str, conditions: Sequence[Symbol], value_of: Callable[[Symbol], Any]) -> str:
    """What was expected, and the values that conditions name."""
    names = dict(pair for condition in conditions for pair in names_of(condition, value_of) if pair[1].kind != "tensor")
    got = [f"{text} = {displayed(value_of(symbol))}" for text, symbol in names.items()]
    return f"{expected}, got {', '.join(got)}" if got else expected


def _expected(way: Trace, taken: Sequence[Trace], ways: Sequence[Trace]) -> Iterable[str]:
    """What the arguments would have to be, for each place where kernels are on the other side."""
    for at, (condition, answer) in enumerate(way.known.items()):
        beyond = [w for w in ways if _parting(way, w) == at]
        if beyond and all(w in taken for w in beyond):
            yield _said(condition, not answer)
            continue
        for other in taken:
            if _parting(way, other) == at and _agrees(way, other, at):
                asked = [pair for pair in [*other.known.items()][at + 1 :] if pair[0] not in way.known]
                yield " and ".join(_said(*pair) for pair in [(condition, not answer), *asked])


def _parting(way: Trace, other: Trace) -> int:
    """The number of the condition that two ways answer differently; before it all are the same."""
    pairs = zip(way.known.values(), other.known.values(), strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a is not b), -1)


def _agrees(way: Trace, other: Trace, at: int) -> bool:
    """Whether two ways that part at a condition answer all others alike, where both ask them."""
    return all(way.known.get(condition, a) is a for condition, a in [*other.known.items()][at + 1 :])


def _said(condition: Symbol, answer: bool) -> str:
    return expectation(condition if answer else condition.of.negation(condition))
