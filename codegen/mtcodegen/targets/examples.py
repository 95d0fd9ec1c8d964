"""Examples as tests: the samples and expected results as functions, and which tests each takes part in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import opschema
from mtcodegen.entries.composite import is_composite, runs_on_meta
from mtcodegen.entries.model import Example, File, Formula, OpSpec, Sample, Values
from mtcodegen.entries.schemas import fresh_returns, tensor_arguments
from mtcodegen.expr import Expr, Literal, Name, walk
from mtcodegen.pycode.expressions import attribute, to_python
from mtcodegen.pycode.literals import quoted
from mtcodegen.pycode.names import RESERVED, Names
from mtcodegen.system.values import dataclass

__all__ = ["Tests", "plan_tests"]

_USED = frozenset(
    {
        *("EXAMPLES", "DEVICES", "FAKES", "GRADIENTS", "TANGENTS", "VALUES"),
        *("Iterable", "Path", "forward_ad", "gradcheck", "importlib", "pytest"),
    }
)
_DOUBLE = "float64"


@dataclass(frozen=True, eq=False)
class Expected:
    """The function that says what a sample results in; ``locals`` are the arguments that it reads of ``parameter``."""

    name: str
    parameter: str
    locals: tuple[tuple[str, str], ...]
    values: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Sampled:
    """The function that makes an example's arguments, by their names as text."""

    name: str
    arguments: tuple[tuple[str, str], ...]
    expected: Expected | None


@dataclass(frozen=True, eq=False)
class Row:
    """A row of a test's table: an operator, what the test takes, and what the row is called."""

    operator: str
    values: tuple[str, ...]
    title: str


@dataclass(frozen=True, eq=False)
class Tests:
    """A test module: functions that make samples, and the rows of each test's table."""

    source: str
    module: str
    probe: tuple[str, str]  # the namespace and name of an operator: it exists once the module was imported
    samples: tuple[Sampled, ...]
    values: tuple[Row, ...]  # sample, expected, tolerance
    devices: tuple[Row, ...]  # sample, device, tolerance
    fakes: tuple[Row, ...]  # sample
    gradients: tuple[Row, ...]  # sample, names of the arguments, dtype
    tangents: tuple[Row, ...]  # the same, of operators with forward-mode formulas


def plan_tests(file: File, source: str, module: str) -> Tests | None:
    """The tests for the examples of ``file``; None where it has none."""
    names = Names(_USED, reserved=RESERVED)
    found = [_Planned(spec, example, i, names) for spec in file.ops for i, example in enumerate(spec.examples, start=1)]
    if not found:
        return None
    first = found[0].schema
    return Tests(
        source=source,
        module=module,
        probe=(attribute("torch.ops", first.namespace or ""), first.name),
        samples=tuple(item.sampled for item in found),
        values=tuple(row for item in found for row in item.values()),
        devices=tuple(row for item in found for row in item.devices()),
        fakes=tuple(row for item in found for row in item.fakes()),
        gradients=tuple(row for item in found for row in item.gradients()),
        tangents=tuple(row for item in found for row in item.tangents()),
    )


