"""From the resolved model to what a template lays out: names, statements, and their order."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import opschema
from mtcodegen.document.nodes import Scalar
from mtcodegen.entries.model import File, KernelSpec, Launch, place_of
from mtcodegen.entries.schemas import is_tensor_list
from mtcodegen.expr import Expr
from mtcodegen.pycode.expressions import attribute
from mtcodegen.pycode.literals import pieces, quoted, strings
from mtcodegen.pycode.names import BUILTINS, IMPORTED, RESERVED, Names
from mtcodegen.pycode.pretty import WIDTH
from mtcodegen.targets.exports import has_odd_names
from mtcodegen.targets.plan.backward import plan_backward
from mtcodegen.targets.plan.forward import plan_forward
from mtcodegen.targets.plan.function import Function
from mtcodegen.targets.plan.kernels import OpPlan, is_implicit, leaves_checks, plan_kernels

__all__ = ["Module", "plan_module"]


@dataclass(frozen=True, eq=False)
class Operator:
    """What a module says about one operator: statements, functions behind them, and statements behind those."""

    title: str  # a comment
    opening: tuple[str, ...]
    functions: tuple[Function, ...]
    closing: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Module:
    """Everything that the templates need for one YAML file."""

    source: str
    namespaces: tuple[str, ...]
    libraries: tuple[tuple[str, str], ...]  # name of the variable, namespace
    launchers: tuple[str, ...]
    operators: tuple[Operator, ...]
    exports: tuple[tuple[str, str], ...]  # name, value
    has_odd_names: bool  # that linters would rather not see: upper-case arguments, operators like `__and__`


def plan_module(
    file: File, path: pathlib.Path, folder: pathlib.Path, respelled: Callable[[Expr], Expr] = lambda expr: expr
) -> Module:
    """Plan the module for ``file``, read from ``path``; libraries beside that are found from ``folder``, the output.

    ``respelled`` gives every expression the spelling that the runtime of the module has for it.
    """
    schemas = [spec.schema for spec in file.ops]
    bases = [(schema.namespace or "", schema.name) for schema in schemas]
    exports = _exports(bases, schemas)
    arguments = {argument.name for schema in schemas for argument in schema.arguments}
    names = Names({*arguments, *(name for name, _ in exports.values())}, reserved=RESERVED)
    namespaces = tuple(dict.fromkeys(schema.namespace or "" for schema in schemas))
    libraries = {ns: names.unique("_lib" if len(namespaces) == 1 else f"_lib_{ns}") for ns in namespaces}
    launchers = _launchers(file, path.resolve().parent, folder.resolve(), names)
    launcher_names = {key: name for key, (name, _) in launchers.items()}
    builtins = {name: f"builtins.{name}" for name in BUILTINS & {name for name, _ in exports.values()}}
    last = {base: i for i, base in enumerate(bases)}
    operators = [
        _operator(
            OpPlan(spec, libraries[base[0]], names, builtins, respelled),
            launcher_names,
            exports[base] if last[base] == i else None,
        )
        for i, (spec, base) in enumerate(zip(file.ops, bases, strict=True))
    ]
    return Module(
        source=pathlib.PurePath(file.path).name,
        namespaces=namespaces,
        libraries=tuple((variable, ns) for ns, variable in libraries.items()),
        launchers=tuple(f"{name} = {value}" for name, value in launchers.values()),
        operators=tuple(operators),
        exports=tuple(exports.values()),
        has_odd_names=has_odd_names(schemas),
    )


# ---------------------------------------------------------------- exports


def _exports(
    bases: Sequence[tuple[str, str]], schemas: Sequence[opschema.Schema]
) -> dict[tuple[str, str], tuple[str, str]]:
    """A name for every operator: its only overload, or all of them."""
    names = Names(IMPORTED)
    overloads: dict[tuple[str, str], list[str]] = {}
    for base, schema in zip(bases, schemas, strict=True):
        overloads.setdefault(base, []).append(schema.overload or "default")
    found = {}
    for (namespace, name), own in overloads.items():
        value = attribute("torch.ops", namespace, name)
        found[namespace, name] = names.unique(name), attribute(value, own[0]) if len(own) == 1 else value
    return found


# ---------------------------------------------------------------- libraries and sources


def _launchers(
    file: File, base: pathlib.Path, folder: pathlib.Path, names: Names
) -> dict[tuple[str, ...], tuple[str, str]]:
    """A variable for every library and every set of sources: its name, and the call that opens it."""
    found: dict[tuple[str, ...], tuple[str, str]] = {}
    for spec in file.ops:
        for kernel in spec.kernels:
            key = launcher_key(kernel)
            if key is None or key in found:
                continue
            body = kernel.body
            if isinstance(body, Launch):
                found[key] = _launcher(body, base, folder, names)
    return found


def launcher_key(kernel: KernelSpec) -> tuple[str, ...] | None:
    """What tells one launcher from another; None for a kernel that is not launched."""
    body = kernel.body
    if not isinstance(body, Launch):
        return None
    if body.library is not None:
        return ("library", body.library.value)
    return ("source", *(source.value for source in body.sources))


def _launcher(body: Launch, base: pathlib.Path, folder: pathlib.Path, names: Names) -> tuple[str, str]:
    if body.library is not None:
        name = names.unique("_" + _identifier(body.library.value))
        return name, f"npu.KernelLauncher({quoted(_relative(body.library, base, folder))}, relative_to=__file__)"
    stem = _identifier(body.sources[0].value)
    paths = ", ".join(quoted(_relative(source, base, folder)) for source in body.sources)
    name = names.unique(f"_{stem}_source")
    return name, f'npu.KernelLauncher.from_source("{stem}", [{paths}], relative_to=__file__)'


def _identifier(path: str) -> str:
    stem = pathlib.PurePosixPath(path).name.partition(".")[0]
    return re.sub(r"\W", "_", stem, flags=re.ASCII).lower() or "library"


def _relative(path: Scalar, base: pathlib.Path, folder: pathlib.Path) -> str:
    """A path beside the YAML file as seen from the module."""
    if pathlib.PurePosixPath(path.value).is_absolute():
        return path.value
    return pathlib.PurePath(os.path.relpath(base / path.value, folder)).as_posix()


# ---------------------------------------------------------------- one operator


def _operator(op: OpPlan, launchers: Mapping[tuple[str, ...], str], export: tuple[str, str] | None) -> Operator:
    bindings, functions = plan_kernels(op, launchers)
    gradients, tangents = plan_backward(op), plan_forward(op)
    exported = [] if export is None else [f"{export[0]} = {export[1]}"]
    place = op.spec.place
    return Operator(
        title=_title(op, place),
        opening=(_definition(op, place), *bindings),
        functions=(*functions, *gradients.functions, *tangents.functions),
        closing=(*gradients.registrations, *tangents.registrations, *_graph(op), *exported),
    )


def _title(op: OpPlan, place: str) -> str:
    """The comment above an operator: its name and its line in the YAML file."""
    text = f" {op.name} ({place})"
    return f"# {'-' * max(3, min(64, WIDTH - 2 - len(text)))}{text}"


def _definition(op: OpPlan, place: str) -> str:
    """The call that defines an operator, with an argument on each line, as the schema is long."""
    spec = op.spec
    doc = f"    {_literal(spec.doc, 'doc=')},\n" if spec.doc else ""
    return (
        f"{op.library}.define(\n"
        f"    {_literal(str(op.schema).removeprefix(f'{op.schema.namespace}::'))},\n"
        f"{doc}"
        f"    tags={strings(spec.tags)},\n"
        f"    variants={strings(spec.variants)},\n"
        f"{_argument_checks(op)}"
        f'    source="{place}",\n'
        ")"
    )


def _argument_checks(op: OpPlan) -> str:
    """What the runtime checks of the arguments, where there is something to check."""
    spec = op.spec
    tensors = [argument for argument in spec.schema.arguments if opschema.base_of(argument.type).name == "Tensor"]
    several = len(tensors) > 1 or any(is_tensor_list(argument.type) for argument in tensors)
    # What an operator is composed of checks its own arguments.
    composed = is_implicit(op) and not any(kernel.devices for kernel in spec.kernels)
    checked = several and not composed and spec.device_check != "NoCheck"
    devices = f'    device_check="{spec.device_check}",\n' if checked else ""
    written = any(argument.is_write for argument in tensors)
    overlap = f"    overlap_check={strings(spec.overlap_check)},\n" if written and spec.overlap_check else ""
    refuses = "    kernel_refuses=True,\n" if leaves_checks(spec) else ""
    return devices + overlap + refuses


def _literal(text: str, prefix: str = "") -> str:
    """A string literal as one argument of a call, over several lines where it is too long for one."""
    literal = quoted(text)
    if 4 + len(prefix) + len(literal) + 1 <= WIDTH:
        return prefix + literal
    inner = 8 if prefix else 4
    parts = [literal] if prefix and inner + len(literal) <= WIDTH else pieces(text, WIDTH - inner - 1)
    lines = f"\n{' ' * inner}".join(parts)
    return f"{prefix}(\n{' ' * inner}{lines}\n    )" if prefix else lines


def _graph(op: OpPlan) -> list[str]:
    """What a captured graph may update, in the order of the schema."""
    update = [node.value for node in op.spec.graph_update]
    if not update:
        return []
    names = strings([argument.name for argument in op.schema.arguments if argument.name in update])
    place = quoted(place_of(op.spec.node.entries["graph"][0]))
    return [f'{op.library}.register_graph("{op.name}", update={names}, source={place})']
