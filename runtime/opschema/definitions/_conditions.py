"""Conditions in words: ``x.dim() == 2`` is "x to have 2 dimensions", for every runtime of definitions the same.

What is written out are the steps of expressions: each has a name, operands, and what it is the step of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

__all__ = ["Step", "expectation", "names_of", "otherwise", "text_of"]


class Step(Protocol):
    """A value that is computed of others."""

    @property
    def step(self) -> str:
        """What is done: ``add``, ``shape_of``, ``const``."""

    @property
    def args(self) -> Sequence[Any]:
        """The operands: steps, or None where there is none."""

    @property
    def what(self) -> Any:
        """Of a constant its value, of an item its number, of a name a tuple that begins with it."""

    def spelled(self, operands: Sequence[str]) -> str:
        """How a step is written that is not in the tables here, such as the call of an operator."""


_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "eq": "==", "lt": "<", "le": "<=",
    "and": "and", "or": "or", "same_sizes": "==", "equal": "==", "concat": "+",
}  # fmt: skip
_FORMS = {
    "shape_of": "{}.shape", "dtype": "{}.dtype", "numel": "{}.numel()", "ndim": "{}.dim()", "size": "{}.size({})",
    "contiguous": "{}.contiguous()", "is_contiguous": "{}.is_contiguous()", "device": "{}.device",
    "same_shape": "{}.shape == {}.shape", "size_at": "{}[{}]", "count": "{}.numel()", "length": "{}.rank()",
    "is_none": "{} is None", "is_floating": "{}.is_floating_point", "not": "not ({})", "neg": "-{}", "fneg": "-{}",
    "to_float": "{}", "float": "{}", "ceildiv": "ceil_div({}, {})", "min": "minimum({}, {})", "max": "maximum({}, {})",
    "fmin": "minimum({}, {})", "fmax": "maximum({}, {})", "promote": "promote_types({}, {})", "like": "like({})",
    "like_as": "like({}, {})", "empty": "empty({}, {}, {})", "broadcast_like": "broadcast({}, {})",
    "is_complex": "{}.is_complex", "is_signed": "{}.is_signed", "itemsize": "{}.itemsize", "device_type": "{}.type",
    "device_index": "{}.index", "requires_grad": "{}.requires_grad", "transposed": "{}.T", "matrix_transposed": "{}.mT",
    "stride": "{}.stride()", "stride_at": "{}.stride({})", "storage_offset": "{}.storage_offset()", "at": "{}[{}]",
    "items": "{}.rank()", "joined": "{} + {}", "contains": "{1} in {0}",
}  # fmt: skip
_SHOWN_IN = ("eq", "equal", "feq", "fle", "flt", "le", "lt", "not", "same_sizes")  # by their operands
_PARTIAL = (
    "at",
    "ceildiv",
    "div",
    "fdiv",
    "floordiv",
    "item",
    "mod",
    "python",
    "size",
    "size_at",
    "stride_at",
)  # of some operands


# ---------------------------------------------------------------- expressions
def text_of(value: Step | None) -> str:
    """The expression of a step."""
    if value is None:
        return "None"
    step, operands = value.step, [text_of(a) for a in value.args]
    if step in ("arg", "grad", "output"):
        return str(value.what[0])
    if step == "const":
        return repr(value.what)
    sign = _SIGNS.get(step) or (_SIGNS.get(step[1:]) if step.startswith("f") else None)
    if sign is not None and len(operands) == 2:
        left, right = (f"({t})" if _is_composed(a) else t for t, a in zip(operands, value.args, strict=True))
        return f"{left} {sign} {right}"
    if step in _FORMS:
        return _FORMS[step].format(*operands)
    if step in ("shape", "list"):
        return f"[{', '.join(operands)}]"
    if step == "slice":
        first, last = ("" if a is None else t for a, t in zip(value.args[1:], operands[1:], strict=True))
        return f"{operands[0]}[{first}:{last}]"
    return f"{operands[0]}[{value.what}]" if step == "item" else value.spelled(operands)


def _is_composed(value: Step | None) -> bool:
    return value is not None and (value.step in _SIGNS or value.step.removeprefix("f") in _SIGNS)


def names_of(condition: Step, value_of: Callable[[Any], Any]) -> list[tuple[str, Any]]:
    """What an error about a condition shows the values of: its operands, down to what has a value of its own.

    Each by its text, with the step itself; of tensors that are to have one shape, their shapes are shown. Behind an
    operand of ``and`` or ``or`` that settles it, what may have no value is not asked for one.
    """
    operands = [a for a in condition.args if a is not None]
    if condition.step in ("and", "or"):
        first, second = operands
        names = names_of(first, value_of)
        if bool(value_of(first)) is (condition.step == "and"):
            return names + names_of(second, value_of)
        return names + [pair for pair in names_of(second, lambda _: True) if not _is_partial(pair[1])]
    if condition.step == "same_shape":
        return [(f"{text_of(a)}.shape", a.shape) for a in operands]
    if condition.step in _SHOWN_IN:
        return [name for a in operands for name in names_of(a, value_of)]
    if condition.step in ("dtype_in", "is_floating", "on_device", "can_cast", "is_none", "to_float"):
        return [(text_of(a), a) for a in operands]
    return [] if condition.step == "const" else [(text_of(condition), condition)]


def _is_partial(value: Step | None) -> bool:
    """Whether there may be no value: sizes of dimensions that there may not be, divisions by zero."""
    return value is not None and (value.step in _PARTIAL or any(map(_is_partial, value.args)))


# ---------------------------------------------------------------- sentences
_WORDS = {"lt": "to be less than {}", "le": "to be at most {}"}
_MIRRORED = {"lt": "to be greater than {}", "le": "to be at least {}"}
_OPPOSITE = {"lt": _MIRRORED["le"], "le": _MIRRORED["lt"]}  # but for NaN
_MIRRORED_OPPOSITE = {"lt": _WORDS["le"], "le": _WORDS["lt"]}
_COMPARING = ("less", "greater", "at")
_EQUAL = ("eq", "feq", "equal", "same_sizes")


def expectation(condition: Step) -> str:
    """A condition, to be read after "expected"."""
    said = _said(condition)
    subjects = list(dict.fromkeys(subject for subject, _ in said))
    if len(subjects) == 1:
        return " ".join(filter(None, (subjects[0], " or ".join(predicate for _, predicate in said if predicate))))
    return ", or ".join(" ".join(filter(None, pair)) for pair in said)


def otherwise(known: Mapping[Any, bool]) -> str:
    """What is expected where conditions must not all be answered like this, to be read after "expected"."""
    said = [pair for condition, answer in known.items() for pair in (_denied if answer else _said)(condition)]
    return ", or ".join(" ".join(filter(None, pair)) for pair in said) or "no call"


def _said(condition: Step) -> list[tuple[str, str]]:
    """Subjects and predicates, of which one is to hold."""
    step = condition.step
    operands = [operand for operand in condition.args if operand is not None]
    if step == "or":
        return _any([pair for operand in operands for pair in _said(operand)])
    if step == "and":
        return [_both(*operands)]
    if step == "same_shape":
        return [(f"{text_of(operands[0])} and {text_of(operands[1])}", "to have the same shape")]
    if step == "dtype_in":
        return [(text_of(operands[0]), f"to be one of {_choices(condition)}")]
    if step == "is_none":
        return [(text_of(operands[0]), "to be None")]
    if step in _EQUAL:
        return [_equal(*operands)]
    if step.removeprefix("f") in _WORDS:
        return [_ordered(step.removeprefix("f"), operands[0], operands[1], _WORDS, _MIRRORED)]
    return _denied(operands[0]) if step == "not" else [(text_of(condition), "to be True")]


def _any(said: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Values of which a subject has one."""
    subjects, plain = {subject for subject, _ in said}, [p.partition("to be ")[2] for _, p in said]
    simple = len(subjects) == 1 and all(v and v.partition(" ")[0] not in _COMPARING for v in plain)
    return [(said[0][0], f"to be one of {', '.join(v.removeprefix('one of ') for v in plain)}")] if simple else said


