"""``mtcodegen show``: all about one operator."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

from mtcodegen.cli.common import add_inputs, wants_colour
from mtcodegen.cli.list import add_listing, gradient_of, specs_of
from mtcodegen.entries.model import Compute, FakeRule, KernelSpec, Launch, Mindspore, OpSpec, PythonFunction, Variant
from mtcodegen.findings.diagnostics import suggest
from mtcodegen.project.pyproject import UsageError

__all__ = ["DESCRIPTION", "EXAMPLES", "configure", "run"]

DESCRIPTION = """\
Show all about an operator: its schema, documentation, checks, shape rule, kernels by device in the order they are
tried, gradients, and where it is declared. A name without an overload shows all overloads."""
EXAMPLES = (
    ("mtcodegen show scaled_add", "in the files of pyproject.toml"),
    ("mtcodegen show fused::scaled_add ops.yaml", "in one file"),
    ("mtcodegen show --built-in aten::add.Tensor", "one that comes with the runtime"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("name", metavar="NAME", help="name, ns::name or ns::name.overload")
    add_inputs(parser)
    add_listing(parser)


def run(options: argparse.Namespace) -> int:
    """Show."""
    specs, code = specs_of(options, options.files)
    chosen = [spec for spec in specs if options.name in _names(spec)]
    if not chosen:
        hint = suggest(options.name, {name for spec in specs for name in _names(spec)})
        raise UsageError(f"there is no operator {options.name} in these files{f'; {hint}' if hint else ''}")
    if options.format == "json":
        sys.stdout.write(json.dumps([_object(spec) for spec in chosen], indent=2) + "\n")
    else:
        sys.stdout.write("\n".join(_text(spec, wants_colour(sys.stdout)) for spec in chosen))
    return code


def _names(spec: OpSpec) -> set[str]:
    full = spec.schema.qualname
    short = full.partition("::")[2]
    return {full, short, full.partition(".")[0], short.partition(".")[0]}


def _object(spec: OpSpec) -> dict[str, Any]:
    return {
        "name": spec.schema.qualname,
        "schema": str(spec.schema),
        "doc": spec.doc,
        "checks": [check.condition.text.value for check in spec.checks],
        "fake": _fakes(spec),
        "kernels": [_kernel(kernel) for kernel in spec.kernels],
        "gradient": gradient_of(spec),
        "gradients": _gradients(spec),
        "tangents": _tangents(spec),
        "graph": [name.value for name in spec.graph_update],
        "tags": list(spec.tags),
        "device_check": spec.device_check,
        "overlap_check": list(spec.overlap_check),
        "file": spec.place.span.source.path,
        "line": spec.place.span.line,
    }


def _kernel(kernel: KernelSpec) -> dict[str, Any]:
    result: dict[str, Any] = {"devices": list(kernel.devices) or ["any"], "runs": _body(kernel)}
    if kernel.dtypes:
        result["dtypes"] = list(kernel.dtypes)
    if kernel.when is not None:
        result["when"] = kernel.when.text.value
    return result | {"line": kernel.place.span.line}


def _body(kernel: KernelSpec) -> str:
    match kernel.body:
        case Launch(symbol=symbol, library=library, sources=sources):
            files = ", ".join(item.value for item in sources) or (library.value if library is not None else "?")
            return f"{symbol} of {files}"
        case PythonFunction() as function:
            return f"Python {function.reference}"
        case Mindspore(primitive=primitive):
            return f"MindSpore {primitive}"
        case Compute(formulas=formulas):
            return "; ".join(formula.text.value for formula in formulas)
        case Variant(base=base):
            return f"made of {base.qualname}"


def _gradients(spec: OpSpec) -> dict[str, str]:
    if spec.backward is None:
        return {}
    if spec.backward.function is not None:
        return {"all": spec.backward.function.reference}
    items = spec.backward.derivatives
    return {item.key.value: item.formula.text.value if item.formula is not None else item.marker for item in items}


def _tangents(spec: OpSpec) -> list[str]:
    forward = spec.forward
    if forward is None:
        return []
    if forward.function is not None:
        return [f"function: {forward.function.reference}"]
    items = forward.tangents
    return [f"{item.name}: {item.marker if item.formula is None else item.formula.text.value}" for item in items] or [
        forward.marker
    ]


def _fakes(spec: OpSpec) -> list[str]:
    """The rules for the outputs, one each, as in a file."""
    if spec.fake_function is not None:
        return [f"{{python: {spec.fake_function.reference}}}"]
    return [f"{{{', '.join(_rule(rule))}}}" for rule in spec.fakes]


def _rule(rule: FakeRule) -> Iterator[str]:
    for key, value in (("like", rule.like), ("shape", rule.shape), ("dtype", rule.dtype), ("device", rule.device)):
        if isinstance(value, tuple):
            yield f"{key}: [{', '.join(item.text.value for item in value)}]"
        elif value is not None:
            yield f"{key}: {value.text.value}"


def _text(spec: OpSpec, colour: bool) -> str:
    about = _object(spec)
    bold, plain = ("\x1b[1m", "\x1b[0m") if colour else ("", "")
    lines = [f"{bold}{about['schema']}{plain}", f"  declared at {about['file']}:{about['line']}"]
    if spec.doc:
        lines += ["", *(textwrap.indent(part, "  ") for part in spec.doc.splitlines())]
    sections = {
        "checks": about["checks"],
        "fake": about["fake"],
        "kernels": [_kernel_line(kernel) for kernel in about["kernels"]],
        "gradient": [f"{key}: {text}" for key, text in about["gradients"].items()] or [about["gradient"]],
        "tangents": about["tangents"],
        "updated in a captured graph": about["graph"],
        "tags": about["tags"],
    }
    for title, items in sections.items():
        if items:
            lines += ["", f"  {title}", *(f"    {item}" for item in items)]
    return "\n".join(lines) + "\n"


def _kernel_line(kernel: dict[str, Any]) -> str:
    conditions = [", ".join(kernel["dtypes"])] if "dtypes" in kernel else []
    conditions += [f"when {kernel['when']}"] if "when" in kernel else []
    condition = f" ({'; '.join(conditions)})" if conditions else ""
    return f"{' '.join(kernel['devices'])}: {kernel['runs']}{condition}"
