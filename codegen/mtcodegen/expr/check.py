"""The type check: resolves the names of an expression in its scope, and finds all its faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import opschema
from mtcodegen.expr.calls import Arguments, fit_helper, fit_operator
from mtcodegen.expr.errors import ExpressionError
from mtcodegen.expr.functions import HELPERS, Purpose
from mtcodegen.expr.names import NameChecker, Typed
from mtcodegen.expr.nodes import (
    Attribute,
    Binary,
    BoolOp,
    Call,
    Compare,
    Conditional,
    Expr,
    Index,
    Keyword,
    ListExpr,
    Literal,
    Name,
    Operator,
    Slice,
    Starred,
    Unary,
    Unread,
    walk,
    with_parts,
)
from mtcodegen.expr.operands import binary_type, compare_fault, index_type
from mtcodegen.expr.scalars import scalar_fault
from mtcodegen.expr.scope import Scope
from mtcodegen.expr.types import (
    ANY,
    BOOL,
    C_TYPES,
    DTYPE,
    DTYPES,
    FLOAT,
    GENERATOR,
    INT,
    NONE,
    SLICE,
    STR,
    TENSOR,
    Kind,
    Member,
    ValueType,
    accepts,
    join,
    members_of,
)
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import suggest
from mtcodegen.system.values import dataclass

__all__ = ["Checked", "analyze", "check_expression", "check_kernel_argument", "resolve"]


@dataclass(frozen=True)
class Checked:
    """An expression with its names resolved, its type, and its faults in the order of the text."""

    expr: Expr
    type: ValueType
    errors: tuple[ExpressionError, ...]


def analyze(expr: Expr, scope: Scope, expected: ValueType | None = None) -> Checked:
    """Check ``expr`` in ``scope`` against the type ``expected`` and resolve what it names."""
    checker = _Checker(scope)
    resolved, type_ = checker.visit_as(expr, expected)
    errors = checker.errors
    if errors:
        errors.sort(key=lambda error: error.offset)
    elif expected is not None and not accepts(expected, type_):
        errors.append(_unexpected(expr, expected, type_))
    return Checked(resolved, type_, tuple(errors))


def check_expression(
    expr: Expr, scope: Scope, expected: ValueType | None = None
) -> tuple[ValueType, list[ExpressionError]]:
    """The type of ``expr``, and all its faults."""
    checked = analyze(expr, scope, expected)
    return checked.type, list(checked.errors)


def resolve(expr: Expr, scope: Scope) -> Expr:
    """``expr`` with operators in place of the names that call them, ready for ``to_python``."""
    return analyze(expr, scope).expr


def check_kernel_argument(expr: Expr, scope: Scope) -> tuple[ValueType, list[ExpressionError]]:
    """As ``check_expression``, for one of a kernel's ``args``: a tensor, a pointer, or a scalar with its C type."""
    type_, errors = check_expression(expr, scope)
    if errors or type_.kind in (Kind.TENSOR, Kind.POINTER, Kind.NONE, Kind.ANY) or type_.required == GENERATOR:
        return type_, errors
    if type_.kind is Kind.C_SCALAR:
        return type_, [] if isinstance(expr, Call) else [_inner_c_type(expr, type_)]
    return type_, [_without_c_type(expr, type_)]


def _inner_c_type(expr: Expr, type_: ValueType) -> ExpressionError:
    """The type is declared once, where the kernel is bound, and not chosen at each call."""
    message = f"the C type `{type_}` stands inside of the argument"
    return ExpressionError(message, expr.offset, expr.length, f"write `{type_}(...)` around all of it", Code.MT221)


def _without_c_type(expr: Expr, type_: ValueType) -> ExpressionError:
    name = expr.id if isinstance(expr, Name) else "..."
    choices = {
        Kind.INT: ("i64", "i32", "u32"),
        Kind.FLOAT: ("f32", "f64"),
        Kind.NUMBER: ("f32", "f64", "i64"),
        Kind.BOOL: ("bool",),
    }
    subject = f"`{name}`" if isinstance(expr, Name) else "this argument"
    if type_.kind not in choices or type_.optional:
        message = f"{subject} is {type_}, which a kernel cannot take"
        return ExpressionError(message, expr.offset, expr.length, "pass tensors and scalars with C types", Code.MT220)
    options = " or ".join(f"`{choice}({name})`" for choice in choices[type_.kind])
    return ExpressionError(f"{subject} has no C type", expr.offset, expr.length, f"write {options}", Code.MT215)


