"""What a YAML file says, as values that know where they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import opschema
from mtcodegen.expr import Expr
from mtcodegen.findings.source import Place, Span, Text
from mtcodegen.system.values import dataclass

__all__ = [
    "Backward",
    "Cast",
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
    "declared_devices",
    "default_device_check",
    "default_overlap_check",
    "devices_beside",
]


@dataclass(frozen=True, eq=False)
class Formula:
    """An expression as written and as read."""

    text: Text
    expr: Expr


@dataclass(frozen=True, eq=False)
class Check:
    """A precondition. ``message`` is a text cut at its expressions; where it is empty, the runtime words the error."""

    condition: Formula
    error: str = ""  # the exception's class; empty: the library's own
    message: tuple[str | Formula, ...] = ()


@dataclass(frozen=True, eq=False)
class PythonFunction:
    """``module:function``."""

    text: Text

    @property
    def reference(self) -> str:
        """The text's value."""
        return self.text.value


@dataclass(frozen=True, eq=False)
class FakeRule:
    """Shape, dtype and device of one output; ``shape`` is one expression or one a dimension."""

    place: Place
    like: Formula | None = None
    shape: Formula | tuple[Formula, ...] | None = None
    dtype: Formula | None = None
    device: Formula | None = None


@dataclass(frozen=True, eq=False)
class KernelArg:
    """An argument of a launched kernel: ``type`` names the attribute of ``npu`` that declares how it is passed."""

    value: Formula
    type: str = "ptr"


