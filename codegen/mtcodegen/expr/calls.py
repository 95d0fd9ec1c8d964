"""How the arguments of a call fit the parameters of a helper or an operator."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import opschema
from mtcodegen.expr.errors import ExpressionError
from mtcodegen.expr.functions import Signature
from mtcodegen.expr.nodes import Call, Expr, Keyword, Starred
from mtcodegen.expr.types import NONE, SHAPE, Kind, ValueType, accepts, value_type
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import suggest
from mtcodegen.system.values import dataclass

__all__ = ["Arguments", "OperatorSignature", "fit_helper", "fit_operator", "signature_of"]


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
    def count(self) -> int:
        """How many there are by position, the receiver among them."""
        return len(self.positional) + (self.receiver is not None)

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
        return [_fault(f"`{name}` takes no keyword arguments", first, Code.MT223)]
    if arguments.has_star:
        return []
    wanted, given = len(signature.parameters), len(arguments.positional)
    if _is_list_of_numbers(signature, arguments.positional):
        return []
    if given < wanted or (given > wanted and signature.rest is None):
        least = "at least " if signature.rest else ""
        plural = "" if wanted == 1 else "s"
        return [_fault(f"`{name}` takes {least}{wanted} argument{plural}, not {given}", call, Code.MT207)]
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


@dataclass(frozen=True, slots=True)
class Parameter:
    """What an operator takes in one place. A value of type ``element`` may stand for a list of fixed size."""

    name: str
    type: ValueType
    element: ValueType | None
    position: float  # infinite where it cannot be given by position
    has_default: bool
    takes_rest: bool  # the integers from here on may be one list, as in `x.permute(1, 0)`


@dataclass(frozen=True, slots=True)
class OperatorSignature:
    """The parameters of an operator by name, what a call must and cannot have, and what it returns."""

    by_name: Mapping[str, Parameter]
    positional: tuple[Parameter, ...]
    required: tuple[Parameter, ...]
    least: float  # arguments by position, where none are given by name
    most: float
    result: ValueType

    def may_fit(self, arguments: Arguments) -> bool:
        """Whether the number of arguments is right, and their names are: then it is worth looking at types."""
        given = arguments.count
        if not arguments.call.keywords:
            return self.least <= given <= self.most
        names = {keyword.name for keyword in arguments.call.keywords}
        if given > self.most or not names <= self.by_name.keys():
            return False
        return all(parameter.position < given or parameter.name in names for parameter in self.required)


def signature_of(schema: opschema.Schema) -> OperatorSignature:
    """How expressions call an operator."""
    listed = [_parameter(argument, i) for i, argument in enumerate(schema.arguments)]
    positional = tuple(parameter for parameter in listed if parameter.position < math.inf)
    required = tuple(parameter for parameter in listed if not parameter.has_default)
    return OperatorSignature(
        {parameter.name: parameter for parameter in listed},
        positional,
        required,
        1 + max((parameter.position for parameter in required), default=-1),
        math.inf if any(parameter.takes_rest for parameter in positional) else len(positional),
        _result(schema),
    )


def _parameter(argument: opschema.Argument, position: int) -> Parameter:
    type_ = value_type(argument.type)
    return Parameter(
        argument.name,
        type_,
        type_.element if _sized(argument.type) else None,
        math.inf if argument.kwarg_only else position,
        argument.has_default,
        type_.required == SHAPE,
    )


def fit_operator(schema: opschema.Schema, signature: OperatorSignature, arguments: Arguments) -> list[ExpressionError]:
    """The faults of a call of an operator; none where it fits. The number of arguments is known."""
    call = arguments.call
    faults: list[ExpressionError] = []
    taken = _fit_positional(schema, signature.positional, arguments, faults)
    for keyword, type_ in zip(call.keywords, arguments.keywords, strict=True):
        _fit_keyword(schema, signature.by_name, keyword, type_, taken, faults)
    for parameter in signature.required:
        if parameter.name not in taken:
            faults.append(
                _fault(f"{schema.qualname} needs argument `{parameter.name}`", call, Code.MT222, _usage(schema))
            )
    return faults


def _fit_positional(
    schema: opschema.Schema, parameters: Sequence[Parameter], arguments: Arguments, faults: list[ExpressionError]
) -> set[str]:
    types: Sequence[ValueType] = arguments.positional
    nodes: Sequence[Expr] = arguments.call.arguments
    if arguments.receiver is not None:
        types, nodes = (arguments.receiver, *types), (arguments.call.function, *nodes)
    taken: set[str] = set()
    for i, type_ in enumerate(types):
        if i >= len(parameters):
            message = f"{schema.qualname} takes at most {len(parameters)} positional arguments, not {len(types)}"
            faults.append(_fault(message, nodes[i], Code.MT207, _usage(schema)))
            break
        parameter = parameters[i]
        taken.add(parameter.name)
        if parameter.takes_rest and all(rest.kind is Kind.INT and not rest.optional for rest in types[i:]):
            break
        _fit_one(schema, parameter, type_, nodes[i], faults)
    return taken


def _fit_keyword(
    schema: opschema.Schema,
    parameters: Mapping[str, Parameter],
    keyword: Keyword,
    type_: ValueType,
    taken: set[str],
    faults: list[ExpressionError],
) -> None:
    parameter = parameters.get(keyword.name)
    if parameter is None:
        hint = suggest(keyword.name, parameters) or _usage(schema)
        faults.append(_fault(f"{schema.qualname} has no argument `{keyword.name}`", keyword, Code.MT223, hint))
    elif parameter.name in taken:
        faults.append(_fault(f"{schema.qualname} gets argument `{parameter.name}` twice", keyword, Code.MT224))
    else:
        taken.add(parameter.name)
        _fit_one(schema, parameter, type_, keyword.value, faults)


def _fit_one(
    schema: opschema.Schema, parameter: Parameter, actual: ValueType, node: Expr, faults: list[ExpressionError]
) -> None:
    expected, element = parameter.type, parameter.element
    if accepts(expected, actual) or (element is not None and accepts(element, actual)):
        return
    faults.append(wrong_type(f"argument `{parameter.name}` of {schema.qualname}", expected, actual, node))


def _sized(type_: opschema.Type) -> bool:
    if isinstance(type_, opschema.OptionalType):
        return _sized(type_.elem)
    return isinstance(type_, opschema.ListType) and type_.size is not None


def wrong_type(
    what: str, expected: ValueType, actual: ValueType, node: Expr, hint: str | None = None
) -> ExpressionError:
    """The fault that a value of type ``actual`` stands where ``expected`` is wanted."""
    if actual.optional and accepts(expected, actual.required):
        hint = "test `is not None` first"
        return _fault(f"{what} must be {expected}, and this may be None", node, Code.MT212, hint)
    return _fault(f"{what} must be {expected}, not {actual}", node, Code.MT208, hint)


def _result(schema: opschema.Schema) -> ValueType:
    types = [value_type(ret.type) for ret in schema.returns]
    if len(types) == 1:
        return types[0]
    return ValueType.tuple_of(types) if types else NONE


def _usage(schema: opschema.Schema) -> str:
    return f"it is {schema}"


def _fault(message: str, node: Expr, code: Code, hint: str | None = None) -> ExpressionError:
    return ExpressionError(message, node.offset, node.length, hint, code)
