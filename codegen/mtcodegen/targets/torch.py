"""Packages for PyTorch itself. What its library does not support is left out, with a warning."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from collections.abc import Mapping as MappingOf
from dataclasses import replace

import opschema
from mtcodegen.entries.model import Backward, File, KernelSpec, Launch, Mindspore, OpSpec, devices_beside
from mtcodegen.entries.schemas import is_tensor
from mtcodegen.entries.variants import calling, is_variant
from mtcodegen.findings.codes import Code, Severity
from mtcodegen.findings.diagnostics import Diagnostic
from mtcodegen.findings.source import Span
from mtcodegen.targets.job import Job
from mtcodegen.targets.modules import module_of, package_of, tests_of
from mtcodegen.targets.render import TORCH

__all__ = ["narrowed", "of_file", "of_job"]

# The keywords of TorchScript, whose lexer reads schemas, among those of Python.
_WORDS = frozenset(
    [
        "False",
        "None",
        "True",
        "and",
        "as",
        "assert",
        "break",
        "class",
        "continue",
        "def",
        "del",
        "elif",
        "else",
        "for",
        "global",
        "if",
        "import",
        "in",
        "is",
        "not",
        "or",
        "pass",
        "raise",
        "return",
        "while",
        "with",
    ]
)
# Attributes that `torch.ops`, a namespace and an operator already have: an operator of that name cannot be looked up.
_ATTRIBUTES = {
    "a namespace": {"_dir", "higher_order", "import_module", "load_library", "loaded_libraries"},
    "an operator": {"_dir", "name"},
    "an overload": {
        *("_dir", "_has_torchbind_op_overload", "_is_protocol", "_op", "_overload_names", "_qualified_op_name"),
        *("_schemas", "op", "op_overloads", "overloads"),
    },
}


def narrowed(file: File) -> tuple[File, list[Diagnostic]]:
    """The operators as PyTorch can register them, and a finding for all that was left out."""
    found: list[Diagnostic] = []
    ops = [_operator(spec, found) for spec in file.ops]
    return replace(file, ops=tuple(ops)), found


def of_file(file: File, path: pathlib.Path, folder: pathlib.Path) -> dict[str, str]:
    """A module that registers with PyTorch itself, its stub, and the tests of its examples."""
    return {**module_of(file, path, folder, TORCH), **tests_of(file, path, TORCH)}


def of_job(job: Job, files: MappingOf[pathlib.Path, File]) -> dict[str, str]:
    """The package, with what its modules share."""
    return package_of(job, TORCH)


def _operator(spec: OpSpec, found: list[Diagnostic]) -> OpSpec:
    name = spec.schema.qualname
    if is_variant(spec):
        # PyTorch takes no gradient for an operator that writes to its arguments: it calls the functional one.
        spec = calling(spec)
    if spec.schema.namespace == "aten":
        hint = "give the operators a namespace of their own"
        found.append(Diagnostic(Code.MT621, f"{name}: PyTorch has the namespace `aten` itself", spec.func.span, hint))
    for word, what in _reserved(spec.schema):
        message = f"{name}: PyTorch reserves `{word}`, which cannot be the name of {what}"
        there = re.search(rf"\b{re.escape(word)}\b", spec.func.value)
        span = spec.func.span if there is None else spec.func.locate(there.start(), len(word))
        found.append(Diagnostic(Code.MT621, message, span, "rename it"))
    tensors = [arg.name for arg in spec.schema.kwarg_only if opschema.base_of(arg.type).name == "Tensor"]
    registered = spec.backward is not None and spec.backward.marker != "not_implemented"
    if tensors and registered:
        message = f"{name}: PyTorch takes no gradient for an operator with the keyword-only tensor `{tensors[0]}`"
        found.append(Diagnostic(Code.MT621, message, spec.func.span, "make it positional"))
    narrowed = [_narrowed(kernel, found) for kernel in spec.kernels]
    kernels = tuple(kernel for kernel in narrowed if kernel is not None)
    if spec.kernels and not kernels:
        found.append(
            Diagnostic(Code.MT621, f"{name} has no kernel that PyTorch can run", spec.func.span, "add one for cpu")
        )
    changed = replace(
        spec,
        kernels=kernels,
        devices=devices_beside(spec, kernels),
        tags=_tags(spec, found),
        device_check="NoCheck",
        overlap_check=(),
    )  # PyTorch's library has no such checks; kernels refuse tensors that are not on cpu
    if spec.backward is not None and registered and any(argument.alias for argument in spec.schema.arguments):
        _left_out(spec, "backward", "gradients of operators that alias", found)
        changed = replace(changed, backward=Backward(spec.backward.key, marker="not_implemented"))
    kept = tuple(cast for cast in spec.autocast if cast.device != "npu")
    if kept != spec.autocast:
        _left_out(spec, "autocast", "casts on npu", found)
        changed = replace(changed, autocast=kept)
    if spec.forward is not None and any(arg.alias and not arg.is_write for arg in spec.schema.arguments):
        _left_out(spec, "forward", "forward-mode formulas of operators that return views", found)
        changed = replace(changed, forward=None)
    if spec.graph_update or spec.graph_hooks:
        _left_out(spec, "graph", "graph updates", found)
        changed = replace(changed, graph_update=(), graph_hooks={})
    return changed


def _reserved(schema: opschema.Schema) -> Iterator[tuple[str, str]]:
    """The names that PyTorch cannot read or look up, and what they are of."""
    parts = [(schema.namespace or "", "a namespace"), (schema.name, "an operator"), (schema.overload, "an overload")]
    parts += [(argument.name, "an argument") for argument in schema.arguments]
    parts += [(ret.name, "a return") for ret in schema.returns if ret.name]
    for word, what in parts:
        hidden = word in _ATTRIBUTES.get(what, ())
        if word in _WORDS or hidden or (what == "an overload" and word.startswith("__")):
            yield word, what


def _tags(spec: OpSpec, found: list[Diagnostic]) -> tuple[str, ...]:
    """The tags that ``torch.library`` lets an operator of this schema have; PyTorch's own operators may have more."""
    first, written = spec.schema.arguments[:1], [arg for arg in spec.schema.arguments if arg.is_write]
    returned = [ret.alias for ret in spec.schema.returns] == [arg.alias for arg in written]
    plain = returned and bool(written) and all(is_tensor(arg.type) for arg in written)
    fits = {
        "out": plain and all(arg.kwarg_only for arg in written),
        "inplace": plain and written == [*first] and not written[0].kwarg_only,
    }
    for tag in spec.tags:
        if not fits.get(tag, True) and not is_variant(spec):
            _left_out(spec, "tags", f"tag `{tag}` for this schema", found)
    return tuple(tag for tag in spec.tags if fits.get(tag, True))


def _left_out(spec: OpSpec, key: str, what: str, found: list[Diagnostic]) -> None:
    """Warn that PyTorch does not support something of an operator."""
    span = spec.place.key(key)
    found.append(
        Diagnostic(Code.MT620, f"left out: PyTorch's library takes no {what}", span, severity=Severity.WARNING)
    )


def _narrowed(kernel: KernelSpec, found: list[Diagnostic]) -> KernelSpec | None:
    """The kernel on the devices that PyTorch can run it on; None where there is none."""
    if isinstance(kernel.body, Mindspore):
        found.append(_kernel_note("MindSpore's primitives", kernel.place.key("mindspore")))
        return None
    if not isinstance(kernel.body, Launch) or kernel.devices == ("cpu",):
        return kernel
    found.append(_kernel_note("kernels that are launched elsewhere than on cpu", kernel.place.key("symbol")))
    return replace(kernel, devices=("cpu",)) if "cpu" in kernel.devices else None


def _kernel_note(what: str, span: Span) -> Diagnostic:
    return Diagnostic(Code.MT620, f"left out: PyTorch cannot run {what}", span, severity=Severity.WARNING)
