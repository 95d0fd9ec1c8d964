"""Plans to text: the templates, the filters they use, and the imports that the text turns out to need."""

from __future__ import annotations

import functools
import pathlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mtcodegen.pycode.expressions import by_name
from mtcodegen.pycode.imports import Imports
from mtcodegen.pycode.layout import wrap
from mtcodegen.system.paths import data_folder
from mtcodegen.targets.definitions import views
from mtcodegen.targets.exports import sorted_names
from mtcodegen.targets.job import HEADER
from mtcodegen.targets.plan.examples import Tests
from mtcodegen.targets.plan.module import Module
from mtcodegen.targets.stubs import Place, StubModule

if TYPE_CHECKING:
    import jinja2

    from mtcodegen.targets.plan.pages import Page


@dataclass(frozen=True)
class Runtime:
    """What generated modules import: how ``torch``, and from where the other names; the template of what they share."""

    statement: str
    places: Mapping[str, str]
    support: str = ""

    def stub_places(self) -> dict[str, Place]:
        """Where the names are that stubs read."""
        found = {name: (place, name) for name, place in self.places.items()}
        return found if "torch" in found else {**found, "torch": (self.statement.split()[1], "")}


__all__ = [
    "MINDSPORE",
    "MINDTORCH",
    "TORCH",
    "Runtime",
    "render_copy",
    "render_definitions",
    "render_module",
    "render_package",
    "render_page",
    "render_site",
    "render_stub",
    "render_support",
    "render_tests",
]


_OPERATORS = ("OpOverload", "OpOverloadPacket")
MINDTORCH = Runtime(
    "import mindtorch_v2 as torch",
    dict.fromkeys(("Tensor", "library", "npu"), "mindtorch_v2") | dict.fromkeys(_OPERATORS, "mindtorch_v2._ops"),
)
TORCH = Runtime(
    "import torch",
    {"Tensor": "torch"} | dict.fromkeys(_OPERATORS, "torch._ops"),
    "_torch_definitions",
)
MINDSPORE = Runtime(
    "",
    {"Tensor": "mindspore", "library": "._support", "npu": "._support", "torch": "._support"},
    "mindspore_support.py.j2",
)


def render_module(module: Module, runtime: Runtime) -> str:
    """The text of a module in the form of statements."""
    exported = ", ".join([f'"{name}"' for name in sorted_names(name for name, _ in module.exports)])
    common = {"module": module, "header": _header(module.source), "exported": exported}
    odd = ["N803", "N806", "N807"] if module.has_odd_names else []
    common["noqa"] = _noqa(odd)
    body = _render("operators.py.j2", {"module": module})
    head = {"docstring": _docstring(module), "imports": _module_imports(body, runtime), "body": body}
    return wrap(_render("module.py.j2", {**common, **head}))


def render_definitions(module: views.Module, imports: Imports) -> str:
    """The text of a module of definitions."""
    names = {"Library": imports.name("mindtorch_v2.library", "Library"), "KernelLauncher": ""}
    if module.launchers:
        names["KernelLauncher"] = imports.name("mindtorch_v2.npu", "KernelLauncher")
    values = {"module": module, "names": names, "header": _header(module.source), "imports": imports.groups()}
    return wrap(_render("mindtorch/module.py.j2", values))


def _noqa(codes: Sequence[str]) -> str:
    """The comment that keeps linters quiet about names which are not ours to choose."""
    return f"# ruff: noqa: {', '.join([*codes, 'RUF100'])}\n" if codes else ""


def render_support(runtime: Runtime) -> str:
    """The module that generated ones need beside their runtime."""
    return _render(runtime.support, {"header": _header("its template")})


def render_copy(path: pathlib.Path) -> str:
    """A file of Python as it is, with a header."""
    return f"{_header(path.name)}\n{path.read_text('utf-8')}"


def render_tests(tests: Tests, runtime: Runtime = MINDTORCH) -> str:
    """The text of the test module for a file's examples."""
    return wrap(_render("tests.py.j2", {"header": _header(tests.source), "tests": tests, "runtime": runtime}))


def render_stub(module: StubModule, imports: Imports) -> str:
    """The text of a module's stub."""
    values = {"module": module, "header": _header(module.source), "imports": imports.groups()}
    return wrap(_render("stub.pyi.j2", values))


def render_page(page: Page) -> str:
    """The operators of one file in Markdown."""
    return _render("docs.md.j2", {"header": _header(page.source), "page": page})