def _unexpected(expr: Expr, expected: ValueType, actual: ValueType) -> ExpressionError:
    if actual.optional and accepts(expected, actual.required):
        message = f"expected {expected}, and this may be None"
        return ExpressionError(message, expr.offset, expr.length, "test `is not None` first", Code.MT212)
    return ExpressionError(f"expected {expected}, got {actual}", expr.offset, expr.length, None, Code.MT210)


class _Checker(NameChecker):
    """One walk over the tree, from the leaves up; every fault is noted, and its value is ANY from there on."""

    def visit_as(self, node: Expr, expected: ValueType | None) -> Typed:
        """As ``visit``; items between brackets stay apart where one for each of several outputs is expected."""
        several = expected is not None and expected.kind is Kind.TUPLE
        if not several or not isinstance(node, ListExpr) or any(isinstance(item, Starred) for item in node.items):
            return self.visit(node)
        typed = [self.visit(item) for item in node.items]
        return with_parts(node, items=tuple(item for item, _ in typed)), ValueType.tuple_of(
            [type_ for _, type_ in typed]
        )

    def visit(self, node: Expr) -> Typed:
        match node:
            case Name():
                return node, self.name_type(node)
            case Call():
                return self._call(node)
            case Literal():
                return node, _literal_type(node)
            case Binary():
                return self._binary(node)
            case Attribute():
                return self._attribute(node)
            case Unary():
                return self._unary(node)
            case ListExpr():
                return self._list(node)
            case Index():
                return self._index(node)
            case Compare():
                return self._compare(node)
            case BoolOp():
                return self._bool_op(node)
            case Conditional():
                return self._conditional(node)
            case Slice():
                return self._slice(node)
            case Starred():
                return self._starred(node)
            case Keyword():
                value, type_ = self.visit(node.value)
                return with_parts(node, value=value), type_
            case Operator() | Unread():
                return node, ANY

    # ------------------------------------------------------------ operators of the language

    def _list(self, node: ListExpr) -> Typed:
        typed = [self.visit(item) for item in node.items]
        result = with_parts(node, items=tuple(item for item, _ in typed))
        types = [type_ for _, type_ in typed]
        if not types:
            return result, ValueType.list_of(ANY)
        joined: ValueType | None = types[0]
        for type_ in types[1:]:
            joined = joined and join(joined, type_)
        return result, ValueType.list_of(joined) if joined else ValueType.tuple_of(types)

    def _starred(self, node: Starred) -> Typed:
        value, type_ = self.visit(node.value)
        if type_.kind is Kind.LIST and not type_.optional:
            return with_parts(node, value=value), type_.element
        if type_.kind is not Kind.ANY:
            self.fault(f"`*` takes a list, not {type_}", node, Code.MT209)
        return with_parts(node, value=value), ANY

    def _unary(self, node: Unary) -> Typed:
        operand, type_ = self.visit(node.operand)
        result = with_parts(node, operand=operand)
        if node.op == "not":
            self.require_bool(node.operand, type_)
            return result, BOOL
        if type_.kind is Kind.TENSOR:
            return result, self.tensor_value(node, type_)
        if type_.is_number:
            return result, INT if type_.kind is Kind.BOOL else type_
        if type_.kind is not Kind.ANY:
            self.fault(f"`{node.op}` takes a number or a tensor, not {type_}", node, Code.MT209)
        return result, ANY

    def _binary(self, node: Binary) -> Typed:
        left, left_type = self.visit(node.left)
        right, right_type = self.visit(node.right)
        result = with_parts(node, left=left, right=right)
        for operand, type_ in ((node.left, left_type), (node.right, right_type)):
            if type_.optional:
                return result, self.may_be_none(operand)
        if _tensor_arithmetic(left_type, right_type):
            return result, self.tensor_value(node, TENSOR)
        type_or_none = binary_type(node.op, left_type, right_type)
        if type_or_none is None:
            message = f"`{node.op}` does not go with {left_type} and {right_type}"
            return result, self.fault(message, node, Code.MT209)
        if node.op == "+" and type_or_none.kind is Kind.LIST:
            # A shape is a tuple and an argument may be a list, which Python's `+` would not join.
            return ListExpr((*_parts(left), *_parts(right)), offset=node.offset, length=node.length), type_or_none
        return result, type_or_none

    def _compare(self, node: Compare) -> Typed:
        operands = [node.first, *(operand for _, operand in node.rest)]
        only_none = all(op in ("is", "is not") for op, _ in node.rest)
        typed = [self.receiver(operand) if only_none else self.visit(operand) for operand in operands]
        tensor = False
        for i, (op, operand) in enumerate(node.rest):
            left, right = typed[i][1], typed[i + 1][1]
            start, end = operands[i].offset, operand.offset + operand.length
            place = Compare(node.first, node.rest, offset=start, length=end - start)
            fault = compare_fault(op, left, right)
            if fault is not None:
                self.fault(fault[0], place, Code.MT209, fault[1])
            elif op in ("is", "is not") and left.kind is not Kind.NONE and _is_constant(operands[i]):
                self.fault("a constant is never None", operands[i], Code.MT209)  # Python warns of such a comparison
            elif Kind.TENSOR in (left.kind, right.kind) and op not in ("is", "is not", "in", "not in"):
                optional = next((operands[j] for j in (i, i + 1) if typed[j][1].optional), None)
                self.may_be_none(optional) if optional else self.tensor_value(place, TENSOR)
                tensor = True
        if tensor and len(node.rest) > 1:
            self.fault("a comparison of tensors cannot be chained", node, Code.MT209)
        equality = all(op in ("==", "!=") for op, _ in node.rest)
        values = [_as_tuple(value, type_) if equality else value for value, type_ in typed]
        rest = tuple((op, value) for (op, _), value in zip(node.rest, values[1:], strict=True))
        return with_parts(node, first=values[0], rest=rest), TENSOR if tensor else BOOL

    def _bool_op(self, node: BoolOp) -> Typed:
        outer = self.not_none
        values = []
        for value in node.values:
            resolved, type_ = self.visit(value)
            self.require_bool(value, type_)
            values.append(resolved)
            self.not_none |= _known(value, node.op == "and")
        self.not_none = outer
        return with_parts(node, values=tuple(values)), BOOL

    def _conditional(self, node: Conditional) -> Typed:
        condition, condition_type = self.visit(node.condition)
        self.require_bool(node.condition, condition_type)
        outer = self.not_none
        self.not_none = outer | _known(node.condition, True)
        body, body_type = self.visit(node.body)
        self.not_none = outer | _known(node.condition, False)
        orelse, orelse_type = self.visit(node.orelse)
        self.not_none = outer
        joined = join(body_type, orelse_type)
        if joined is None:
            joined = self.fault(f"one branch is {body_type}, the other {orelse_type}", node, Code.MT209)
        return with_parts(node, condition=condition, body=body, orelse=orelse), joined

    # ------------------------------------------------------------ indices, attributes

    def _slice(self, node: Slice) -> Typed:
        parts = {}
        for name, part in (("lower", node.lower), ("upper", node.upper), ("step", node.step)):
            value, type_ = (None, INT) if part is None else self.visit(part)
            if part is not None and not accepts(replace(INT, optional=True), type_):
                self.fault(f"a slice takes integers, not {type_}", part, Code.MT214)
            parts[name] = value
        return with_parts(node, **parts), SLICE

    def _index(self, node: Index) -> Typed:
        value, type_ = self.visit(node.value)
        index, index_type_ = self.visit(node.index)
        result = with_parts(node, value=value, index=index)
        if type_.optional:
            return result, self.may_be_none(node.value)
        if type_.kind is Kind.TENSOR:
            return result, self.tensor_value(node, type_)
        found = index_type(type_, node.index, index_type_)
        if isinstance(found, str):
            return result, self.fault(found, node.index, Code.MT214)
        return result, found

    def _attribute(self, node: Attribute) -> Typed:
        if (path := self._module_path(node)) is not None:
            if path == ["torch", node.name] and node.name in DTYPES:
                return node, DTYPE
            hint = f"write `{'.'.join(path)}(...)`" if self._overloads(path) else None
            code = Code.MT218 if hint else Code.MT204
            return node, self.fault(f"`{'.'.join(path)}` is not a value", node, code, hint)
        value, type_ = self.receiver(node.value)
        result = with_parts(node, value=value)
        member = self._member(node, type_)
        if member is None:
            return result, ANY
        if member.method:
            return result, self.fault(
                f"`{node.name}` is a method", node, Code.MT218, f"write `.{node.name}({'i' if member.index else ''})`"
            )
        return result, member.type if member.metadata else self.tensor_value(node, type_)

    def _member(self, node: Attribute, type_: ValueType) -> Member | None:
        """The property or method ``node`` names; None, with a fault noted, where there is none."""
        if type_.kind is Kind.ANY:
            return None
        if type_.optional:
            self.may_be_none(node.value)
            return None
        members = members_of(type_)
        member = members.get(node.name)
        if member is None:
            place = Name(node.name, offset=node.name_offset, length=len(node.name))
            self.fault(f"{type_} has no attribute `{node.name}`", place, Code.MT205, suggest(node.name, members))
        return member

    def _module_path(self, node: Expr) -> list[str] | None:
        """``["fused", "op"]`` for ``fused.op`` where ``fused`` is a namespace and no name of this scope."""
        names: list[str] = []
        while isinstance(node, Attribute):
            names.append(node.name)
            node = node.value
        if not isinstance(node, Name) or node.id in self.scope.names:
            return None
        if node.id not in ("torch", "aten") and node.id not in self.scope.table.namespaces:
            return None
        return [node.id, *reversed(names)]

    # ------------------------------------------------------------ calls

    def _call(self, node: Call) -> Typed:
        function = node.function
        if isinstance(function, Attribute) and self._module_path(function) is None:
            return self._method(node, function)
        call, arguments = self._arguments(node)
        if isinstance(function, Name):
            return self._function(call, function, arguments)
        if isinstance(function, Operator):
            return self._operator(call, [function.namespace, function.name, function.overload], arguments)
        path = self._module_path(function)
        if path is None:
            return call, self.fault("only functions, operators and methods can be called", function, Code.MT219)
        return self._operator(call, path, arguments)

    def _arguments(self, node: Call, receiver: ValueType | None = None) -> tuple[Call, Arguments]:
        takes_properties = isinstance(node.function, Name) and node.function.id in ("result_type", "sizeof", "len")
        visit = self.receiver if takes_properties else self.visit
        typed = [visit(argument) for argument in node.arguments]
        named = [self.visit(keyword) for keyword in node.keywords]
        call = with_parts(
            node, arguments=tuple([value for value, _ in typed]), keywords=tuple([value for value, _ in named])
        )
        types = tuple([type_ for _, type_ in typed])
        return call, Arguments(node, types, tuple([type_ for _, type_ in named]), receiver)

    def _function(self, call: Call, function: Name, arguments: Arguments) -> Typed:
        name = function.id
        if name in self.scope.names:
            return call, self.fault(f"`{name}` is {self.scope.names[name]}, not a function", function, Code.MT219)
        if name in C_TYPES:
            return call, self._typed_scalar(call, name, arguments)
        own = [self.scope.namespace, name]
        path = own if self._overloads(own) else ["aten", name]
        signature = self.scope.functions.get(name)
        if signature is not None and not (name in _SCALAR_ONLY and arguments.has_tensor and self._overloads(path)):
            self.errors.extend(fit_helper(name, signature, arguments))
            return call, signature.result(arguments.positional)
        if name in HELPERS and signature is None:
            return call, self.fault(f"`{name}` cannot be used in {self.scope.purpose.value}", function, Code.MT211)
        return self._operator(call, path, arguments)

    def _typed_scalar(self, call: Call, name: str, arguments: Arguments) -> ValueType:
        if self.scope.purpose is not Purpose.LAUNCH:
            return self.fault(f"`{name}(...)` is a C type, which only kernel arguments have", call.function, Code.MT211)
        if len(call.arguments) != 1 or call.keywords:
            return self.fault(f"`{name}` takes one value", call, Code.MT207)
        fault = scalar_fault(name, arguments.positional[0], call.arguments[0])
        if fault is not None:
            self.errors.append(fault)
        return ValueType(Kind.C_SCALAR, name=name)

    def _overloads(self, path: Sequence[str]) -> Sequence[opschema.Schema]:
        return self.scope.table.overloads(*_qualified(path)) if len(path) > 1 else ()

    def _operator(self, call: Call, path: Sequence[str], arguments: Arguments) -> Typed:
        function = call.function
        namespace, name, overload = _qualified(path)
        schemas = self.scope.table.overloads(namespace, name, overload)
        if not schemas:
            return call, self._unknown_function(function, path)
        operator = Operator(namespace, name, overload, offset=function.offset, length=function.length)
        resolved = Call(operator, call.arguments, call.keywords, offset=call.offset, length=call.length)
        written = {keyword.name for keyword in call.keywords}
        # What writes to a tensor that nobody named was not meant.
        schemas = [s for s in schemas if written.issuperset(a.name for a in s.out_arguments)] or schemas
        return resolved, self._operator_type(f"{namespace}::{name}", schemas, arguments, overload)

    def _operator_type(
        self, title: str, schemas: Sequence[opschema.Schema], arguments: Arguments, overload: str = ""
    ) -> ValueType:
        """The type of a call of an operator, where operators may be called."""
        function = arguments.call.function
        if not self.scope.purpose.reads_values:
            message = f"{self.scope.purpose.value} cannot call the operator {title}"
            return self.fault(message, function, Code.MT211, "operators belong to formulas and `compute`")
        itself = title == self.scope.subject and overload in ("", self.scope.overload or "default")
        if self.scope.purpose is Purpose.COMPUTE and itself:
            return self.fault(f"{title} would call itself", function, Code.MT217)
        return self._best_overload(title, schemas, arguments)

    def _best_overload(self, title: str, schemas: Sequence[opschema.Schema], arguments: Arguments) -> ValueType:
        table = self.scope.table
        if len(schemas) == 1 or arguments.has_star:
            signature = table.signature(schemas[0])
            if not arguments.has_star:
                self.errors.extend(fit_operator(schemas[0], signature, arguments))
            return signature.result
        for schema in schemas:
            signature = table.signature(schema)
            if signature.may_fit(arguments) and not fit_operator(schema, signature, arguments):
                return signature.result
        hint = "; ".join(str(schema) for schema in schemas[:3])
        return self.fault(f"no overload of {title} takes {arguments}", arguments.call, Code.MT229, f"there are {hint}")

    def _unknown_function(self, function: Expr, path: Sequence[str]) -> ValueType:
        written = function.id if isinstance(function, Name) else ".".join(path)
        names = (title.partition("::")[2] for title in self.scope.table.names())
        types = C_TYPES if self.scope.purpose is Purpose.LAUNCH else ()
        others = names if self.scope.purpose.reads_values else types
        hint = suggest(path[-1], chain(self.scope.functions, others))
        if self.scope.purpose is Purpose.LAUNCH and written in _C_SPELLINGS:
            hint = f"write `{_C_SPELLINGS[written]}(...)`"
        elif self.scope.purpose is Purpose.LAUNCH and not hint and written[:1] in "fiu" and written[1:].isdigit():
            hint = f"C types are {', '.join(sorted(C_TYPES))}"
        return self.fault(f"`{written}` is not a function or a declared operator", function, Code.MT206, hint)

    def _method(self, node: Call, function: Attribute) -> Typed:
        members: dict[str, Member] = {}
        receiver, type_ = self.receiver(function.value)
        if not type_.optional:
            members = members_of(type_)
        member = members.get(function.name)
        call, arguments = self._arguments(node, type_)
        if receiver is not function.value:
            call = with_parts(call, function=with_parts(function, value=receiver))
        if member is not None:
            return call, self._known_method(node, function, member, arguments)
        schemas = self.scope.table.overloads("aten", function.name)
        if schemas and type_.kind is Kind.TENSOR and not type_.optional:
            if isinstance(function.value, Name):
                self.name_type(function.value)  # an operator reads its values
            return call, self._operator_type(f"aten::{function.name}", schemas, arguments)
        if type_.kind is Kind.TENSOR and not type_.optional and self.scope.purpose.reads_values:
            operators = (title[6:] for title in self.scope.table.names() if title.startswith("aten::"))
            place = Name(function.name, offset=function.name_offset, length=len(function.name))
            hint = suggest(function.name, chain(members, operators))
            return call, self.fault(f"Tensor has no method `{function.name}`", place, Code.MT205, hint)
        self._member(function, type_)
        return call, ANY

    def _known_method(self, node: Call, function: Attribute, member: Member, arguments: Arguments) -> ValueType:
        name = function.name
        if not member.method:
            return self.fault(f"`{name}` is a property", node, Code.MT219, f"write `.{name}`")
        if not member.metadata:
            self.tensor_value(node, TENSOR)
        most = 1 if member.index else 0
        if len(node.arguments) > most or node.keywords:
            takes = "one index" if member.index else "no arguments"
            return self.fault(f"`{name}` takes {takes}", node, Code.MT207)
        if not node.arguments:
            return member.without_index or member.type
        if not accepts(INT, arguments.positional[0]):
            return self.fault(
                f"`{name}` takes an integer, not {arguments.positional[0]}", node.arguments[0], Code.MT208
            )
        return member.type