@dataclass(frozen=True)
class BuildOptions:
    """What the sources of a kernel are compiled with: folders of headers, macros by name, and options as they are."""

    include: tuple[str, ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class HostTiling:
    """The file of an operator's host side that declares a kernel's tiling struct, and the struct's name."""

    path: Text
    name: Text


@dataclass(frozen=True, eq=False)
class Launch:
    """A kernel in a library, or in sources that are built on first use."""

    symbol: str
    abi: str
    library: Text | None
    sources: tuple[Text, ...]
    args: tuple[KernelArg, ...]
    block_dim: Formula | None
    workspace: Formula | None
    tiling: Mapping[str, KernelArg]  # an array's elements each, as they stand behind one another
    host_tiling: HostTiling | None = None
    build: BuildOptions = BuildOptions()


@dataclass(frozen=True, eq=False)
class Mindspore:
    """A MindSpore primitive; ``args`` is None where it takes the operator's tensors."""

    primitive: str
    args: tuple[Formula, ...] | None
    attrs: Mapping[str, Formula]


@dataclass(frozen=True, eq=False)
class Compute:
    """Outputs as expressions over other operators."""

    formulas: tuple[Formula, ...]


@dataclass(frozen=True, eq=False)
class Variant:
    """A kernel that calls the operator ``base``, and copies its result into the variant's arguments where it has to."""

    base: opschema.Schema


KernelBody = Launch | PythonFunction | Mindspore | Compute | Variant


@dataclass(frozen=True, eq=False)
class KernelSpec:
    """One kernel. No ``devices``: it runs on every one."""

    place: Place
    devices: tuple[str, ...]
    dtypes: tuple[str, ...]
    when: Formula | None
    body: KernelBody


@dataclass(frozen=True, eq=False)
class Derivative:
    """The gradient of some arguments: a formula, or None where there is none.

    ``marker`` then says why: ``not_differentiable`` (no gradient flows) or ``not_implemented`` (backward raises).
    """

    key: Text
    arguments: tuple[str, ...]
    formula: Formula | None
    marker: str = ""
    by_device: Mapping[str, Formula] = field(default_factory=dict)  # formulas that differ from the default one


@dataclass(frozen=True, eq=False)
class Backward:
    """The gradients of an operator; with a ``function`` they are hand-written, with a ``marker`` there are none."""

    key: Text
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

    key: Text
    name: str
    formula: Formula | None
    marker: str = ""


@dataclass(frozen=True, eq=False)
class Forward:
    """Forward-mode differentiation of an operator; with a ``function`` it is hand-written."""

    key: Text
    tangents: tuple[Tangent, ...] = ()
    function: PythonFunction | None = None
    marker: str = ""  # of all outputs


@dataclass(frozen=True, eq=False)
class Values:
    """A list among sample values: nested numbers for a tensor, or one value for each element of a list."""

    span: Span
    items: tuple[Sample, ...]


Sample = Formula | Values


@dataclass(frozen=True, eq=False)
class Example:
    """Arguments of one call by name, and the expected result: one sample an output, none where nothing is expected."""

    place: Place
    names: Place  # the arguments' names
    arguments: Mapping[str, Sample]
    expected: tuple[Sample, ...] = ()
    tolerance: float = 1e-5


@dataclass(frozen=True, eq=False)
class Cast:
    """What autocast makes of tensors on a device: a dtype, or ``promote``."""

    key: Text
    policy: str

    @property
    def device(self) -> str:
        """The device's name."""
        return self.key.value


@dataclass(frozen=True, eq=False)
class OpSpec:
    """One operator. ``schema`` always has its namespace."""

    place: Place
    func: Text
    schema: opschema.Schema
    doc: str = ""
    tags: tuple[str, ...] = ()
    variants: tuple[str, ...] = ("function",)
    device_check: str = "NoCheck"  # which mixtures of devices its tensors may have
    overlap_check: tuple[str, ...] = ()  # which overlaps of the memory it writes to are refused
    checks: tuple[Check, ...] = ()
    fakes: tuple[FakeRule, ...] = ()
    fake_function: PythonFunction | None = None
    kernels: tuple[KernelSpec, ...] = ()
    backward: Backward | None = None
    forward: Forward | None = None
    deprecated: str = ""
    autogen: tuple[Text, ...] = ()
    autogen_as: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # variant -> its own `variants`
    aliases: tuple[Text, ...] = ()  # other names of the operator and its variants
    aliases_as: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # name -> its own `variants`
    fallback: str = ""
    autocast: tuple[Cast, ...] = ()
    graph_update: tuple[Text, ...] = ()  # arguments that may change in a captured graph
    graph_hooks: Mapping[str, Text] = field(default_factory=dict)  # hook -> `out`, or a function of Python
    examples: tuple[Example, ...] = ()
    output_differentiability: tuple[bool, ...] = ()  # one an output; empty: all of them
    devices: tuple[str, ...] = ()  # of all kernels, where a target leaves some of them out
    made_of: opschema.Schema | None = None  # for what `autogen` or `aliases` made: the schema of its entry


def declared_devices(kernels: Sequence[KernelSpec]) -> tuple[str, ...]:
    """The devices that kernels are for, in the order of declaration; meta is none."""
    named = [device for kernel in kernels for device in kernel.devices if device != "meta"]
    return tuple(dict.fromkeys(named))


def devices_beside(spec: OpSpec, kept: Sequence[KernelSpec]) -> tuple[str, ...]:
    """The devices of an entry, where those of the kernels that a target keeps are others; else empty."""
    devices = declared_devices(spec.kernels)
    return () if devices == declared_devices(kept) else devices


def default_device_check(tags: Sequence[str]) -> str:
    """What PyTorch checks: pointwise operators take CPU scalars beside other devices, all others one device."""
    return "CPUScalars" if "pointwise" in tags else "ExactSame"


def default_overlap_check(tags: Sequence[str]) -> tuple[str, ...]:
    """Memory overlaps that are refused; none where an operator only changes a tensor's shape and strides."""
    return () if "inplace_view" in tags else ("Internal", "Partial")


@dataclass(frozen=True, eq=False)
class File:
    """One YAML file's operators."""

    path: str
    ops: tuple[OpSpec, ...] = field(default_factory=tuple)
    is_pending: bool = False  # its module is imported when one of its names is first used
