"""From a file to the view of its module: libraries, launchers, the names of operators."""

from __future__ import annotations

import os
import pathlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import opschema
from mtcodegen.entries.model import BuildOptions, File, Launch
from mtcodegen.pycode.expressions import attribute
from mtcodegen.pycode.imports import Imports
from mtcodegen.pycode.literals import quoted
from mtcodegen.pycode.names import KEYWORDS, Names
from mtcodegen.targets.definitions import views
from mtcodegen.targets.definitions.kernels import all_sources, launcher_key
from mtcodegen.targets.definitions.operator import operator_view
from mtcodegen.targets.exports import exported_names, has_odd_names, sorted_names

__all__ = ["plan_module"]

_MODULE_NAMES = frozenset({"torch", "math", "getattr"})


def plan_module(
    file: File, path: pathlib.Path, folder: pathlib.Path, support: str = ""
) -> tuple[views.Module, Imports]:
    """The module for ``file``, read from ``path``, in ``folder``, and what it imports.

    ``support`` is the module beside it that carries out definitions, for a runtime that is not the one of ours.
    """
    schemas = [spec.schema for spec in file.ops]
    exports = exported_names(schemas)
    arguments = {argument.name for schema in schemas for argument in schema.arguments}
    imports = Imports(exports.values(), support, arguments)
    names = Names({*exports.values(), *arguments}, reserved=KEYWORDS | _MODULE_NAMES)
    namespaces = tuple(dict.fromkeys(schema.namespace or "" for schema in schemas))
    libraries = {ns: names.unique("_lib" if len(namespaces) == 1 else f"_lib_{ns}") for ns in namespaces}
    launchers = _launchers(file, path.resolve().parent, folder.resolve(), names)
    spelled = {key: launcher.name for key, launcher in launchers.items()}
    bases = [(schema.namespace or "", schema.name) for schema in schemas]
    overloads, operators = Counter(bases), []
    for spec, base in zip(file.ops, bases, strict=True):
        alone = overloads[base] == 1
        overload = f"_{spec.schema.overload}" if spec.schema.overload else "_default"
        name = exports[base] if alone else names.unique(f"_{base[1]}{overload}".lower())
        operators.append(operator_view(spec, libraries[base[0]], name, imports, spelled))
    if any(not view.doc and not view.name.startswith("_") for view in operators):
        imports.exempt("D103")
    aliases = [(name, attribute("torch.ops", *base)) for base, name in exports.items() if overloads[base] > 1]
    if aliases:
        imports.module("mindtorch_v2", "torch")
    module = views.Module(
        source=pathlib.PurePath(file.path).name,
        docstring=_docstring(namespaces, pathlib.PurePath(file.path).name),
        libraries=tuple((variable, ns) for ns, variable in libraries.items()),
        launchers=tuple(launchers.values()),
        operators=tuple(operators),
        aliases=tuple(aliases),
        exported=tuple(sorted_names(exports.values())),
        noqa=_noqa(schemas, imports.exempted),
    )
    return module, imports


def _noqa(schemas: Sequence[opschema.Schema], exempted: set[str]) -> tuple[str, ...]:
    found = [*(["N803", "N806", "N807"] if has_odd_names(schemas) else []), *sorted(exempted)]
    return (*found, "RUF100") if found else ()


def _docstring(namespaces: Sequence[str], source: str) -> str:
    names = [f"``{name}``" for name in namespaces]
    spaces = f"of the namespace{'s' if len(names) > 1 else ''} {' and '.join(names)}, " if names else ""
    text = f"Operators {spaces}declared in {source}."
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


# ---------------------------------------------------------------- libraries and sources


def _launchers(
    file: File, base: pathlib.Path, folder: pathlib.Path, names: Names
) -> dict[tuple[str, ...], views.Launcher]:
    """A variable for every library and every set of sources."""
    found: dict[tuple[str, ...], views.Launcher] = {}
    for spec in file.ops:
        for kernel in spec.kernels:
            if isinstance(kernel.body, Launch) and launcher_key(kernel.body) not in found:
                found[launcher_key(kernel.body)] = _launcher(kernel.body, base, folder, names)
    return found


def _launcher(body: Launch, base: pathlib.Path, folder: pathlib.Path, names: Names) -> views.Launcher:
    if body.library is not None:
        path = quoted(_relative(body.library.value, base, folder))
        return views.Launcher(names.unique("_" + _identifier(body.library.value)), path)
    stem = _identifier(body.sources[0].value)
    paths = tuple(quoted(_relative(source.value, base, folder)) for source in all_sources(body))
    options = tuple(_build_options(body.build, base, folder))
    return views.Launcher(names.unique(f"_{stem}_source"), quoted(stem), paths, options)


def _build_options(build: BuildOptions, base: pathlib.Path, folder: pathlib.Path) -> Iterator[views.Option]:
    if build.include:
        yield views.Option("include", f"[{', '.join(quoted(_relative(path, base, folder)) for path in build.include)}]")
    if build.defines:
        yield views.Option("defines", f"{{{', '.join(f'{quoted(k)}: {quoted(v)}' for k, v in build.defines)}}}")
    if build.flags:
        yield views.Option("flags", f"[{', '.join(map(quoted, build.flags))}]")


def _identifier(path: str) -> str:
    stem = pathlib.PurePosixPath(path).name.partition(".")[0]
    return re.sub(r"\W", "_", stem, flags=re.ASCII).lower() or "library"


def _relative(path: str, base: pathlib.Path, folder: pathlib.Path) -> str:
    """A path beside the YAML file as seen from the module."""
    if pathlib.PurePosixPath(path).is_absolute():
        return path
    return pathlib.PurePath(os.path.relpath(base / path, folder)).as_posix()
