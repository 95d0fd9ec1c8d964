"""Entries -> YAML text that reads as the same entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mtcodegen.importer.pytorch.derivatives import Derivatives, Formula
from mtcodegen.importer.pytorch.native import NativeFunction
from mtcodegen.importer.pytorch.printer import to_cpp
from mtcodegen.importer.render import yaml_text

__all__ = ["derivatives_text", "native_function_text"]


def native_function_text(function: NativeFunction) -> str:
    """An entry of native_functions.yaml, with every key that says more than its default."""
    return f"- func: {yaml_text(str(function.schema))}\n" + "".join(f"  {line}\n" for line in _native_lines(function))


def _native_lines(function: NativeFunction) -> Iterator[str]:
    if function.variants != ("function",):
        yield f"variants: {', '.join(function.variants)}"
    for key in ("python_module", "structured_delegate", "structured_inherits", "category_override"):
        if value := getattr(function, key):
            yield f"{key}: {yaml_text(value)}"
    for key in ("structured", "manual_cpp_binding", "manual_kernel_registration", "use_const_ref_for_mutable_tensors"):
        if getattr(function, key):
            yield f"{key}: True"
    if not function.device_guard:
        yield "device_guard: False"
    if function.device_check != "ExactSame":
        yield f"device_check: {function.device_check}"
    if function.dispatch:
        yield "dispatch:"
        yield from (f"  {', '.join(item.keys)}: {item.kernel}" for item in function.dispatch)
    if function.ufunc_inner_loop:
        yield "ufunc_inner_loop:"
        yield from (f"  {key}: {yaml_text(value)}" for key, value in function.ufunc_inner_loop)
    if function.precomputed:
        yield "precomputed:"
    for item in function.precomputed:
        listed = ", ".join(f"{type_} {name}" for type_, name in item.replacements)
        yield f"- {yaml_text(f'{item.argument} -> {listed}' if item.argument else listed)}"
    for key in ("tags", "cpp_no_default_args"):
        if names := getattr(function, key):
            yield f"{key}: [{', '.join(names)}]"
    if function.autogen:
        yield f"autogen: {', '.join(function.autogen)}"


def derivatives_text(entry: Derivatives) -> str:
    """An entry of derivatives.yaml, its formulas printed from their trees."""
    lines = [f"- name: {yaml_text(str(entry.schema))}"]
    if entry.condition is not None:
        lines += ["  output_differentiability:", f"  - {yaml_text(to_cpp(entry.condition[1]))}"]
    elif entry.output_differentiability:
        lines.append(f"  output_differentiability: [{', '.join(map(str, entry.output_differentiability))}]")
    if "dispatch" not in entry.place:
        lines += _formula_lines(entry.variants[0].formulas, "  ")
    else:
        lines.append("  dispatch:")
        for variant in entry.variants:
            lines += [f"    {variant.key}:", *_formula_lines(variant.formulas, "      ")]
    return "".join(f"{line}\n" for line in lines)


def _formula_lines(formulas: Iterable[Formula], indent: str) -> list[str]:
    return [f"{indent}{', '.join(formula.names)}: {_formula_text(formula)}" for formula in formulas]


def _formula_text(formula: Formula) -> str:
    if formula.expr is not None:
        return yaml_text(to_cpp(formula.expr))
    return formula.kind.value
