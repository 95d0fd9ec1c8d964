"""A schema as values: what an operator takes and returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import ClassVar

from .defaults import Default, check_default, default_value
from .errors import SchemaError
from .rules import find_fault
from .types import Alias, AliasInfo, Type, alias_info, annotated, base_of, size_of

# `__iadd__` is in-place although it does not end in a single underscore.
_OPERATORS = ("add", "sub", "mul", "div", "mod", "pow", "floordiv", "truediv", "matmul", "lshift", "rshift")
_IN_PLACE_DUNDER = frozenset(f"__i{name}__" for name in (*_OPERATORS, "and", "xor", "or"))


class SchemaKind(Enum):
    """How an operator treats its arguments."""

    FUNCTIONAL = "functional"  # writes to nothing
    INPLACE = "inplace"  # writes to its first argument and returns it
    OUT = "out"  # writes to keyword-only `out` arguments
    MUTABLE = "mutable"  # writes to some other argument


@dataclass(frozen=True)
class Argument:
    """One argument. ``default`` is the text of its default, None where it has none."""

    name: str
    type: Type
    default: str | None = None
    kwarg_only: bool = False
    alias: Alias | None = None
    is_write: bool = field(init=False, repr=False, compare=False)  # whether the operator writes to it

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_write", self.alias is not None and self.alias.write)
        if self.default is not None:
            try:
                check_default(self.type, self.default)
            except SchemaError as error:
                head = len(annotated(self.type, self.alias)) + len(self.name) + 2
                raise error.moved(head, str(self)) from None
        if self.alias is not None and base_of(self.type).name != "Tensor":
            raise SchemaError(f"only a Tensor can be annotated, and `{self.name}` is {self.type}")

    @property
    def has_default(self) -> bool:
        """Whether a caller may leave it out."""
        return self.default is not None

    @property
    def default_value(self) -> Default:
        """The default as a Python value, see ``opschema.defaults.default_value``; None also where there is none."""
        return None if self.default is None else default_value(self.type, self.default)

    def has_default_value(self) -> bool:
        """PyTorch's form of `has_default`."""
        return self.has_default

    @property
    def N(self) -> int | None:  # noqa: N802  (PyTorch's name)
        """The length that a list has by its type, as in ``int[2]``."""
        return size_of(self.type)

    @property
    def is_out(self) -> bool:
        """Whether it is where a result goes: written to, and given by name."""
        return self.kwarg_only and self.is_write

    @property
    def alias_info(self) -> AliasInfo | None:
        """The alias annotation as sets."""
        return alias_info(self.type, self.alias)

    @cached_property
    def _text(self) -> str:
        default = "" if self.default is None else f"={self.default}"
        return f"{annotated(self.type, self.alias)} {self.name}{default}"

    def __str__(self) -> str:
        return self._text


@dataclass(frozen=True)
class Return:
    """One returned value; either all returns of a schema are named or none is."""

    type: Type
    name: str | None = None
    alias: Alias | None = None
    is_write: bool = field(init=False, repr=False, compare=False)  # whether it is an argument that is written to

    kwarg_only: ClassVar[bool] = False
    default_value: ClassVar[None] = None
    is_out: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_write", self.alias is not None and self.alias.write)

    def has_default_value(self) -> bool:
        """No result has one; arguments may."""
        return False

    @property
    def N(self) -> int | None:  # noqa: N802  (PyTorch's name)
        """The length that a list has by its type."""
        return size_of(self.type)

    @property
    def alias_info(self) -> AliasInfo | None:
        """The alias annotation as sets."""
        return alias_info(self.type, self.alias)

    @cached_property
    def _text(self) -> str:
        return annotated(self.type, self.alias) + (f" {self.name}" if self.name else "")

    def __str__(self) -> str:
        return self._text


@dataclass(frozen=True, init=False)
class Schema:
    """A whole schema. Construction raises SchemaError where a rule of ``opschema.rules`` is broken.

    Of its arguments, ``positional`` can be passed by position, ``kwarg_only`` are behind the ``*``, and the operator
    writes its results to ``out_arguments``. ``is_inplace_name`` is whether the name says that the operator works in
    place: ``add_``, ``__iadd__``. ``kind`` is what it writes to; an in-place name decides before an out argument.
    ``qualname`` is ``ns::name.overload``, without the parts that are absent.
    """

    namespace: str | None
    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]

    # What follows from those is asked for again and again.
    positional: tuple[Argument, ...] = field(init=False, repr=False, compare=False)
    kwarg_only: tuple[Argument, ...] = field(init=False, repr=False, compare=False)
    out_arguments: tuple[Argument, ...] = field(init=False, repr=False, compare=False)
    is_inplace_name: bool = field(init=False, repr=False, compare=False)
    kind: SchemaKind = field(init=False, repr=False, compare=False)
    qualname: str = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        namespace: str | None,
        name: str,
        overload: str,
        arguments: tuple[Argument, ...],
        returns: tuple[Return, ...],
    ) -> None:
        kwarg_only = tuple([argument for argument in arguments if argument.kwarg_only])
        written = [argument for argument in arguments if argument.is_write]
        out_arguments = tuple([argument for argument in written if argument.kwarg_only]) if written else ()
        is_inplace_name = name.endswith("_") and _is_inplace(name)
        if is_inplace_name:
            kind = SchemaKind.INPLACE
        elif out_arguments:
            kind = SchemaKind.OUT
        else:
            kind = SchemaKind.MUTABLE if written else SchemaKind.FUNCTIONAL
        # Once for all: the constructor of a frozen dataclass takes its time for every field.
        vars(self).update(
            namespace=namespace,
            name=name,
            overload=overload,
            arguments=arguments,
            returns=returns,
            positional=arguments[: len(arguments) - len(kwarg_only)],
            kwarg_only=kwarg_only,
            out_arguments=out_arguments,
            is_inplace_name=is_inplace_name,
            kind=kind,
            qualname=_qualname(namespace, name, overload),
        )
        fault = find_fault(self)
        if fault is not None:
            raise fault

    def in_namespace(self, namespace: str | None) -> Schema:
        """The same schema in ``namespace``; no rule looks at that, so none is checked again."""
        made = object.__new__(Schema)
        own = made.__dict__
        own.update(self.__dict__)
        own["namespace"] = namespace
        own["qualname"] = _qualname(namespace, self.name, self.overload)
        return made

    @property
    def overload_name(self) -> str:
        """PyTorch's name of ``overload``."""
        return self.overload

    @property
    def is_mutable(self) -> bool:
        """Whether a call writes to one of its arguments."""
        return any(argument.is_write for argument in self.arguments)

    def __str__(self) -> str:
        arguments = [argument._text for argument in self.arguments]
        if self.kwarg_only:
            arguments.insert(len(self.positional), "*")
        returns = ", ".join([ret._text for ret in self.returns])
        if len(self.returns) != 1:
            returns = f"({returns})"
        return f"{self.qualname}({', '.join(arguments)}) -> {returns}"


def _qualname(namespace: str | None, name: str, overload: str) -> str:
    qualname = f"{name}.{overload}" if overload else name
    return f"{namespace}::{qualname}" if namespace else qualname


def _is_inplace(name: str) -> bool:
    return name in _IN_PLACE_DUNDER if name.endswith("__") else name != "_"
