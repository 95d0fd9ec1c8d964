"""Tiling structs that the host side of an operator project declares, and the values that the YAML file has for them."""

from __future__ import annotations

import pathlib
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import replace

from mtcodegen.entries.model import File, Formula, HostTiling, KernelArg, KernelSpec, Launch
from mtcodegen.expr import Call, Name, Unread
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic, suggest
from opschema.tiling import TilingClass, TilingError, TilingField, read_tiling_file

__all__ = ["with_host_tilings"]


def with_host_tilings(file: File, folder: pathlib.Path) -> tuple[File, list[Diagnostic]]:
    """The file with the C types of its tilings as their hosts declare them; what does not agree with these.

    Paths are relative to ``folder``, the YAML file's own. A host that is not there is ``missing_sources``' to tell.
    """
    reader = _Reader(folder)
    specs = tuple(replace(spec, kernels=tuple(map(reader.kernel, spec.kernels))) for spec in file.ops)
    return (replace(file, ops=specs), reader.found) if reader.has_read else (file, [])


class _Reader:
    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.found: list[Diagnostic] = []
        self.has_read = False

    def kernel(self, kernel: KernelSpec) -> KernelSpec:
        body = kernel.body
        if not isinstance(body, Launch) or body.host_tiling is None:
            return kernel
        self.has_read = True
        declared = self.struct(body.host_tiling)
        if declared is None:
            return kernel
        self.found += _disagreements(body, body.host_tiling, declared)
        taken = {field.name for field in declared.fields}
        values = {
            _unique(name, taken): _typed(body.tiling[name], field)
            for field in declared.fields
            for name in ([] if field.is_struct else _names(field))
            if name in body.tiling
        }
        return replace(kernel, body=replace(body, tiling=values))

    def struct(self, host: HostTiling) -> TilingClass | None:
        try:
            tiling = read_tiling_file(self.folder / host.path.value)
        except (OSError, ValueError) as error:
            if isinstance(error, TilingError):
                message = f"{host.path.value}:{error.line}: {error}"
                self.found.append(Diagnostic(Code.MT330, message, host.path.span))
            return None
        if host.name.value not in tiling.classes:
            hint = suggest(host.name.value, tiling.classes) or f"it declares {', '.join(tiling.classes) or 'none'}"
            message = f"`{host.path.value}` declares no tiling struct `{host.name.value}`"
            self.found.append(Diagnostic(Code.MT330, message, host.name.span, hint))
        return tiling.classes.get(host.name.value)


def _disagreements(body: Launch, host: HostTiling, declared: TilingClass) -> Iterator[Diagnostic]:
    fields = {field.name: field for field in declared.fields}
    where = f"{host.path.value}:{declared.line}"
    given = Counter(name.partition("[")[0] for name in body.tiling if "[" in name)
    for key, value in body.tiling.items():
        name, is_element = key.partition("[")[0], "[" in key
        field = fields.get(name)
        if field is None:
            hint = suggest(name, fields) or f"it has {', '.join(fields)}"
            message = f"the struct `{declared.name}` at {where} has no field `{name}`"
            yield Diagnostic(Code.MT330, message, value.value.text.span, hint)
        elif field.is_struct:
            message = f"the field `{name}` at {where} is a struct, and YAML gives numbers"
            hint = "launch the kernel from Python, with the bytes of `npu.tiling_struct`"
            yield Diagnostic(Code.MT330, message, value.value.text.span, hint)
        elif is_element != (field.length is not None):
            kind, hint = ("no array", "give one value")
            if field.length is not None:
                kind, hint = f"an array of {field.length}", f"give a list of {field.length} values"
            yield Diagnostic(Code.MT330, f"the field `{name}` at {where} is {kind}", value.value.text.span, hint)
        elif is_element and given[name] != field.length:
            if key == f"{name}[0]":
                message = f"the field `{name}` at {where} has {field.length} elements, and {given[name]} are given"
                hint = "give each element a value, 0 where the kernel reads none"
                yield Diagnostic(Code.MT330, message, value.value.text.span, hint)
        elif value.type not in ("ptr", _arg_type(field)):
            message = f"the field `{name}` at {where} is {field.type}, not {value.type.removesuffix('_')}"
            hint = f"write `{field.scalar}(...)`, or the value alone"
            yield Diagnostic(Code.MT330, message, value.value.text.span, hint)
    missing = [name for name in fields if name not in body.tiling and name not in given]
    if missing:
        listed = ", ".join(f"`{name}`" for name in missing)
        message = f"nothing is said of {listed} of the struct `{declared.name}` at {where}"
        yield Diagnostic(Code.MT330, message, host.name.span, "give each field a value, 0 where the kernel reads none")


def _names(field: TilingField) -> list[str]:
    """What the values of a field are called: its name, or one for each element."""
    return [field.name] if field.length is None else [f"{field.name}[{i}]" for i in range(field.length)]


def _unique(name: str, taken: Set[str]) -> str:
    """An element's name as Python's, which no field has."""
    if "[" not in name:
        return name
    name = name.replace("[", "_").removesuffix("]")
    while name in taken:
        name += "_"
    return name


def _arg_type(field: TilingField) -> str:
    return "bool_" if field.scalar == "bool" else field.scalar


def _typed(value: KernelArg, field: TilingField) -> KernelArg:
    """A value without a C type gets that of its field, as if it had been written."""
    expr = value.value.expr
    if value.type != "ptr" or isinstance(expr, Unread):
        return value
    place = {"offset": expr.offset, "length": expr.length}
    call = Call(Name(field.scalar, **place), (expr,), (), **place)
    return KernelArg(Formula(value.value.text, call), _arg_type(field))
