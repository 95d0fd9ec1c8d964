"""The names that the formulas of an entry of derivatives.yaml may read, and the functions they may call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cached_property

import opschema
from mtcodegen.importer.pytorch.native import NativeFunction
from mtcodegen.importer.pytorch.vocabulary import HELPERS, MEMBERS, SEVERAL_RESULTS
from mtcodegen.system.values import dataclass

__all__ = ["NameKind", "Scope", "Words", "backward_scope", "cpp_arguments", "forward_scope", "output_names", "words_of"]

_OPTIONS = ("dtype", "layout", "device", "pin_memory")
_SYMINT = "_symint"  # how C++ calls the overload of an operator that takes symbolic integers


class NameKind(Enum):
    """What a name in a formula is."""

    ARGUMENT = "argument"
    OUTPUT = "output"
    GRADIENT = "gradient"  # `grad`, `grad_<return>`
    GRADIENTS = "gradients"  # `grads`
    MASK = "mask"  # `grad_input_mask`
    TANGENT = "tangent"  # `x_t`
    PRIMAL = "primal"  # `x_p`
    STATE = "state"  # `retain_variables`, and `i` in operators on lists


@dataclass(frozen=True)
class Words:
    """What a formula may call: operators by their base names, and whether they are methods or give several values."""

    operators: frozenset[str]
    methods: frozenset[str]
    several: frozenset[str]

    def is_function(self, name: str) -> bool:
        """Whether there is a C++ function of this name."""
        return name in HELPERS or name.removesuffix(_SYMINT) in self.operators

    def is_member(self, name: str) -> bool:
        """Whether a tensor, or another value that formulas have, has a member of this name."""
        return name in MEMBERS or name.removesuffix(_SYMINT) in self.methods

    def gives_several(self, name: str) -> bool | None:
        """Whether a function returns several values; None where that is not known."""
        base = name.removesuffix(_SYMINT)
        if name in SEVERAL_RESULTS or base in self.several:
            return True
        return False if name in HELPERS or base in self.operators else None

    @cached_property
    def functions(self) -> frozenset[str]:
        """Every function, to look for a near name."""
        return self.operators | HELPERS

    @cached_property
    def members(self) -> frozenset[str]:
        """Every member, to look for a near name."""
        return self.methods | MEMBERS


@dataclass(frozen=True)
class Scope:
    """The names of one formula. ``subject`` is the operator; ``mask_size`` the number of gradients of the formula."""

    subject: str
    names: Mapping[str, NameKind]
    returns: int
    mask_size: int = 0

    def with_mask(self, size: int) -> Scope:
        """The same names, for a formula of ``size`` gradients."""
        return Scope(self.subject, self.names, self.returns, size)


def words_of(functions: Iterable[NativeFunction]) -> Words:
    """The operators of native_functions.yaml as functions and methods."""
    operators: set[str] = set()
    methods: set[str] = set()
    several: set[str] = set()
    for function in functions:
        name = function.schema.name
        operators.add(name)
        operators.update(made.partition(".")[0] for made in function.autogen)
        if "method" in function.variants:
            methods.add(name)
        returns = function.schema.returns
        if len(returns) > 1 or any(isinstance(ret.type, opschema.ListType) for ret in returns):
            several.add(name)
    return Words(frozenset(operators), frozenset(methods), frozenset(several))


def cpp_arguments(schema: opschema.Schema) -> list[str]:
    """The arguments' names in C++, where the four arguments of a new tensor are one, ``options``."""
    names = [argument.name for argument in schema.arguments]
    for i in range(len(names) - 3):
        if tuple(names[i : i + 4]) == _OPTIONS:
            return [*names[:i], "options", *names[i + 4 :]]
    return names


def output_names(schema: opschema.Schema) -> list[str]:
    """What formulas call the outputs: by their own names, else ``result``, or ``result0``, ``result1``, ..."""
    if schema.is_inplace_name:
        return ["result"] if schema.returns else []
    if len(schema.returns) == 1 and schema.returns[0].name is None:
        return ["result"]
    arguments = {argument.name for argument in schema.arguments}
    fallback = ["result"] if len(schema.returns) == 1 else [f"result{i}" for i in range(len(schema.returns))]
    own = [f"{ret.name}_return" if ret.name in arguments else ret.name for ret in schema.returns]
    return [name or other for name, other in zip(own, fallback, strict=True)]


def backward_scope(schema: opschema.Schema, differentiable: Iterable[bool]) -> Scope:
    """Names of the gradient formulas of ``schema``, whose outputs are ``differentiable`` or not."""
    names = _shared(schema, cpp_arguments(schema))
    names |= {"grad": NameKind.GRADIENT, "grads": NameKind.GRADIENTS, "grad_input_mask": NameKind.MASK}
    names["retain_variables"] = NameKind.STATE
    for ret, flag in zip(schema.returns, differentiable, strict=False):
        if ret.name is not None and flag and opschema.base_of(ret.type).name == "Tensor":
            names[f"grad_{ret.name}"] = NameKind.GRADIENT
    # An operator that is a gradient itself may have an argument `grad`; torchgen reads the name as the argument too.
    names |= dict.fromkeys(cpp_arguments(schema), NameKind.ARGUMENT)
    return Scope(schema.qualname, names, len(schema.returns))


def forward_scope(schema: opschema.Schema, differentiable: Iterable[str]) -> Scope:
    """Names of the forward-mode formulas of ``schema``, with gradients for the arguments ``differentiable``."""
    # Forward-mode formulas stand where the dispatcher calls, and its arguments are the schema's.
    names = _shared(schema, [argument.name for argument in schema.arguments])
    for name in differentiable:
        names[f"{name}_t"] = NameKind.TANGENT
        names[f"{name}_p"] = NameKind.PRIMAL
        if schema.is_inplace_name:
            names |= {f"original_{name}_t": NameKind.TANGENT, f"original_{name}_p": NameKind.PRIMAL}
    return Scope(schema.qualname, names, len(schema.returns))


def _shared(schema: opschema.Schema, arguments: list[str]) -> dict[str, NameKind]:
    names = dict.fromkeys(output_names(schema), NameKind.OUTPUT)
    names |= dict.fromkeys(arguments, NameKind.ARGUMENT)
    if any(isinstance(argument.type, opschema.ListType) for argument in schema.arguments):
        names.setdefault("i", NameKind.STATE)
    return names
