"""What an expression may name."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import opschema
from mtcodegen.expr.calls import Parameters, parameters_of
from mtcodegen.expr.functions import HELPERS, Purpose, Signature
from mtcodegen.expr.types import POINTER, TENSOR, ValueType, value_type

_RESULT = re.compile(r"result\d*")  # how gradient formulas call an output without a name

__all__ = ["OperatorTable", "Scope", "gradient_names", "output_names", "scope_for", "tangent_scope"]


class OperatorTable(Mapping[str, opschema.Schema]):
    """Schemas by ``ns::name.overload``, with the overloads of one operator together. Build it once a run."""

    def __init__(self, schemas: Mapping[str, opschema.Schema]) -> None:
        self._schemas = dict(schemas)
        self._packets: dict[str, list[opschema.Schema]] = {}
        self._parameters: dict[str, Parameters] = {}
        self.namespaces: set[str] = set()
        for schema in self._schemas.values():
            namespace = schema.namespace or "aten"
            self.namespaces.add(namespace)
            self._packets.setdefault(f"{namespace}::{schema.name}", []).append(schema)

    @classmethod
    def of(cls, schemas: Mapping[str, opschema.Schema]) -> OperatorTable:
        """``schemas`` as a table; a table is returned as it is."""
        return schemas if isinstance(schemas, cls) else cls(schemas)

    def overloads(self, namespace: str, name: str, overload: str = "") -> Sequence[opschema.Schema]:
        """The overloads of an operator, or the one asked for; empty where there is none."""
        found = self._packets.get(f"{namespace}::{name}", [])
        return [schema for schema in found if schema.overload == overload] if overload else found

    def parameters(self, schema: opschema.Schema) -> Parameters:
        """The parameters of one of the operators: formulas call few of them, and those again and again."""
        name = schema.qualname
        found = self._parameters.get(name)
        if found is None:
            found = self._parameters[name] = parameters_of(schema)
        return found

    def names(self) -> list[str]:
        """``ns::name`` of every operator."""
        return list(self._packets)

    def __getitem__(self, key: str) -> opschema.Schema:
        return self._schemas[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._schemas)

    def __len__(self) -> int:
        return len(self._schemas)


@dataclass(frozen=True)
class Scope:
    """The names, helpers and operators that an expression may use.

    ``subject`` is the operator it belongs to (``fused::scaled_add``); ``overwritten`` maps the arguments it mutates to
    the output that has the new value, where there is one.
    """

    names: Mapping[str, ValueType]
    functions: Mapping[str, Signature]
    operators: Mapping[str, opschema.Schema]
    purpose: Purpose
    subject: str = ""
    overwritten: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "operators", OperatorTable.of(self.operators))

    @property
    def table(self) -> OperatorTable:
        """The operators, as a table."""
        return OperatorTable.of(self.operators)

    @property
    def namespace(self) -> str:
        """The namespace in which an operator's bare name is looked up first."""
        return self.subject.partition("::")[0] if "::" in self.subject else ""


def scope_for(
    schema: opschema.Schema, purpose: Purpose, operators: Mapping[str, opschema.Schema] | None = None
) -> Scope:
    """The scope of an expression in the entry of ``schema``, whose namespace should be filled in."""
    names = {argument.name: value_type(argument.type) for argument in schema.arguments}
    if purpose is Purpose.SAMPLE:
        names = {}
    elif purpose is Purpose.LAUNCH:
        outputs = {name: type_ for name, type_ in _outputs(schema).items() if not _RESULT.fullmatch(name)}
        names = outputs | dict.fromkeys(("workspace", "tiling", "stream"), POINTER) | names
    elif purpose is Purpose.BACKWARD:
        names = _gradients(schema) | _outputs(schema) | names
    elif purpose is Purpose.FORWARD:
        names = _outputs(schema) | names
    overwritten = _overwritten(schema) if purpose is Purpose.BACKWARD else {}
    return Scope(names, _functions(purpose), operators or {}, purpose, schema.qualname.partition(".")[0], overwritten)


def tangent_scope(
    schema: opschema.Schema, differentiable: Iterable[str], operators: Mapping[str, opschema.Schema] | None = None
) -> Scope:
    """The scope of a forward-mode formula: with the tangents ``x_t`` and, as in derivatives.yaml, the values ``x_p``.

    A tangent has the type of its argument: where only others were given, it is zeros. An argument that the operator
    writes to has the value from before.
    """
    types = {argument.name: value_type(argument.type) for argument in schema.arguments}
    tangents = {f"{name}_t": types[name] for name in differentiable}
    primals = {f"{name}_p": type_ for name, type_ in types.items() if type_.has_tensor}
    scope = scope_for(schema, Purpose.FORWARD, operators)
    return replace(scope, names={**tangents, **primals, **scope.names})


@functools.cache
def _functions(purpose: Purpose) -> Mapping[str, Signature]:
    return {name: helper for name, helper in HELPERS.items() if purpose in helper.purposes}


def output_names(schema: opschema.Schema) -> dict[str, int]:
    """Every name of an output -> its position: ``out``, ``out0``, ``result``, ``result0``, or the return's own name."""
    names: dict[str, int] = {}
    if len(schema.returns) == 1:
        names |= {"out": 0, "result": 0}
    for i in range(len(schema.returns)):
        names |= {f"result{i}": i, f"out{i}": i}
    names |= {ret.name: i for i, ret in enumerate(schema.returns) if ret.name}
    arguments = {argument.name for argument in schema.arguments}
    return {name: i for name, i in names.items() if name not in arguments}


def _outputs(schema: opschema.Schema) -> dict[str, ValueType]:
    return {name: value_type(schema.returns[i].type) for name, i in output_names(schema).items()}


def gradient_names(schema: opschema.Schema) -> dict[str, int]:
    """Every name of an output's gradient -> its position: ``grad``, ``grad0``, or ``grad_<return>``."""
    names = {f"grad{i}": i for i in range(len(schema.returns))}
    names |= {f"grad_{ret.name}": i for i, ret in enumerate(schema.returns) if ret.name}
    return names | ({"grad": 0} if len(schema.returns) == 1 else {})


def _gradients(schema: opschema.Schema) -> dict[str, ValueType]:
    types = tuple(_gradient_type(ret) for ret in schema.returns)
    return {name: types[i] for name, i in gradient_names(schema).items()} | {"grads": ValueType.tuple_of(types)}


def _gradient_type(ret: opschema.Return) -> ValueType:
    type_ = value_type(ret.type)
    return type_ if type_.has_tensor else replace(TENSOR, optional=True)


def _overwritten(schema: opschema.Schema) -> dict[str, str]:
    by_alias = {ret.alias: (ret.name or f"result{i}") for i, ret in enumerate(schema.returns) if ret.alias}
    if len(schema.returns) == 1:
        by_alias = dict.fromkeys(by_alias, "result")
    written = [(argument.name, argument.alias) for argument in schema.arguments if argument.alias is not None]
    return {name: by_alias.get(alias, "") for name, alias in written if alias.write}