class _Planned:
    """One example, with the names of its functions."""

    def __init__(self, spec: OpSpec, example: Example, number: int, names: Names) -> None:
        self.spec, self.schema, self.example, self.number = spec, spec.schema, example, number
        self.local = Names(reserved=RESERVED)
        self.spelled = self.local.each([argument.name for argument in spec.schema.arguments])
        overload = f"_{spec.schema.overload}" if spec.schema.overload else ""
        stem = f"{spec.schema.name}{overload}".strip("_").lower()
        self.sample = names.unique(f"_{stem}_example_{number}")
        self.expected = names.unique(f"{self.sample}_expected") if example.expected else ""
        self.sampled = Sampled(self.sample, tuple(self._arguments()), self._expected() if example.expected else None)

    def _arguments(self) -> Iterable[tuple[str, str]]:
        types = {argument.name: argument.type for argument in self.schema.arguments}
        for name, sample in self.example.arguments.items():
            yield quoted(name), self._value(sample, types[name])

    def _python(self, expr: Expr) -> str:
        # Not `torch.add`: the top level has functions of its own, and lacks operators that are only methods.
        return to_python(expr, self.spelled, "torch.ops.aten")

    def _value(self, sample: Sample, type_: opschema.Type) -> str:
        bare = type_.elem if isinstance(type_, opschema.OptionalType) else type_
        if isinstance(sample, Formula):
            code = self._python(sample.expr)
            is_named_device = bare == opschema.BaseType("Device") and isinstance(sample.expr, Literal)
            return f"torch.device({code})" if is_named_device and sample.expr != Literal(None) else code
        if isinstance(bare, opschema.ListType):
            return f"[{', '.join(self._value(item, bare.elem) for item in sample.items)}]"
        return f"torch.tensor({self._numbers(sample)})"

    def _numbers(self, sample: Sample) -> str:
        if isinstance(sample, Values):
            return f"[{', '.join(map(self._numbers, sample.items))}]"
        return self._python(sample.expr)

    def _expected(self) -> Expected:
        """What is expected, from a sample."""
        formulas = [sample for sample in self.example.expected if isinstance(sample, Formula)]
        read = {node.id for formula in formulas for node in walk(formula.expr) if isinstance(node, Name)}
        name = self.local.unique("sample")
        variables = tuple(
            (self.spelled[argument.name], _taken(argument, name))
            for argument in self.schema.arguments
            if argument.name in read
        )
        pairs = zip(self.example.expected, self.schema.returns, strict=True)
        values = tuple(self._value(sample, ret.type) for sample, ret in pairs)
        return Expected(self.expected, name if variables else "_sample", variables, values)

    # ------------------------------------------------------------ rows of the tables

    def _row(self, *values: str) -> Row:
        schema = self.schema
        operator = attribute("torch.ops", schema.namespace or "", schema.name, schema.overload or "default")
        return Row(operator, values, quoted(f"{schema.qualname} (example {self.number})"))

    def values(self) -> Iterable[Row]:
        """The result is the expected one."""
        if self.example.expected:
            yield self._row(self.sample, self.expected, repr(self.example.tolerance))

    def devices(self) -> Iterable[Row]:
        """Kernels of other devices agree with that for cpu."""
        devices = dict.fromkeys(device for kernel in self.spec.kernels for device in kernel.devices)
        for device in devices if _runs_on_cpu(self.spec) else ():
            if device not in ("cpu", "meta"):
                yield self._row(self.sample, quoted(device), repr(self.example.tolerance))

    def fakes(self) -> Iterable[Row]:
        """The fake rule gives the shapes and dtypes of the real result."""
        spec = self.spec
        has_rule = bool(spec.fakes or spec.fake_function) or runs_on_meta(spec) or not fresh_returns(spec.schema)
        if has_rule and tensor_arguments(spec.schema) and spec.schema.returns and _runs_on_cpu(spec):
            yield self._row(self.sample)

    def gradients(self) -> Iterable[Row]:
        """Gradients are the numerical ones."""
        spec = self.spec
        names = [name for name in _differentiated(spec) if name in self.example.arguments]
        if not names or spec.schema.kind is not opschema.SchemaKind.FUNCTIONAL or not _runs_on_cpu(spec):
            return
        dtype = _gradient_dtype(spec)
        if dtype:
            yield self._row(self.sample, f"[{', '.join(map(quoted, names))}]", f"torch.{dtype}")

    def tangents(self) -> Iterable[Row]:
        """Tangents agree with gradients, where both are given."""
        forward = self.spec.forward
        has_rule = forward is not None and all(item.marker != "not_implemented" for item in forward.tangents)
        return self.gradients() if has_rule else ()


def _taken(argument: opschema.Argument, sample: str) -> str:
    """The value of an argument in a sample, or its default."""
    if not argument.has_default:
        return f'{sample}["{argument.name}"]'
    return f'{sample}.get("{argument.name}", {_default(argument)})'


_REDUCTIONS = {"Mean": "1", "Sum": "2"}  # constants of a schema that are numbers in Python


def _default(argument: opschema.Argument) -> str:
    value, name = argument.default_value, opschema.base_of(argument.type).name
    if isinstance(value, opschema.Identifier):
        return f"torch.{value}" if name == "ScalarType" else _REDUCTIONS.get(str(value), quoted(str(value)))
    if not isinstance(value, str):
        return repr(value)
    return f"torch.device({quoted(value)})" if name == "Device" else quoted(value)


def _runs_on_cpu(spec: OpSpec) -> bool:
    return any(not kernel.devices or "cpu" in kernel.devices for kernel in spec.kernels)


def _differentiated(spec: OpSpec) -> Sequence[str]:
    """The arguments that have a gradient, by a formula or through the parts of a composed operator."""
    backward = spec.backward
    if backward is not None and backward.function is None:
        return [name for item in backward.derivatives if item.formula is not None for name in item.arguments]
    if backward is None and not is_composite(spec):
        return ()
    return [argument.name for argument in spec.schema.arguments if opschema.base_of(argument.type).name == "Tensor"]


def _gradient_dtype(spec: OpSpec) -> str:
    """The most exact dtype that a kernel for cpu takes; empty where none is floating."""
    taken = [kernel.dtypes for kernel in spec.kernels if not kernel.devices or "cpu" in kernel.devices]
    if any(not dtypes or _DOUBLE in dtypes for dtypes in taken):
        return _DOUBLE
    return "float32" if any("float32" in dtypes for dtypes in taken) else ""