# Helpers on numbers that share their name with an operator on tensors.
_SCALAR_ONLY = frozenset({"min", "max", "abs", "sum", "prod", "sqrt", "exp", "log", "floor", "ceil", "float", "int"})
_C_SPELLINGS = {
    "float": "f32",
    "double": "f64",
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "half": "f16",
    "int32": "i32",
    "int64": "i64",
    "uint32": "u32",
    "uint64": "u64",
    "int32_t": "i32",
    "int64_t": "i64",
    "uint32_t": "u32",
    "uint64_t": "u64",
    "size_t": "u64",
}


def _qualified(path: Sequence[str]) -> tuple[str, str, str]:
    """Namespace, name and overload: ``torch`` is the built-in namespace, and ``torch.ops.ns`` is ``ns``."""
    namespace, name, *rest = path
    if namespace == "torch":
        if name == "ops" and len(rest) > 1:
            namespace, name, *rest = rest
        else:
            namespace = "aten"
    return namespace, name, ".".join(rest)


def _is_constant(node: Expr) -> bool:
    return not any(isinstance(part, Name) for part in walk(node))


def _literal_type(node: Literal) -> ValueType:
    match node.value:
        case None:
            return NONE
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return FLOAT
        case str():
            return STR


def _tensor_arithmetic(left: ValueType, right: ValueType) -> bool:
    """A tensor and a tensor or number, in either order."""
    tensors = left.kind is Kind.TENSOR or right.kind is Kind.TENSOR
    return tensors and all(accepts(TENSOR, type_) or type_.is_number for type_ in (left, right))


def _parts(node: Expr) -> tuple[Expr, ...]:
    """The items of a list that is joined with another."""
    return node.items if isinstance(node, ListExpr) else (Starred(node, offset=node.offset, length=node.length),)


def _as_tuple(node: Expr, type_: ValueType) -> Expr:
    """A list argument as a tuple, so that it compares equal to a shape."""
    rooted = node.value if isinstance(node, Index) else node
    if type_.kind is not Kind.LIST or type_.optional or type_.has_tensor or not isinstance(rooted, Name):
        return node
    return Call(Name("tuple"), (node,), offset=node.offset, length=node.length)


def _known(node: Expr, truth: bool) -> frozenset[str]:
    """The names that are not None where ``node`` is ``truth``."""
    match node:
        case Compare(first=Name(id=name), rest=((op, Literal(value=None)),)) if op == ("is not" if truth else "is"):
            return frozenset({name})
        case Unary(op="not", operand=operand):
            return _known(operand, not truth)
        case BoolOp(op=op, values=values) if op == ("and" if truth else "or"):
            return frozenset().union(*(_known(value, truth) for value in values))
    return frozenset()
