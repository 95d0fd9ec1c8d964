"""What an expression may name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

import opschema
from mtcodegen.expr.calls import OperatorSignature, signature_of
from mtcodegen.expr.functions import HELPERS, Purpose, Signature
from mtcodegen.expr.types import POINTER, TENSOR, ValueType, value_type
from mtcodegen.system.values import dataclass

_RESULT = re.compile(r"result\d*")  # how gradient formulas call an output without a name

__all__ = ["OperatorTable", "Scope", "gradient_names", "output_names", "scope_for", "tangent_scope"]


class OperatorTable(Mapping[str, opschema.Schema]):
    """Schemas by ``ns::name.overload``, with the overloads of one operator together. Build it once a run.

    ``texts`` are further ones, by the same names, that are parsed when they are looked at: most of a run's are not.
    """

    def __init__(self, schemas: Mapping[str, opschema.Schema], texts: Mapping[str, str] | None = None) -> None:
        self._schemas = dict(schemas)
        self._texts = texts or {}
        self._names = {**self._texts, **self._schemas}
        self._packets: dict[str, list[str]] = {}
        self._signatures: dict[str, OperatorSignature] = {}
        self.namespaces: set[str] = set()
        for key in self._names:
            schema = self._schemas.get(key)
            namespace, _, name = (key if schema is None else schema.qualname).rpartition("::")
            self.namespaces.add(namespace or "aten")
            self._packets.setdefault(f"{namespace or 'aten'}::{name.partition('.')[0]}", []).append(key)

    @classmethod
    def of(cls, schemas: Mapping[str, opschema.Schema]) -> OperatorTable:
        """``schemas`` as a table; a table is returned as it is."""
        return schemas if isinstance(schemas, cls) else cls(schemas)

    def overloads(self, namespace: str, name: str, overload: str = "") -> Sequence[opschema.Schema]:
        """The overloads of an operator, or the one asked for, ``default`` without a name; empty where there is none."""
        found = [self[key] for key in self._packets.get(f"{namespace}::{name}", [])]
        return [schema for schema in found if (schema.overload or "default") == overload] if overload else found

    def signature(self, schema: opschema.Schema) -> OperatorSignature:
        """How one of the operators is called: formulas call few of them, and those again and again."""
        name = schema.qualname
        found = self._signatures.get(name)
        if found is None:
            found = self._signatures[name] = signature_of(schema)
        return found

    def names(self) -> list[str]:
        """``ns::name`` of every operator."""
        return list(self._packets)

    def __getitem__(self, key: str) -> opschema.Schema:
        found = self._schemas.get(key)
        if found is None:
            found = self._schemas[key] = opschema.parse_schema(self._texts[key])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True)
class Scope:
    """The names, helpers and operators that an expression may use.

    ``subject`` is the operator it belongs to (``fused::scaled_add``), ``overload`` the name of its overload;
    ``overwritten`` maps the arguments it mutates to the output that has the new value, where there is one.
    """

    names: Mapping[str, ValueType]
    functions: Mapping[str, Signature]
    table: OperatorTable
    purpose: Purpose
    subject: str = ""
    overwritten: Mapping[str, str] = field(default_factory=dict)
    overload: str = ""

    @property
    def namespace(self) -> str:
        """The namespace in which an operator's bare name is looked up first."""
        return self.subject.partition("::")[0] if "::" in self.subject else ""


def scope_for(
    schema: opschema.Schema, purpose: Purpose, operators: Mapping[str, opschema.Schema] | None = None
) -> Scope:
    """The scope of an expression in the entry of ``schema``, whose namespace should be filled in."""
    names = {argument.name: value_type(argument.type) for argument in schema.arguments}
    overwritten: Mapping[str, str] = {}
    if purpose is Purpose.SAMPLE:
        names = {}
    elif purpose is Purpose.LAUNCH:
        outputs = {name: type_ for name, type_ in _outputs(schema).items() if not _RESULT.fullmatch(name)}
        names = outputs | dict.fromkeys(("workspace", "tiling", "stream", "context"), POINTER) | names
    elif purpose is Purpose.BACKWARD:
        gradients = _gradients(schema)
        # Those of all outputs, also of an operator that has an argument of that name.
        names = gradients | _outputs(schema) | names | {"grads": gradients["grads"]}
        overwritten = _overwritten(schema)
    elif purpose is Purpose.FORWARD:
        names = _outputs(schema) | names
    return _scope(schema, purpose, names, operators, overwritten)


def _scope(
    schema: opschema.Schema,
    purpose: Purpose,
    names: Mapping[str, ValueType],
    operators: Mapping[str, opschema.Schema] | None,
    overwritten: Mapping[str, str],
) -> Scope:
    table = OperatorTable.of({} if operators is None else operators)
    return Scope(
        names, _FUNCTIONS[purpose], table, purpose, schema.qualname.partition(".")[0], overwritten, schema.overload
    )


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
    return _scope(schema, Purpose.FORWARD, tangents | primals | _outputs(schema) | types, operators, {})


_FUNCTIONS: Mapping[Purpose, Mapping[str, Signature]] = {
    purpose: {name: helper for name, helper in HELPERS.items() if purpose in helper.purposes} for purpose in Purpose
}


def output_names(schema: opschema.Schema) -> dict[str, int]:
    """Every name of an output -> its position: ``out``, ``out0``, ``result``, ``result0``, or the return's own name."""
    names = {"out": 0, "result": 0} if len(schema.returns) == 1 else {}
    for i in range(len(schema.returns)):
        names[f"result{i}"] = names[f"out{i}"] = i
    for i, ret in enumerate(schema.returns):
        if ret.name:
            names[ret.name] = i
    for argument in schema.arguments:
        names.pop(argument.name, None)
    return names


def _outputs(schema: opschema.Schema) -> dict[str, ValueType]:
    return {name: value_type(schema.returns[i].type) for name, i in output_names(schema).items()}


def gradient_names(schema: opschema.Schema) -> dict[str, int]:
    """Every name of an output's gradient -> its position: ``grad``, ``grad0``, or ``grad_<return>``."""
    names = {f"grad{i}": i for i in range(len(schema.returns))}
    for i, ret in enumerate(schema.returns):
        if ret.name:
            names[f"grad_{ret.name}"] = i
    if len(schema.returns) == 1:
        names["grad"] = 0
    return names


def _gradients(schema: opschema.Schema) -> dict[str, ValueType]:
    types = tuple(_gradient_type(ret) for ret in schema.returns)
    return {name: types[i] for name, i in gradient_names(schema).items()} | {"grads": ValueType.tuple_of(types)}


def _gradient_type(ret: opschema.Return) -> ValueType:
    type_ = value_type(ret.type)
    return type_ if type_.has_tensor else replace(TENSOR, optional=True)


def _overwritten(schema: opschema.Schema) -> dict[str, str]:
    written = [argument for argument in schema.arguments if argument.is_write]
    if not written:
        return {}
    by_alias = {ret.alias: (ret.name or f"result{i}") for i, ret in enumerate(schema.returns)}
    if len(schema.returns) == 1:
        by_alias = dict.fromkeys(by_alias, "result")
    return {argument.name: by_alias.get(argument.alias, "") for argument in written}
