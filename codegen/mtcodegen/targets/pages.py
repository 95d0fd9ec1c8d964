"""Operators as pages for people: what each takes, where it runs, what comes out, and its gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mtcodegen.entries.composite import is_composite
from mtcodegen.entries.model import (
    Backward,
    Compute,
    Derivative,
    FakeRule,
    File,
    Formula,
    KernelSpec,
    Launch,
    Mindspore,
    OpSpec,
    PythonFunction,
    Variant,
)
from mtcodegen.entries.states import states
from mtcodegen.system.values import dataclass

__all__ = ["Page", "plan_page"]


@dataclass(frozen=True)
class Row:
    """A line of a table: what it is about, and what is said of it; ``code`` is shown as such."""

    subject: str
    code: str
    note: str = ""


@dataclass(frozen=True)
class Entry:
    """One operator."""

    name: str
    anchor: str
    schema: str
    doc: str
    deprecated: str
    facts: tuple[Row, ...]
    checks: tuple[str, ...]
    kernels: tuple[Row, ...]
    outputs: tuple[Row, ...]
    gradients: tuple[Row, ...]


@dataclass(frozen=True)
class Page:
    """The operators of one YAML file."""

    source: str
    title: str
    entries: tuple[Entry, ...]


def plan_page(file: File, source: str) -> Page:
    """The page on the operators of ``file``."""
    return Page(source, source.rpartition(".")[0], tuple(_entry(spec) for spec in file.ops))


def _entry(spec: OpSpec) -> Entry:
    name = spec.schema.qualname
    return Entry(
        name=name,
        anchor=name.replace("::", "-").replace(".", "-"),
        schema=str(spec.schema),
        doc=spec.doc,
        deprecated=spec.deprecated,
        facts=tuple(_facts(spec)),
        checks=tuple(_text(check.condition) for check in spec.checks),
        kernels=tuple(_kernel(kernel) for kernel in spec.kernels),
        outputs=tuple(_outputs(spec)),
        gradients=(*_gradients(spec), *_tangents(spec)),
    )


def _text(formula: Formula) -> str:
    return " ".join(formula.text.value.split())


def _facts(spec: OpSpec) -> list[Row]:
    facts = [Row("status", "", _status(states(spec)))]
    facts += [Row("tags", ", ".join(spec.tags))] if spec.tags else []
    facts += [Row("callable as", " and ".join(spec.variants))] if "method" in spec.variants else []
    facts += [Row("without a kernel", spec.fallback)] if spec.fallback else []
    updated = ", ".join(name.value for name in spec.graph_update)
    facts += [Row("updated in a captured graph", updated)] if updated else []
    hooks = ", ".join(f"{hook}: {value.value}" for hook, value in spec.graph_hooks.items())
    facts += [Row("captured in a graph by", hooks)] if hooks else []
    return facts + [Row(f"autocast on {cast.device}", cast.policy) for cast in spec.autocast]


def _status(found: Mapping[str, str]) -> str:
    """The states of an operator, and the devices that each is on."""
    if len(set(found.values())) == 1:
        return f"{next(iter(found.values()))} on every device"
    kinds = {kind: [device for device in found if found[device] == kind] for kind in dict.fromkeys(found.values())}
    return "; ".join(f"{kind} on {', '.join(there)}" for kind, there in kinds.items())


def _kernel(kernel: KernelSpec) -> Row:
    conditions = [f"dtypes {', '.join(kernel.dtypes)}"] if kernel.dtypes else []
    conditions += [f"when {_text(kernel.when)}"] if kernel.when is not None else []
    form, code = _body(kernel)
    return Row(", ".join(kernel.devices) or "every device", code, "; ".join([form, *conditions]))


def _body(kernel: KernelSpec) -> tuple[str, str]:
    """How a kernel is made, and what it is."""
    match kernel.body:
        case Launch(symbol=symbol, abi=abi, library=library, sources=sources):
            where = library.value if library is not None else ", ".join(item.value for item in sources)
            return f"launched from {where}, abi {abi}", symbol
        case PythonFunction() as function:
            return "Python", function.reference
        case Mindspore(primitive=primitive):
            return "MindSpore", primitive
        case Compute(formulas=formulas):
            return "computed", ", ".join(map(_text, formulas))
        case Variant(base=base):
            return "made of", base.qualname


def _outputs(spec: OpSpec) -> list[Row]:
    if spec.fake_function is not None:
        return [Row("all", spec.fake_function.reference, "Python")]
    names = [ret.name or f"output {i}" for i, ret in enumerate(spec.schema.returns)]
    fresh = [name for name, ret in zip(names, spec.schema.returns, strict=True) if ret.alias is None]
    return [Row(name, _rule(rule)) for name, rule in zip(fresh, spec.fakes, strict=False)]


def _rule(rule: FakeRule) -> str:
    shape = rule.shape
    sizes = (
        [f"[{', '.join(map(_text, shape))}]" if isinstance(shape, tuple) else _text(shape)] if shape is not None else []
    )
    parts = [f"like: {_text(rule.like)}"] if rule.like is not None else []
    parts += [f"shape: {size}" for size in sizes]
    parts += [f"dtype: {_text(rule.dtype)}"] if rule.dtype is not None else []
    parts += [f"device: {_text(rule.device)}"] if rule.device is not None else []
    return ", ".join(parts)


def _gradients(spec: OpSpec) -> Sequence[Row]:
    backward = spec.backward
    if backward is None:
        return [Row("all", "", "through the operators that it is made of")] if is_composite(spec) else []
    if backward.function is not None:
        return [Row("all", backward.function.reference, "Python")]
    if backward.marker:
        return [Row("all", "", _words(backward.marker))]
    return _rows(backward)


def _tangents(spec: OpSpec) -> list[Row]:
    """Forward mode, where it has formulas of its own."""
    forward = spec.forward
    if forward is None:
        return []
    if forward.function is not None:
        return [Row("tangents", forward.function.reference, "Python")]
    return [
        Row(f"tangent of {item.name}", _text(item.formula))
        if item.formula is not None
        else Row(f"tangent of {item.name}", "", _words(item.marker))
        for item in forward.tangents
    ]


def _rows(backward: Backward) -> list[Row]:
    return [row for derivative in backward.derivatives for row in _derivative(derivative)]


def _derivative(derivative: Derivative) -> list[Row]:
    names = ", ".join(derivative.arguments)
    if derivative.formula is None:
        return [Row(names, "", _words(derivative.marker))]
    others = [Row(names, _text(formula), f"on {device}") for device, formula in derivative.by_device.items()]
    return [Row(names, _text(derivative.formula)), *others]


def _words(marker: str) -> str:
    return marker.replace("_", " ")
