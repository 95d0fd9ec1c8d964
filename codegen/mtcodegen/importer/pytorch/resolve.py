"""Looking up every name of a C++ formula."""

from __future__ import annotations

from mtcodegen.expr.errors import ExpressionError
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import suggest
from mtcodegen.importer.pytorch.nodes import (
    Braces,
    Call,
    CppExpr,
    Infix,
    Lambda,
    Literal,
    Member,
    Name,
    Qualified,
    Scoped,
    Subscript,
    Template,
    Ternary,
    children,
    unwrapped,
)
from mtcodegen.importer.pytorch.scope import NameKind, Scope, Words
from mtcodegen.importer.pytorch.vocabulary import CONSTANTS, SCOPED, TYPES

__all__ = ["gradient_counts", "resolve"]


def resolve(formula: CppExpr, scope: Scope, words: Words) -> list[ExpressionError]:
    """Everything in ``formula`` that is not known in ``scope`` or in ``words``, with its place."""
    resolver = _Resolver(scope, words)
    resolver.visit(formula)
    return resolver.errors


def gradient_counts(formula: CppExpr, words: Words) -> set[int]:
    """How many gradients the value of ``formula`` may be, as far as that can be told without C++'s types."""
    node = unwrapped(formula)
    match node:
        case Ternary(body=body, orelse=orelse):
            return gradient_counts(body, words) | gradient_counts(orelse, words)
        case Call(function=Template(name=Scoped(parts=("std", "tuple")), arguments=types)):
            return {len(types)}
        case Call(function=Name(id=name) | Scoped(parts=(*_, name)) | Member(name=name)):
            return {1} if words.gives_several(name) is False else set()
        case Braces(type=None, items=items):
            return {len(items)}
        case Subscript(value=Name(id="grads")):
            return {1}
        case Call() | Braces() | Subscript() | Name(id="grads"):
            return set()
    return {1}


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


class _Resolver:
    def __init__(self, scope: Scope, words: Words) -> None:
        self.scope = scope
        self.words = words
        self.errors: list[ExpressionError] = []
        self.bound: frozenset[str] = frozenset()  # parameters of the lambdas around

    def fault(self, code: Code, message: str, offset: int, length: int, hint: str = "") -> None:
        self.errors.append(ExpressionError(message, offset, length, hint or None, code))

    def visit(self, node: CppExpr) -> None:
        match node:
            case Name():
                self.name(node)
            case Literal():
                return
            case Infix(left=left, right=right):
                self.visit(left)
                self.visit(right)
            case Call(function=Name() as function, arguments=arguments):
                self.function(function)
                for argument in arguments:
                    self.visit(argument)
            case Member(value=value):
                self.visit(value)
                self.member(node)
            case Scoped():
                self.scoped(node)
            case Template(name=name, arguments=arguments):
                self.type(name)
                for argument in arguments:
                    self.type(argument)
            case Subscript(value=Name(id=name), index=Literal(value=int(index)) as position):
                self.visit(node.value)
                self.index(name, index, position)
            case Braces(type=type_, items=items):
                if type_ is not None:
                    self.type(type_)
                for item in items:
                    self.visit(item)
            case Lambda():
                self.function_body(node)
            case _:
                for child in children(node):
                    self.visit(child)

    def name(self, node: Name) -> None:
        name = node.id
        if name in self.scope.names or name in self.bound or name in CONSTANTS or name in TYPES:
            return
        hint = suggest(name, [*self.scope.names, *CONSTANTS])
        if self.words.is_function(name):
            self.fault(Code.MT218, f"`{name}` is a function and is not called", node.offset, node.length, "")
        elif name[-2:] in ("_t", "_p") and name[:-2] in self.scope.names:
            message = f"there is no `{name}`: `{name[:-2]}` has no gradient formula"
            if self.scope.mask_size:
                message = f"`{name}` exists only in forward-mode formulas"
            self.fault(Code.MT204, message, node.offset, node.length, f"its value is `{name[:-2]}`")
        else:
            message = f"`{name}` is not an argument of {self.scope.subject}"
            self.fault(Code.MT204, message, node.offset, node.length, hint)

    def function(self, node: Name) -> None:
        name = node.id
        if self.words.is_function(name) or name in TYPES or name in self.bound:
            return
        if name in self.scope.names:
            self.fault(Code.MT219, f"`{name}` is not a function", node.offset, node.length)
            return
        hint = suggest(name, self.words.functions)
        self.fault(Code.MT206, f"`{name}` is neither an operator nor a known function", node.offset, node.length, hint)

    def member(self, node: Member) -> None:
        if not self.words.is_member(node.name):
            hint = suggest(node.name, self.words.members)
            self.fault(Code.MT205, f"`{node.name}` is not a known member", node.name_offset, len(node.name), hint)

    def scoped(self, node: Scoped) -> None:
        parts = node.parts if node.parts[0] else node.parts[1:]
        space, name = "::".join(parts[:-1]), parts[-1]
        known = SCOPED.get(space)
        if not space and name in TYPES:
            return
        if known is None:
            hint = suggest(space, SCOPED)
            self.fault(Code.MT204, f"`{space or name}` is not a known namespace", node.offset, node.length, hint)
        elif name not in known and not (space == "at" and self.words.is_function(name)):
            choices = known | self.words.functions if space == "at" else known
            at = node.offset + node.length - len(name)
            self.fault(Code.MT206, f"`{name}` is not known in `{space}`", at, len(name), suggest(name, choices))

    def type(self, node: CppExpr) -> None:
        """A type, or a number among template arguments."""
        match node:
            case Name(id=name):
                if name not in TYPES:
                    self.fault(
                        Code.MT204, f"`{name}` is not a known type", node.offset, node.length, suggest(name, TYPES)
                    )
            case Scoped():
                self.scoped(node)
            case Template(name=name, arguments=arguments):
                self.type(name)
                for argument in arguments:
                    self.type(argument)
            case Qualified(type=inner):
                self.type(inner)

    def index(self, name: str, index: int, node: Literal) -> None:
        kind = self.scope.names.get(name)
        if kind is NameKind.GRADIENTS and index >= self.scope.returns:
            outputs = _counted(self.scope.returns, "output")
            message = f"`grads[{index}]` is out of range: {self.scope.subject} has {outputs}"
            self.fault(Code.MT214, message, node.offset, node.length)
        elif kind is NameKind.MASK and index >= self.scope.mask_size:
            gradients = _counted(self.scope.mask_size, "gradient")
            message = f"`{name}[{index}]` is out of range: the formula has {gradients}"
            self.fault(Code.MT214, message, node.offset, node.length)

    def function_body(self, node: Lambda) -> None:
        for type_, _ in node.parameters:
            self.type(type_)
        outer = self.bound
        self.bound = outer | {name for _, name in node.parameters}
        self.visit(node.body)
        self.bound = outer