def render_site(source: str, title: str, pages: Sequence[Page]) -> str:
    """The operators of several files as one HTML page that needs nothing else."""
    total = sum(len(page.entries) for page in pages)
    return _render("docs.html.j2", {"header": _header(source), "title": title, "pages": pages, "total": total})


def render_package(source: str, modules: Sequence[str]) -> str:
    """The text of ``__init__.py`` for the modules of a folder."""
    return wrap(_render("package.py.j2", {"header": _header(source), "source": source, "modules": sorted(modules)}))


def _header(source: str) -> str:
    return f"{HEADER}{source}. Do not edit: change the YAML and run mtcodegen again."


def _docstring(module: Module) -> str:
    names = [f"``{name}``" for name in module.namespaces]
    spaces = f"the namespace{'s' if len(names) > 1 else ''} {' and '.join(names)}, " if names else ""
    text = f"Operators of {spaces}declared in {module.source}."
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


# ---------------------------------------------------------------- imports

_MODULES = ("builtins", "math", "warnings")
_IN_MODULES = ("torch", "Tensor", "Any", "Sequence", "library", "npu", *_MODULES)
# Unrolled: a repeated group would cost memory for every character of a long string.
_STRING_OR_COMMENT = r'"""(?s:.*?)"""|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|\'[^\'\\\n]*(?:\\.[^\'\\\n]*)*\'|#[^\n]*'


def _used(text: str, importable: Sequence[str]) -> set[str]:
    """The importable names that a text of Python reads: not in strings, and not behind a dot."""
    if ' """\n' in text:  # a docstring has lines of its own
        text = re.sub(_STRING_OR_COMMENT, "", text)
    return {name for name in importable if name in text and _is_read(name, text)}


def _is_read(name: str, text: str) -> bool:
    """Whether a line of ``text`` reads ``name``; strings and comments are looked for in the lines that have it only."""
    # Not a parameter of that name (what is behind an arrow or a bar is none), nor a keyword in a call. The pattern
    # starts with a literal: that is searched many times faster.
    pattern = re.compile(rf"{name}(?<![.\w]{name})(?!\w|=[^=]|(?<!-> {name})(?<!\| {name}): )", re.ASCII)
    for match in pattern.finditer(text):
        end = text.find("\n", match.end())
        line = text[text.rfind("\n", 0, match.start()) + 1 : end if end >= 0 else len(text)]
        if pattern.search(re.sub(_STRING_OR_COMMENT, "", line)):
            return True
    return False


def _module_imports(body: str, runtime: Runtime) -> list[list[str]]:
    used = _used(body, _IN_MODULES)
    imports, beside = _runtime_imports(used, runtime)
    return [*_groups(used, list(_MODULES), imports), *beside]


def _runtime_imports(used: set[str], runtime: Runtime) -> tuple[list[str], list[list[str]]]:
    """The statements that import the runtime, and the group of those that import what lies beside the module."""
    places: dict[str, list[str]] = {}
    for name, place in runtime.places.items():
        if name in used:
            places.setdefault(place, []).append(name)
    imports = {place: f"from {place} import {', '.join(names)}" for place, names in places.items()}
    beside = imports.pop("._support", None)
    statement = [runtime.statement] if runtime.statement and "torch" in used else []
    return [*statement, *imports.values()], [[beside]] if beside else []


def _groups(used: set[str], modules: list[str], runtime: list[str]) -> list[list[str]]:
    standard = [f"import {name}" for name in modules if name in used]
    if "Sequence" in used:
        standard.append("from collections.abc import Sequence")
    if "Any" in used:
        standard.append("from typing import Any")
    return [group for group in (standard, runtime) if group]


# ---------------------------------------------------------------- templates


def _render(name: str, values: dict[str, Any]) -> str:
    text: str = _environment().get_template(name).render(values)
    while "\n\n\n\n" in text:  # two empty lines at most
        text = text.replace("\n\n\n\n", "\n\n\n")
    return text.rstrip("\n") + "\n"


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(data_folder("templates")),
        autoescape=False,  # Python, not HTML
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(md=_markdown, code=_markdown_code, indented=_indented, keyword=by_name)
    return environment


def _indented(text: str) -> str:
    """Statements, a line each, as those of a block."""
    return "\n".join([f"    {line}" if line else "" for line in text.split("\n")])


def _markdown(text: str) -> str:
    """Text in Markdown, where nothing in it means anything."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)


def _markdown_code(text: str) -> str:
    """Text as code in a cell of a table."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text.replace('|', chr(92) + '|')}{fence}"