def _denied(condition: Step) -> list[tuple[str, str]]:
    """What the opposite of a condition says."""
    step = condition.step.removeprefix("f")
    operands = [operand for operand in condition.args if operand is not None]
    if step in _WORDS:
        return [_ordered(step, operands[0], operands[1], _OPPOSITE, _MIRRORED_OPPOSITE)]
    if step == "dtype_in":
        return [(text_of(operands[0]), f"to be none of {_choices(condition)}")]
    if step == "is_none":
        return [(text_of(operands[0]), "not to be None")]
    if condition.step in _EQUAL or step == "same_shape":
        first, second = (f"{text_of(o)}.shape" if step == "same_shape" else text_of(o) for o in operands)
        return [(first, f"not to be {second}" if operands[1].step == "const" else f"to differ from {second}")]
    return [(text_of(condition), "to be False")]


def _choices(condition: Step) -> str:
    """The dtypes that a condition asks for: ``one_of(x.dtype, a, b)``."""
    return text_of(condition)[:-1].partition(", ")[2]


def _both(first: Step, second: Step) -> tuple[str, str]:
    """Two conditions that must both hold: those of one subject have it once."""
    (subject, predicate), *more = _said(first)
    (other, rest), *others = _said(second)
    if subject == other and not more and not others:
        return subject, f"{predicate} and {rest}"
    return f"{expectation(first)} and {expectation(second)}", ""


def _ordered(step: str, first: Step, second: Step, words: dict[str, str], mirrored: dict[str, str]) -> tuple[str, str]:
    """About what may vary: in ``0 < x`` that is x, and in ``-n <= i`` it is i."""
    if first.step in ("const", "neg", "fneg") and second.step != "const":
        return text_of(second), mirrored[step].format(text_of(first))
    return text_of(first), words[step].format(text_of(second))


def _equal(first: Step, second: Step) -> tuple[str, str]:
    if first.step == second.step and first.step in ("dtype", "device"):
        one, other = (text_of(symbol.args[0]) for symbol in (first, second))
        return f"{one} and {other}", f"to have the same {first.step}"
    if second.step != "const":
        constant = second.step == "shape" and all(a is not None and a.step == "const" for a in second.args)
        return text_of(first), f"to be {text_of(second)}" if constant else f"to equal {text_of(second)}"
    if first.step == "ndim":
        return text_of(first.args[0]), f"to have {second.what} dimension{'' if second.what == 1 else 's'}"
    return text_of(first), f"to be {text_of(second)}"
