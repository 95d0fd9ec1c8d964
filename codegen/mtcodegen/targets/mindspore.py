"""Packages for MindSpore. What it does not support is left out, with a warning."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping as MappingOf
from dataclasses import replace

from mtcodegen.entries.formulas import composed, gradients
from mtcodegen.entries.model import File, KernelSpec, Launch, OpSpec, Variant, devices_beside
from mtcodegen.expr import Operator, walk
from mtcodegen.findings.codes import Code, Severity
from mtcodegen.findings.diagnostics import Diagnostic
from mtcodegen.findings.source import Span
from mtcodegen.targets.job import Job
from mtcodegen.targets.modules import module_of, package_of
from mtcodegen.targets.render import MINDSPORE

__all__ = ["narrowed", "of_file", "of_job"]

_DEVICES = ("cpu", "npu")
_KEYS = {
    "autocast": "casts (MindSpore's `amp` casts whole cells)",
    "fallback": "what runs on other devices",
    "forward": "forward-mode formulas (MindSpore's `jvp` differentiates gradients)",
    "graph": "graph updates (MindSpore captures no such graphs)",
}


def narrowed(file: File) -> tuple[File, list[Diagnostic]]:
    """The operators that MindSpore can have as cells, and a finding for all that was left out."""
    found: list[Diagnostic] = []
    kept = [changed for spec in file.ops if (changed := _operator(spec, found)) is not None]
    while True:  # an operator that calls one that was left out is left out, too
        names = {spec.schema.qualname for spec in file.ops} - {spec.schema.qualname for spec in kept}
        lost = {spec.schema.qualname: gone for spec in kept if (gone := names & _called(spec))}
        if not lost:
            return replace(file, ops=tuple(kept)), found
        for spec in kept:
            for name in sorted(lost.get(spec.schema.qualname, ()))[:1]:
                found.append(_left_out(f"{spec.schema.qualname}, which calls {name}", spec.func.span))
        kept = [spec for spec in kept if spec.schema.qualname not in lost]


def of_file(file: File, path: pathlib.Path, folder: pathlib.Path) -> dict[str, str]:
    """A module whose operators are MindSpore's cells, and its stub."""
    return module_of(file, path, folder, MINDSPORE)


def of_job(job: Job, files: MappingOf[pathlib.Path, File]) -> dict[str, str]:
    """The package, with what its modules share."""
    return package_of(job, MINDSPORE)


def _operator(spec: OpSpec, found: list[Diagnostic]) -> OpSpec | None:
    name, span = spec.schema.qualname, spec.func.span
    if any(argument.alias for argument in spec.schema.arguments):
        found.append(_left_out(f"{name}: MindSpore's tensors do not change in place, and share no memory", span))
        return None
    if spec.schema.namespace == "aten":
        hint = "give the operators a namespace of their own"
        found.append(Diagnostic(Code.MT623, f"{name}: `aten` stands for MindSpore's own operators", span, hint))
    found += [_left_out(what, spec.place.key(key)) for key, what in _KEYS.items() if key in spec.place]
    kernels = tuple(kept for kernel in spec.kernels if (kept := _narrowed(kernel, found)) is not None)
    if spec.kernels and not kernels:
        found.append(
            Diagnostic(Code.MT623, f"{name} has no kernel that MindSpore can run", span, "add one for cpu or npu")
        )
    # No device check: MindSpore itself decides where its tensors are.
    unchecked = replace(spec, device_check="NoCheck", overlap_check=())
    return replace(
        unchecked,
        kernels=kernels,
        devices=devices_beside(spec, kernels),
        autocast=(),
        fallback="",
        forward=None,
        graph_update=(),
        graph_hooks={},
    )


def _left_out(what: str, span: Span) -> Diagnostic:
    return Diagnostic(Code.MT622, f"left out: {what}", span, severity=Severity.WARNING)


def _narrowed(kernel: KernelSpec, found: list[Diagnostic]) -> KernelSpec | None:
    """The kernel on the devices that MindSpore can run it on; None where there is none."""
    body = kernel.body
    unready = isinstance(body, Launch) and (bool(body.sources) or body.abi != "ascendc")
    devices = tuple(device for device in kernel.devices if device in _DEVICES and not (unready and device == "npu"))
    if devices == kernel.devices:
        return kernel
    if unready and "npu" in kernel.devices:
        found.append(_left_out("a kernel for npu that no library of AscendC kernels holds", kernel.place.key("symbol")))
    others = ", ".join(device for device in kernel.devices if device not in _DEVICES)
    if others:
        found.append(_left_out(f"kernels for {others}", kernel.place.key("device")))
    return replace(kernel, devices=devices) if devices else None


def _called(spec: OpSpec) -> set[str]:
    """The operators that kernels and gradients call, and that it is a variant of, by their qualified names."""
    nodes = (node for formula in (*composed(spec), *gradients(spec)) for node in walk(formula.expr))
    bases = {kernel.body.base.qualname for kernel in spec.kernels if isinstance(kernel.body, Variant)}
    return bases | {
        f"{node.namespace}::{node.name}{'.' if node.overload else ''}{node.overload}"
        for node in nodes
        if isinstance(node, Operator)
    }
