"""Whether two libraries that refuse a call with different classes of errors are both right.

A call may have two faults, of which each library tells one. Which of them is told first is an accident of the order in
which a library looks at its arguments. That the one which ours tells is a fault for PyTorch, too, and not a refusal of
ours alone or one of another class, calls show: an argument is mended, so that PyTorch tells the other fault; then
another argument, so that PyTorch tells none; and that one alone, so that PyTorch tells the first again::

    both faults          PyTorch raises T, ours raises O
    the first mended     PyTorch raises O, and so does ours, in the same words as before
    both mended          PyTorch gives a result
    the second mended    PyTorch raises T

Where there is no such square the difference is a finding. To mend is to leave an argument out, or to put in its place
one that is drawn as fitting ones are, or a simpler one; how many are tried is bounded, and they depend on the call
alone. A tensor's dtype and its layout, say, are mended by themselves: one tensor may have two faults.

Of a call on meta tensors PyTorch asks other code than its kernels, with classes of errors of its own; ours has one
check for both. That it raises what the kernels raise, or takes what they take, is shown by the same call on the CPU.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

from benchmarks.fuzz.arguments import fitting
from benchmarks.fuzz.judge import normal
from benchmarks.fuzz.outcome import Outcome, Raised, Returned
from benchmarks.fuzz.program import Argument, Call
from benchmarks.fuzz.sameness import difference
from benchmarks.fuzz.values import AliasValue, TensorValue, Value

__all__ = ["are_both_right", "fits_the_kernel"]

MENDS = 20  # values that are tried in an argument's place
EVERYWHERE = -1  # the place of a mend of all tensors
GONE_ON = 6  # calls without the first fault that a second one is looked for in

Make = Callable[[Sequence[Call]], list[tuple[Outcome, Outcome | None]]]


@dataclass(frozen=True)
class Mend:
    """What is done at an argument's place, or at all: it is replaced, or left out, or fields of tensors are."""

    place: int
    argument: Argument | None = None
    fields: tuple[tuple[str, Any], ...] = ()

    def is_apart_from(self, other: Mend) -> bool:
        """Whether the two mend different things, so that both may be done."""
        mine, others = dict(self.fields), dict(other.fields)
        if self.place != other.place:
            return EVERYWHERE not in (self.place, other.place) or not mine.keys() & others.keys()
        return bool(mine and others) and not mine.keys() & others.keys()

    def done(self, arguments: Mapping[int, Argument]) -> Mapping[int, Argument]:
        """The arguments, mended."""
        if self.place == EVERYWHERE:
            return {place: _with_fields(argument, self.fields) for place, argument in arguments.items()}
        if self.fields:
            return {**arguments, self.place: _with_fields(arguments[self.place], self.fields)}
        rest = {place: argument for place, argument in arguments.items() if place != self.place}
        return rest if self.argument is None else {**rest, self.place: self.argument}


def _with_fields(argument: Argument, fields: tuple[tuple[str, Any], ...]) -> Argument:
    """An argument that is a tensor with other fields; one that is none as it is."""
    there = argument.value
    return replace(argument, value=replace(there, **dict(fields))) if isinstance(there, TensorValue) else argument


def are_both_right(call: Call, ours: Outcome, theirs: Outcome | None, make: Make) -> bool:
    """Whether what ours tells is a fault for PyTorch, too, and of that class; ``make`` makes calls."""
    if not isinstance(ours, Raised) or not isinstance(theirs, Raised) or ours.making or theirs.making:
        return False
    return _is_the_kernels(call, ours, make) or _have_two_faults(call, ours, theirs, make)


def fits_the_kernel(call: Call, make: Make) -> bool:
    """Whether PyTorch refuses on meta alone what both take on the CPU, and give the same."""
    if "meta" not in call.devices():
        return False
    ((ours, theirs),) = make([call.moved("meta", "cpu")])
    return isinstance(ours, Returned) and isinstance(theirs, Returned) and difference(ours.value, theirs.value) is None


def _is_the_kernels(call: Call, ours: Raised, make: Make) -> bool:
    if "meta" not in call.devices():
        return False
    return any(_tell_the_same(ours, *found) for found in make([call.moved("meta", "cpu")]))


def _have_two_faults(call: Call, ours: Raised, theirs: Raised, make: Make) -> bool:
    mends = list(_mends(call))
    outcomes = make([_mended(call, mend) for mend in mends])
    firsts = [mend for mend, found in zip(mends, outcomes, strict=True) if _tell_the_same(ours, *found)]
    return any(_ends_square(call, first, mends, theirs, make) for first in firsts[:GONE_ON])


def _tell_the_same(before: Raised, ours: Outcome, theirs: Outcome | None) -> bool:
    """Whether ours tells what it told before, and PyTorch raises that class."""
    if not isinstance(ours, Raised) or not isinstance(theirs, Raised) or ours.making or theirs.making:
        return False
    return (ours.bases, normal(ours.message)) == (before.bases, normal(before.message)) and ours.is_of_class(theirs)


def _ends_square(call: Call, first: Mend, mends: Sequence[Mend], theirs: Raised, make: Make) -> bool:
    """Whether there is a second mend that ends all errors, and that by itself leaves PyTorch's first one."""
    seconds = [mend for mend in mends if mend.is_apart_from(first)]
    both = make([_mended(call, first, second) for second in seconds])
    seconds = [mend for mend, (_, other) in zip(seconds, both, strict=True) if isinstance(other, Returned)]
    alone = make([_mended(call, second) for second in seconds])
    return any(isinstance(other, Raised) and other.bases == theirs.bases for _, other in alone)


def _mended(call: Call, *mends: Mend) -> Call:
    arguments: Mapping[int, Argument] = dict(enumerate(call.arguments))
    for mend in mends:
        arguments = mend.done(arguments)
    return replace(call, arguments=tuple(arguments[place] for place in sorted(arguments)))


def _mends(call: Call) -> Iterator[Mend]:
    """What may be done to each argument, and to all tensors: several that have to be of one dtype have one fault."""
    yield Mend(EVERYWHERE, fields=(("dtype", "float32"),))
    for place, argument in enumerate(call.arguments):
        if _may_be_left_out(call, place):
            yield Mend(place)
        for value in islice(_values(call, place), MENDS):
            fields = _changed(argument.value, value)
            yield Mend(place, fields=fields) if fields else Mend(place, replace(argument, value=value))


def _changed(before: Value, after: Value) -> tuple[tuple[str, Any], ...]:
    """In what one tensor differs from another; nothing, where one is none."""
    if not isinstance(before, TensorValue) or not isinstance(after, TensorValue):
        return ()
    old, new = vars(before), vars(after)
    return tuple((name, new[name]) for name in new if new[name] != old[name])


def _may_be_left_out(call: Call, place: int) -> bool:
    """Whether no other argument would come in its place."""
    if place == 0 and call.has_owner:
        return False
    if any(isinstance(argument.value, AliasValue) for argument in call.arguments):
        return False
    return call.arguments[place].name is not None or all(later.name for later in call.arguments[place + 1 :])


def _values(call: Call, place: int) -> Iterator[Value]:
    """Different values to put in an argument's place."""
    there = call.arguments[place].value
    found = chain(fitting(call, place, random.Random(place)), there.simpler())
    return iter(dict.fromkeys(value for value in found if value != there))
