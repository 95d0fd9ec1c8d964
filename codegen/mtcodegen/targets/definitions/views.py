"""What the templates see: a module and its operators as values. Only expressions and names are text.

Which statements these become, and in which order, is said by ``templates/`` alone.
"""

from __future__ import annotations

from mtcodegen.system.values import dataclass

__all__ = ["Call", "Check", "Choice", "Derivatives", "Kernel", "Launcher", "Module", "Operator", "Option", "Tangents"]


@dataclass(frozen=True, eq=False)
class Option:
    """An argument that is passed by name: to the decorator, to a launch."""

    name: str
    value: str


@dataclass(frozen=True, eq=False)
class Check:
    """Conditions that each must hold; ``message`` is what the error says, ``error`` its class, both empty as a rule.

    ``locals`` are variables that both read: what a message chooses among values would not be read inside a string.
    """

    conditions: tuple[str, ...]
    message: str = ""
    error: str = ""
    locals: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Kernel:
    """What runs on some devices. ``kind``: launch, python, mindspore, compute, variant_of, or returns (on any)."""

    kind: str
    device: str = ""  # empty for the default one
    callee: str = ""
    arguments: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    locals: tuple[tuple[str, str], ...] = ()  # variables that it needs before: scratch memory, tiling data
    targets: tuple[str, ...] = ()  # of ``returns``: variables for the outputs, where something reads one


@dataclass(frozen=True, eq=False)
class Choice:
    """Kernels of which the first whose condition holds runs; an empty condition always does."""

    kernels: tuple[tuple[str, Kernel], ...]


@dataclass(frozen=True, eq=False)
class Derivatives:
    """A gradient. ``kind``: formulas, backward (by hand), not_differentiable or not_implemented."""

    kind: str
    parameters: tuple[str, ...] = ()
    gradients: tuple[tuple[str, str], ...] = ()  # argument, gradient
    marks: str = ""  # whether each output is differentiable; empty where all are
    function: str = ""
    setup_context: str = ""


@dataclass(frozen=True, eq=False)
class Tangents:
    """Tangents of the outputs: expressions, a hand-written ``function``, or the error that says why there are none."""

    parameters: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    function: str = ""
    refusal: str = ""


@dataclass(frozen=True, eq=False)
class Call:
    """The outputs: variables for those that something reads, and how each is made."""

    targets: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Operator:
    """One operator: the function that defines it."""

    name: str
    library: str
    schema: str
    options: tuple[Option, ...]
    parameters: tuple[str, ...]
    doc: tuple[str, ...]  # the docstring's lines, with its quotes
    checks: tuple[Check, ...]
    returns: Call | None
    kernels: tuple[Choice, ...]
    gradient: Derivatives | None
    tangents: Tangents | None

    @property
    def is_empty(self) -> bool:
        """Whether the function has no body: only a schema is declared."""
        return not (self.doc or self.checks or self.returns or self.kernels or self.gradient or self.tangents)


@dataclass(frozen=True, eq=False)
class Launcher:
    """A library of kernels at a path, or one that is made of sources, and what that is called."""

    name: str
    library: str
    sources: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, eq=False)
class Module:
    """One YAML file's operators."""

    source: str
    docstring: str
    libraries: tuple[tuple[str, str], ...]  # name of the variable, namespace
    launchers: tuple[Launcher, ...]
    operators: tuple[Operator, ...]
    aliases: tuple[tuple[str, str], ...]  # a name for all overloads of an operator, and what they are
    exported: tuple[str, ...]
    noqa: tuple[str, ...]
