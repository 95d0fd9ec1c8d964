"""Which change of a schema breaks callers or saved programs, by PyTorch's rules of backward compatibility.

A saved program names an operator and overload, and passes arguments by position; a caller may pass them by name. So
what was there must stay where it was, under its name, with its default; what is new comes behind, with a default.
"""

from __future__ import annotations

from collections.abc import Iterator

import opschema
from mtcodegen.findings.codes import Code
from mtcodegen.system.values import dataclass
from opschema import Argument, Default, Return, Schema, Type

__all__ = ["Break", "breaks", "takes"]


@dataclass(frozen=True)
class Break:
    """A change that breaks: ``argument`` is the name in the new schema that it is about, "" where it is none."""

    code: Code
    message: str
    hint: str = ""
    argument: str = ""


def breaks(old: Schema, new: Schema) -> list[Break]:
    """Everything about ``new`` that fails what was written for ``old``, as PyTorch's own check has it.

    That check lets two things pass that do fail callers: a new argument for results, which it does not look at, and
    `ScalarType` for `int` and the like, because its saved programs hold both as numbers.
    """
    return [*_arguments(old, new), *_outs(old, new), *_returns(old, new)]


def takes(new: Type, old: Type) -> bool:
    """Whether every value of the type ``old`` is one of ``new``."""
    if new == old:
        return True
    if isinstance(new, opschema.OptionalType):
        return takes(new.elem, old.elem if isinstance(old, opschema.OptionalType) else old)
    if isinstance(new, opschema.ListType) and isinstance(old, opschema.ListType):
        return _plain_name(new.elem) == _plain_name(old.elem) and new.size == old.size
    return isinstance(new, opschema.BaseType) and isinstance(old, opschema.BaseType) and _is_wider(new.name, old.name)


_NUMBERS = ("int", "float", "complex", "SymInt")


def _is_wider(new: str, old: str) -> bool:
    return _plain_name(new) == _plain_name(old) or (new == "Scalar" and old in _NUMBERS)


def _plain_name(type_: Type | str) -> str:
    """A program that is saved knows no difference between `int` and `SymInt`."""
    return str(type_).replace("SymInt", "int")


# ---------------------------------------------------------------- arguments


def _plain(schema: Schema) -> list[Argument]:
    """The arguments before those that receive results."""
    out = set(schema.out_arguments)
    return [argument for argument in schema.arguments if argument not in out]


def _arguments(old: Schema, new: Schema) -> Iterator[Break]:
    before, after = _plain(old), _plain(new)
    places = {argument.name: i for i, argument in enumerate(after)}
    names = {argument.name for argument in before}
    for i, was in enumerate(before):
        if was.name in places:
            if places[was.name] != i:
                hint = f"put it back to position {i + 1}, and new arguments behind the old ones"
                message = f"`{was.name}` was argument {i + 1} and is {places[was.name] + 1}"
                yield Break(Code.MT706, message, hint, was.name)
            yield from _argument(was, after[places[was.name]])
        elif i < len(after) and after[i].name not in names:
            hint = f"keep the name `{was.name}`"
            yield Break(Code.MT707, f"`{was.name}` is `{after[i].name}` now", hint, after[i].name)
            yield from _argument(was, after[i])
        else:
            yield Break(Code.MT702, f"`{was.name}` is gone", "keep it, or declare a new overload")
    for i, argument in enumerate(after):
        is_renamed = i < len(before) and before[i].name not in places
        if argument.name not in names and not is_renamed and not argument.has_default:
            hint = "give it a default, or declare a new overload"
            yield Break(Code.MT703, f"`{argument.name}` is new and has no default", hint, argument.name)


def _argument(was: Argument, now: Argument) -> Iterator[Break]:
    if not takes(now.type, was.type):
        hint = "take what was taken before, or declare a new overload"
        yield Break(Code.MT705, f"`{now.name}` was {was.type} and is {now.type}", hint, now.name)
    if was.has_default and not now.has_default:
        yield Break(Code.MT704, f"`{now.name}` had the default {was.default} and has none", "keep it", now.name)
    elif was.has_default and not _is_same(was.default_value, now.default_value):
        hint = f"keep {was.default}, or declare a new overload"
        yield Break(Code.MT704, f"the default of `{now.name}` was {was.default} and is {now.default}", hint, now.name)
    if now.kwarg_only and not was.kwarg_only:
        yield Break(Code.MT708, f"`{now.name}` is keyword-only now", "leave it before the `*`", now.name)
    yield from _alias(f"`{now.name}`", was, now, now.name)


def _is_same(was: Default, now: Default) -> bool:
    """Whether two defaults are one: a `Scalar` that is 1.0 makes another dtype than one that is 1."""
    if isinstance(was, list) and isinstance(now, list):
        return len(was) == len(now) and all(map(_is_same, was, now))
    return type(was) is type(now) and was == now


def _alias(what: str, was: Argument | Return, now: Argument | Return, name: str) -> Iterator[Break]:
    if was.alias == now.alias:
        return
    before, after = (
        f"`{str(item).removesuffix(f' {item.name}') if item.name else item}`"
        if item.alias is not None
        else "unannotated"
        for item in (was, now)
    )
    hint = "declare another operator for the other behaviour"
    yield Break(Code.MT710, f"{what} was {before} and is {after}", hint, name)


def _outs(old: Schema, new: Schema) -> Iterator[Break]:
    before, after = old.out_arguments, new.out_arguments
    for i, was in enumerate(before):
        if i >= len(after):
            yield Break(Code.MT702, f"`{was.name}` is gone", "keep it, or declare a new overload")
        elif after[i].name != was.name:
            yield Break(
                Code.MT707, f"`{was.name}` is `{after[i].name}` now", f"keep the name `{was.name}`", after[i].name
            )
        else:
            yield from _argument(was, after[i])
    for now in after[len(before) :]:
        if not now.has_default:
            yield Break(Code.MT703, f"`{now.name}` is new and has no default", "declare a new overload", now.name)


# ---------------------------------------------------------------- returns


def _returns(old: Schema, new: Schema) -> Iterator[Break]:
    hint = "return what was returned, or declare a new overload"
    if len(old.returns) != len(new.returns):
        yield Break(Code.MT709, f"{_count(old)} returned before, and {_count(new)} now", hint)
        return
    for i, (was, now) in enumerate(zip(old.returns, new.returns, strict=True)):
        what = "the return" if len(old.returns) == 1 else f"return {i}"
        if not takes(was.type, now.type):  # a caller may get less, never more
            yield Break(Code.MT709, f"{what} was {was.type} and is {now.type}", hint)
        if was.name != now.name:
            before, after = (f"named `{item.name}`" if item.name else "unnamed" for item in (was, now))
            yield Break(Code.MT709, f"{what} was {before} and is {after}", "keep the name")
        yield from _alias(what, was, now, "")


def _count(schema: Schema) -> str:
    number = len(schema.returns)
    return "1 value is" if number == 1 else f"{number} values are"
