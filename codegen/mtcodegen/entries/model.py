"""What a YAML file says, as values that know where they stand."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field

import opschema
from mtcodegen.document.nodes import Mapping, Node, Scalar, Sequence
from mtcodegen.expr import Expr

__all__ = [
    "Backward",
    "Check",
    "Compute",
    "Derivative",
    "Example",
    "FakeRule",
    "File",
    "Formula",
    "Forward",
    "KernelArg",
    "KernelBody",
    "KernelSpec",
    "Launch",
    "Mindspore",
    "OpSpec",
    "PythonFunction",
    "Sample",
    "Tangent",
    "Values",
    "Variant",
    "default_device_check",
    "default_overlap_check",
]


@dataclass(frozen=True, eq=False)
class Formula:
    """An expression as written (``node``) and as read."""

    node: Scalar
    expr: Expr


@dataclass(frozen=True, eq=False)
class Check:
    """A precondition. ``message`` is a text's parts, with expressions between; without one a sentence is made."""

    condition: Formula
    error: str = ""  # the exception's class; empty: the library's own
    message: tuple[str | Formula, ...] = ()


@dataclass(frozen=True, eq=False)
class PythonFunction:
    """``module:function``."""

    node: Scalar

    @property
    def reference(self) -> str:
        """The text."""
        return self.node.value


@dataclass(frozen=True, eq=False)
class FakeRule:
    """Shape, dtype and device of one output; ``shape`` is one expression or one a dimension."""

    node: Mapping
    like: Formula | None = None
    shape: Formula | tuple[Formula, ...] | None = None
    dtype: Formula | None = None
    device: Formula | None = None


@dataclass(frozen=True, eq=False)
class KernelArg:
    """An argument of a launched kernel: ``type`` names the attribute of ``npu`` that declares how it is passed."""

    value: Formula
    type: str = "ptr"


@dataclass(frozen=True, eq=False)
class Launch:
    """A kernel in a library, or in sources that are built on first use."""

    symbol: str
    abi: str
    library: Scalar | None
    sources: tuple[Scalar, ...]
    args: tuple[KernelArg, ...]
    block_dim: Formula | None
    workspace: Formula | None
    tiling: MappingOf[str, KernelArg]


@dataclass(frozen=True, eq=False)
class Mindspore:
    """A MindSpore primitive; ``args`` is None where it takes the operator's tensors."""

    primitive: str
    args: tuple[Formula, ...] | None
    attrs: MappingOf[str, Formula]


@dataclass(frozen=True, eq=False)
class Compute:
    """Outputs as expressions over other operators."""

    formulas: tuple[Formula, ...]


@dataclass(frozen=True, eq=False)
class Variant:
    """A kernel made of another operator, that of ``base``: in place of it, into given outputs, or writing nothing."""

    base: opschema.Schema


KernelBody = Launch | PythonFunction | Mindspore | Compute | Variant


@dataclass(frozen=True, eq=False)
class KernelSpec:
    """One kernel. No ``devices``: it runs on every one."""

    node: Mapping
    devices: tuple[str, ...]
    dtypes: tuple[str, ...]
    when: Formula | None
    body: KernelBody


@dataclass(frozen=True, eq=False)
class Derivative:
    """The gradient of some arguments: a formula, or None where there is none.

    ``marker`` then says why: ``not_differentiable`` (no gradient flows) or ``not_implemented`` (backward raises).
    """

    key: Scalar
    arguments: tuple[str, ...]
    formula: Formula | None
    marker: str = ""
    by_device: MappingOf[str, Formula] = field(default_factory=dict)  # formulas that differ from the default one


@dataclass(frozen=True, eq=False)
class Backward:
    """The gradients of an operator; with a ``function`` they are hand-written, with a ``marker`` there are none."""

    node: Node
    key: Scalar
    derivatives: tuple[Derivative, ...] = ()
    function: PythonFunction | None = None
    setup_context: PythonFunction | None = None
    marker: str = ""


@dataclass(frozen=True, eq=False)
class Tangent:
    """The tangent of the output called ``name``: a formula, or None where the ``marker`` says what it is.

    Markers are ``auto_linear`` (the operator itself, of the tangents), ``auto_element_wise`` (the gradients' formulas,
    of the tangents), ``not_differentiable`` (there is none) and ``not_implemented`` (asking for it raises).
    """

    key: Scalar
    name: str
    formula: Formula | None
    marker: str = ""


@dataclass(frozen=True, eq=False)
class Forward:
    """Forward-mode differentiation of an operator; with a ``function`` it is hand-written."""

    node: Node
    key: Scalar
    tangents: tuple[Tangent, ...] = ()
    function: PythonFunction | None = None
    marker: str = ""  # of all outputs


@dataclass(frozen=True, eq=False)
class Values:
    """A list among sample values: nested numbers for a tensor, or one value for each element of a list."""

    node: Sequence
    items: tuple[Sample, ...]


Sample = Formula | Values


@dataclass(frozen=True, eq=False)
class Example:
    """Arguments of one call by name, and the expected result: one sample an output, none where nothing is expected."""

    node: Mapping
    arguments: MappingOf[str, Sample]
    expected: tuple[Sample, ...] = ()
    tolerance: float = 1e-5


@dataclass(frozen=True, eq=False)
class OpSpec:
    """One operator. ``schema`` always has its namespace."""

    node: Mapping
    func: Scalar
    schema: opschema.Schema
    doc: str = ""
    tags: tuple[str, ...] = ()
    variants: tuple[str, ...] = ("function",)
    device_check: str = "NoCheck"  # which devices its tensors may be on together
    overlap_check: tuple[str, ...] = ()  # what is refused of memory that it writes to
    checks: tuple[Check, ...] = ()
    fakes: tuple[FakeRule, ...] = ()
    fake_function: PythonFunction | None = None
    kernels: tuple[KernelSpec, ...] = ()
    backward: Backward | None = None
    forward: Forward | None = None
    deprecated: str = ""
    autogen: tuple[Scalar, ...] = ()
    autogen_as: MappingOf[str, tuple[str, ...]] = field(default_factory=dict)  # variant -> its own `variants`
    fallback: str = ""
    autocast: MappingOf[str, str] = field(default_factory=dict)  # device -> dtype or "promote"
    graph_update: tuple[Scalar, ...] = ()  # arguments that may change in a captured graph
    examples: tuple[Example, ...] = ()
    output_differentiability: tuple[bool, ...] = ()  # one an output; empty: all of them
    made_of: opschema.Schema | None = None  # of a variant that `autogen` made: the operator with the entry

    @property
    def place(self) -> str:
        """``ops.yaml:3``: where the operator is declared, without folders."""
        return place_of(self.node)


def default_device_check(tags: SequenceOf[str]) -> str:
    """The rule of PyTorch's iterator over elements, or that of its other operators."""
    return "CPUScalars" if "pointwise" in tags else "ExactSame"


def default_overlap_check(tags: SequenceOf[str]) -> tuple[str, ...]:
    """What is refused unless an operator only changes how the elements are seen."""
    return () if "inplace_view" in tags else ("Internal", "Partial")


def place_of(node: Node) -> str:
    """The file's own name and the line of a node."""
    return f"{node.source.name}:{node.line}"


@dataclass(frozen=True, eq=False)
class File:
    """One YAML file's operators."""

    path: str
    ops: tuple[OpSpec, ...] = field(default_factory=tuple)
