"""native_functions.yaml -> imported operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import opschema
from mtcodegen.entries.variants import variant_named
from mtcodegen.findings.source import Span
from mtcodegen.importer.devices import DEVICES
from mtcodegen.importer.gradients import DerivativeTable
from mtcodegen.importer.model import Imported, Kernel, Note
from mtcodegen.importer.pytorch.native import CPP_KEYS, NativeFunction

__all__ = ["COMPOSITE", "import_native", "python_kernel", "python_name"]

COMPOSITE = frozenset(
    {"CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"}
)


def import_native(
    functions: Sequence[NativeFunction],
    by_name: Mapping[str, NativeFunction],
    derivatives: DerivativeTable,
    kernels: str,
) -> tuple[list[Imported], list[Note]]:
    """``functions`` as operators, and notes on those that are left out.

    ``by_name`` has every function of the file, since one may have the kernels of another. ``kernels`` is the Python
    module that has their kernels; without it the operators have none.
    """
    makers = _makers(functions)
    operators = [_imported(function, makers, by_name, derivatives, kernels) for function in functions]
    kept = [item for item in operators if item.kernels or not kernels]
    return kept, _notes_on([item for item in operators if kernels and not item.kernels])


def _notes_on(left_out: Iterable[Imported]) -> list[Note]:
    reason = "it has kernels only for devices that there are not"
    found: list[Note] = []
    for item in left_out:
        made = [(f"autogen: {name}", item.span) for name in item.autogen]
        made += [
            (f"{', '.join(gradient.arguments)}: {gradient.text.value}", gradient.text.span)
            for one in item.gradients
            for gradient in (one, *one.by_device.values())
            if gradient.text is not None and gradient.formula != "not_implemented"  # those have notes already
        ]
        made += [(f"{tangent.output}: {tangent.text.value}", tangent.key.span) for tangent in item.forward]
        found.append(Note(str(item.schema), reason, item.span))
        found += [Note(text, "nothing is made of what is left out", span) for text, span in made]
        found += item.notes
    return found


def python_name(schema: opschema.Schema) -> str:
    """The Python function that an operator's kernel is looked for under."""
    return f"{schema.name}_{schema.overload}" if schema.overload else schema.name


def python_kernel(schema: opschema.Schema, devices: Iterable[str], module: str) -> Kernel:
    """A kernel in Python."""
    return Kernel(tuple(devices), f"{module}:{python_name(schema)}")


def _imported(
    function: NativeFunction,
    makers: Mapping[str, NativeFunction],
    by_name: Mapping[str, NativeFunction],
    derivatives: DerivativeTable,
    kernels: str,
) -> Imported:
    schema = function.schema
    span = function.func.locate(0, len(schema.qualname))
    imported = Imported(schema, span)
    target = by_name.get(function.structured_delegate, function)
    devices, composite = _devices(target)
    composite |= function.is_composite
    if kernels and (composite or devices):
        imported.kernels.append(python_kernel(schema, () if composite else devices, kernels))
        if not composite and "meta" not in devices and _makes_outputs(schema):
            imported.fake = ({"python": f"{kernels}:{python_name(schema)}_fake"},)
    imported.add_variants(function.variants)
    imported.add_tags(function.tags)
    if "device_check" in function.place:
        imported.device_check = function.device_check
    _note_kernels(imported, function, kernels)
    imported.note_keys(function.place, function.cpp, CPP_KEYS)
    if function.autogen:
        _carry_autogen(imported, function, makers, derivatives)
    derivatives.add_backward(imported, composite=function.is_composite)
    return imported


def _carry_autogen(
    imported: Imported, function: NativeFunction, makers: Mapping[str, NativeFunction], derivatives: DerivativeTable
) -> None:
    """Take over the variants that can be made here, and are not made of another entry; note the others."""
    key = function.place.key("autogen")
    value = function.autogen_span or key
    possible = [name for name in function.autogen if variant_named(function.schema, name) is not None]
    imported.autogen = tuple(name for name in possible if makers.get(name, function) is function)
    imported.autogen_span = value
    for name in function.autogen:
        if name not in possible:
            reason = "no such variant is made of operators of this kind"
            imported.notes.append(Note(f"autogen: {name}", reason, key))
    for name in imported.autogen:
        derivatives.note_variant(imported, name)
    for name in possible:
        if name not in imported.autogen:
            reason = f"it is made of {makers[name].schema.qualname}"
            imported.notes.append(Note(f"autogen: {name}", reason, value))


def _makers(functions: Iterable[NativeFunction]) -> dict[str, NativeFunction]:
    """What a variant is made of that an in-place and a functional operator both ask for: the first one that can be."""
    asking: dict[str, list[NativeFunction]] = {}
    for function in functions:
        for name in function.autogen:
            asking.setdefault(name, []).append(function)
    return {
        name: next((item for item in those if variant_named(item.schema, name) is not None), those[0])
        for name, those in asking.items()
        if len(those) > 1
    }


def _devices(function: NativeFunction) -> tuple[list[str], bool]:
    """The devices that have a kernel, and whether there is one for all of them."""
    keys = [key for item in function.dispatch for key in item.keys]
    if function.ufunc_inner_loop:
        keys = ["CPU", "CUDA", *keys]
    return list(dict.fromkeys([DEVICES[key] for key in keys if key in DEVICES])), not COMPOSITE.isdisjoint(keys)


def _makes_outputs(schema: opschema.Schema) -> bool:
    """Whether it returns something beside the arguments that it writes to."""
    return not all(ret.is_write for ret in schema.returns)


def _note_kernels(imported: Imported, function: NativeFunction, kernels: str) -> None:
    for item in function.dispatch:
        keys = [key for key in item.keys if key not in DEVICES and key not in COMPOSITE]
        reason = "a C++ kernel"
        if kernels and not keys:
            reason = f"a C++ kernel, in place of which `{kernels}:{python_name(function.schema)}` is called"
        elif keys:
            reason = f"a C++ kernel; there is no device {', '.join(keys)}"
        imported.notes.append(Note(f"{', '.join(item.keys)}: {item.kernel}", reason, item.text.span))
    if function.is_composite and not kernels:
        reason = "it is composed of other operators in C++"
        imported.notes.append(Note("the kernel", reason, Span(imported.span.source, imported.span.offset)))
