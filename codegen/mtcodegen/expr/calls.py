"""How the arguments of a call fit the parameters of a helper or an operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import opschema
from mtcodegen.diagnostics import suggest
from mtcodegen.expr.errors import ExpressionError
from mtcodegen.expr.functions import Signature
from mtcodegen.expr.nodes import Call, Expr, Keyword, Starred
from mtcodegen.expr.types import INT, NONE, Kind, ValueType, accepts, value_type

__all__ = ["Arguments", "fit_helper", "fit_operator", "operator_result"]


@dataclass(frozen=True)
class Arguments:
    """A call with the types of its arguments. ``receiver`` is the tensor of a method call, else None."""

    call: Call
    positional: tuple[ValueType, ...]
    keywords: tuple[ValueType, ...]
    receiver: ValueType | None = None

    @property
    def has_star(self) -> bool:
        """Whether the number of arguments is known only when it runs."""
        return any(isinstance(argument, Starred) for argument in self.call.arguments)

    @property
    def has_tensor(self) -> bool:
        """Whether any argument is a tensor or holds tensors."""
        return any(type_.has_tensor for type_ in (*self.positional, *self.keywords))

    def __str__(self) -> str:
        receiver = [str(self.receiver)] if self.receiver else []
        named = zip(self.call.keywords, self.keywords, strict=True)
        keywords = [f"{keyword.name}: {type_}" for keyword, type_ in named]
        return f"({', '.join([*receiver, *map(str, self.positional), *keywords])})"


def fit_helper(name: str, signature: Signature, arguments: Arguments) -> list[ExpressionError]:
    """The faults of a call of a helper; none where it fits."""
    call = arguments.call
    if call.keywords:
        first = call.keywords[0]
        return [_fault(f"`{name}` takes no keyword arguments", first, "MT207")]
    if arguments.has_star:
        return []
    wanted, given = len(signature.parameters), len(arguments.positional)
    if _is_list_of_numbers(signature, arguments.positional):
        return []
    if given < wanted or (given > wanted and signature.rest is None):
        least = "at least " if signature.rest else ""
        plural = "" if wanted == 1 else "s"
        return [_fault(f"`{name}` takes {least}{wanted} argument{plural}, not {given}", call, "MT207")]
    parameters = (*signature.parameters, *([signature.rest] if signature.rest else []) * (given - wanted))
    faults = []
    for parameter, actual, node in zip(parameters, arguments.positional, call.arguments, strict=True):
        if not accepts(parameter, actual):
            faults.append(wrong_type(f"an argument of `{name}`", parameter, actual, node))
    return faults


def _is_list_of_numbers(signature: Signature, given: Sequence[ValueType]) -> bool:
    """``min`` and ``max`` of one list."""
    return (
        signature.rest is not None
        and signature.rest.is_number
        and len(given) == 1
        and given[0].kind is Kind.LIST
        and given[0].element.is_number
    )


def fit_operator(schema: opschema.Schema, arguments: Arguments) -> list[ExpressionError]:
    """The faults of a call of an operator; none where it fits."""
    if arguments.has_star:
        return []
    call = arguments.call
    faults: list[ExpressionError] = []
    given: list[tuple[ValueType, Expr]] = list(zip(arguments.positional, call.arguments, strict=True))
    if arguments.receiver is not None:
        given.insert(0, (arguments.receiver, call.function))
    taken = _fit_positional(schema, given, call, faults)
    for keyword, type_ in zip(call.keywords, arguments.keywords, strict=True):
        _fit_keyword(schema, keyword, type_, taken, faults)
    for parameter in schema.arguments:
        if not parameter.has_default and parameter.name not in taken:
            faults.append(_fault(f"{_title(schema)} needs argument `{parameter.name}`", call, "MT207", _usage(schema)))
    return faults


def _fit_positional(
    schema: opschema.Schema, given: list[tuple[ValueType, Expr]], call: Call, faults: list[ExpressionError]
) -> set[str]:
    parameters = schema.positional
    taken: set[str] = set()
    for i, (type_, node) in enumerate(given):
        if i >= len(parameters):
            message = f"{_title(schema)} takes at most {len(parameters)} positional arguments, not {len(given)}"
            faults.append(_fault(message, node, "MT207", _usage(schema)))
            break
        parameter = parameters[i]
        taken.add(parameter.name)
        if _is_spread(parameter, [type_ for type_, _ in given[i:]]):
            break
        _fit_one(schema, parameter, type_, node, faults)
    return taken


def _is_spread(parameter: opschema.Argument, rest: Sequence[ValueType]) -> bool:
    """``x.permute(1, 0)``: the integers that remain are one list."""
    return value_type(parameter.type).required == ValueType.list_of(INT) and all(
        type_.kind is Kind.INT and not type_.optional for type_ in rest
    )


def _fit_keyword(
    schema: opschema.Schema, keyword: Keyword, type_: ValueType, taken: set[str], faults: list[ExpressionError]
) -> None:
    parameter = next((argument for argument in schema.arguments if argument.name == keyword.name), None)
    if parameter is None:
        hint = suggest(keyword.name, [argument.name for argument in schema.arguments]) or _usage(schema)
        faults.append(_fault(f"{_title(schema)} has no argument `{keyword.name}`", keyword, "MT207", hint))
    elif parameter.name in taken:
        faults.append(_fault(f"{_title(schema)} gets argument `{parameter.name}` twice", keyword, "MT207"))
    else:
        taken.add(parameter.name)
        _fit_one(schema, parameter, type_, keyword.value, faults)


def _fit_one(
    schema: opschema.Schema, parameter: opschema.Argument, actual: ValueType, node: Expr, faults: list[ExpressionError]
) -> None:
    expected = value_type(parameter.type)
    if accepts(expected, actual) or (_sized(parameter.type) and accepts(expected.element, actual)):
        return
    faults.append(wrong_type(f"argument `{parameter.name}` of {_title(schema)}", expected, actual, node))


def _sized(type_: opschema.Type) -> bool:
    if isinstance(type_, opschema.OptionalType):
        return _sized(type_.elem)
    return isinstance(type_, opschema.ListType) and type_.size is not None


def wrong_type(what: str, expected: ValueType, actual: ValueType, node: Expr) -> ExpressionError:
    """The fault that a value of type ``actual`` stands where ``expected`` is wanted."""
    if actual.optional and accepts(expected, actual.required):
        hint = "test `is not None` first"
        return _fault(f"{what} must be {expected}, and this may be None", node, "MT212", hint)
    return _fault(f"{what} must be {expected}, not {actual}", node, "MT208")


def operator_result(schema: opschema.Schema) -> ValueType:
    """The type of what an operator returns."""
    types = [value_type(ret.type) for ret in schema.returns]
    if len(types) == 1:
        return types[0]
    return ValueType.tuple_of(types) if types else NONE


def _title(schema: opschema.Schema) -> str:
    return schema.qualname


def _usage(schema: opschema.Schema) -> str:
    return f"it is {schema}"


def _fault(message: str, node: Expr, code: str, hint: str | None = None) -> ExpressionError:
    return ExpressionError(message, node.offset, node.length, hint, code)
