"""What a condition expects, as a sentence: ``x.dim() == 2`` is "x to have 2 dimensions"."""

from __future__ import annotations

from ._symbols import Symbol
from ._text import text_of

__all__ = ["expectation"]

_WORDS = {"lt": "to be less than {}", "le": "to be at most {}"}
_MIRRORED = {"lt": "to be greater than {}", "le": "to be at least {}"}
_OPPOSITE = {"lt": _MIRRORED["le"], "le": _MIRRORED["lt"]}  # but for NaN
_MIRRORED_OPPOSITE = {"lt": _WORDS["le"], "le": _WORDS["lt"]}
_COMPARING = ("less", "greater", "at")
_EQUAL = ("eq", "feq", "equal", "same_sizes")


def expectation(condition: Symbol) -> str:
    """A condition, to be read after "expected"."""
    said = _said(condition)
    subjects = list(dict.fromkeys(subject for subject, _ in said))
    if len(subjects) == 1:
        return " ".join(filter(None, (subjects[0], " or ".join(predicate for _, predicate in said if predicate))))
    return ", or ".join(" ".join(filter(None, pair)) for pair in said)


def _said(condition: Symbol) -> list[tuple[str, str]]:
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
        return [(text_of(operands[0]), f"to be one of {text_of(condition)[:-1].partition(', ')[2]}")]
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


def _denied(condition: Symbol) -> list[tuple[str, str]]:
    """What the opposite of a condition says."""
    step = condition.step.removeprefix("f")
    operands = [operand for operand in condition.args if operand is not None]
    if step in _WORDS:
        return [_ordered(step, operands[0], operands[1], _OPPOSITE, _MIRRORED_OPPOSITE)]
    if condition.step in _EQUAL or step == "same_shape":
        first, second = (f"{text_of(o)}.shape" if step == "same_shape" else text_of(o) for o in operands)
        return [(first, f"not to be {second}" if operands[1].step == "const" else f"to differ from {second}")]
    return [(text_of(condition), "to be False")]


def _both(first: Symbol, second: Symbol) -> tuple[str, str]:
    """Two conditions that must both hold: those of one subject have it once."""
    (subject, predicate), *more = _said(first)
    (other, rest), *others = _said(second)
    if subject == other and not more and not others:
        return subject, f"{predicate} and {rest}"
    return f"{expectation(first)} and {expectation(second)}", ""


def _ordered(
    step: str, first: Symbol, second: Symbol, words: dict[str, str], mirrored: dict[str, str]
) -> tuple[str, str]:
    """About what may vary: in ``0 < x`` that is x, and in ``-n <= i`` it is i."""
    if first.step in ("const", "neg", "fneg") and second.step != "const":
        return text_of(second), mirrored[step].format(text_of(first))
    return text_of(first), words[step].format(text_of(second))


def _equal(first: Symbol, second: Symbol) -> tuple[str, str]:
    if first.step == second.step and first.step in ("dtype", "device"):
        one, other = (text_of(symbol.args[0]) for symbol in (first, second))
        return f"{one} and {other}", f"to have the same {first.step}"
    if second.step != "const":
        constant = second.step == "shape" and all(a is not None and a.step == "const" for a in second.args)
        return text_of(first), f"to be {text_of(second)}" if constant else f"to equal {text_of(second)}"
    if first.step == "ndim":
        return text_of(first.args[0]), f"to have {second.what} dimension{'' if second.what == 1 else 's'}"
    return text_of(first), f"to be {text_of(second)}"
