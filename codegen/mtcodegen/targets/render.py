"""Views to text: the templates, the filters they use, and the imports that were noted for the text."""

from __future__ import annotations

import functools
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jinja2

from mtcodegen.pycode.expressions import by_name
from mtcodegen.pycode.imports import Imports
from mtcodegen.pycode.layout import wrap
from mtcodegen.system.cache import keep, kept
from mtcodegen.system.paths import data_folder
from mtcodegen.system.values import dataclass
from mtcodegen.targets.definitions import views
from mtcodegen.targets.examples import Tests
from mtcodegen.targets.job import HEADER
from mtcodegen.targets.stubs import Origin, StubModule

if TYPE_CHECKING:
    from mtcodegen.targets.pages import Page


@dataclass(frozen=True)
class Runtime:
    """The runtime that generated files import: the statement for ``torch``, and the modules of the names that they use.

    ``support`` are the files that carry out definitions, copied beside modules that import the first of them.
    """

    statement: str
    places: Mapping[str, str]
    support: tuple[str, ...] = ()

    def stub_places(self) -> dict[str, Origin]:
        """The modules of the names that stubs use."""
        found = {name: (place, name) for name, place in self.places.items()}
        return found if "torch" in found else {**found, "torch": (self.statement.split()[1], "")}


__all__ = [
    "MINDSPORE",
    "MINDTORCH",
    "TORCH",
    "Runtime",
    "load_templates",
    "render_copy",
    "render_definitions",
    "render_package",
    "render_page",
    "render_site",
    "render_stub",
    "render_tests",
]


_OPERATORS = ("OpOverload", "OpOverloadPacket")
MINDTORCH = Runtime(
    "import mindtorch_v2 as torch",
    {"Tensor": "mindtorch_v2"} | dict.fromkeys(_OPERATORS, "mindtorch_v2._ops"),
)
TORCH = Runtime(
    "import torch",
    {"Tensor": "torch"} | dict.fromkeys(_OPERATORS, "torch._ops"),
    ("_torch_definitions", "_torch_autograd", "_torch_policies"),
)
MINDSPORE = Runtime(
    "",
    {"Tensor": "mindspore", "torch": "._mindspore_definitions"},
    ("_mindspore_definitions",),
)


def render_definitions(module: views.Module, imports: Imports) -> str:
    """The text of a module of definitions."""
    names = {}
    if module.libraries:
        names["Library"] = imports.name("mindtorch_v2.library", "Library")
    if module.launchers:
        names["KernelLauncher"] = imports.name("mindtorch_v2.npu", "KernelLauncher")
    values = {"module": module, "names": names, "header": _header(module.source), "imports": imports.groups()}
    return wrap(_render(_DEFINITIONS, values))


def render_copy(path: pathlib.Path) -> str:
    """A file of Python as it is, with a header."""
    return f"{_header(path.name)}\n{path.read_text('utf-8')}"


def render_tests(tests: Tests, runtime: Runtime = MINDTORCH) -> str:
    """The text of the test module for a file's examples."""
    return wrap(_render("tests.py.j2", {"header": _header(tests.source), "tests": tests, "runtime": runtime}))


def render_stub(module: StubModule, imports: Imports) -> str:
    """The text of a module's stub."""
    values = {"module": module, "header": _header(module.source), "imports": imports.groups()}
    return wrap(_render(_STUB, values))


def render_page(page: Page) -> str:
    """The operators of one file in Markdown."""
    return _render("docs.md.j2", {"header": _header(page.source), "page": page})


def render_site(source: str, title: str, pages: Sequence[Page]) -> str:
    """The operators of several files as one HTML page that needs nothing else."""
    total = sum(len(page.entries) for page in pages)
    return _render("docs.html.j2", {"header": _header(source), "title": title, "pages": pages, "total": total})


def render_package(source: str, modules: Sequence[str], pending: Mapping[str, Sequence[str]] | None = None) -> str:
    """The text of ``__init__.py`` for the modules of a folder; ``pending`` are imported when a name is first used.

    These are listed with what they define: ``"aten::digamma:fm"`` for a function and method.
    """
    later = dict(pending or {})
    values = {
        "header": _header(source),
        "source": source,
        "modules": sorted(set(modules) - later.keys()),
        "exported": sorted(set(modules) - later.keys()),
        "pending": [(name, later[name]) for name in sorted(later)],
    }
    return wrap(_render("package.py.j2", values))


def _header(source: str) -> str:
    return f"{HEADER}{source}. Do not edit: change the YAML and run mtcodegen again."


# ---------------------------------------------------------------- templates

_CACHE, _MOST = "templates", 64  # where compiled templates are kept, and how many
_OPERATOR, _DEFINITIONS, _STUB = "definitions/operator.py.j2", "definitions/module.py.j2", "stub.pyi.j2"


class _Compiled(jinja2.BytecodeCache):
    """Templates as Jinja compiled them before: that takes a tenth of a small run.

    Jinja compares its format, Python's version and the checksum of a template's text; its own version is in the name.
    """

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        text = kept(_CACHE, f"{bucket.key}-{jinja2.__version__}")
        if text is not None:
            bucket.bytecode_from_string(text.encode("latin-1"))

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        name = f"{bucket.key}-{jinja2.__version__}"
        keep(_CACHE, name, bucket.bytecode_to_string().decode("latin-1"), _MOST)


def load_templates() -> None:
    """Compile what every module is made with: once for the processes that are then forked."""
    for name in (_OPERATOR, _DEFINITIONS, _STUB):
        _environment().get_template(name)


def _render(name: str, values: dict[str, Any]) -> str:
    text: str = _environment().get_template(name).render(values)
    return text.rstrip("\n") + "\n"


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(data_folder("templates")),
        autoescape=False,  # Python, not HTML
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        optimized=False,  # nothing is computed while compiling: what is kept depends on the templates alone
        bytecode_cache=_Compiled(),
    )
    environment.filters.update(md=_markdown, code=_markdown_code, indented=_indented, keyword=by_name)
    return environment


def _indented(text: str) -> str:
    """Lines as the body of a block."""
    return "\n".join([f"    {line}" if line else "" for line in text.split("\n")])


def _markdown(text: str) -> str:
    """Plain text in Markdown: its special characters are escaped."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)


def _markdown_code(text: str) -> str:
    """Text as code in a cell of a table."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text.replace('|', chr(92) + '|')}{fence}"
