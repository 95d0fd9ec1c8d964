"""``mtcodegen init``: a project that works."""

from __future__ import annotations

import argparse
import pathlib
import re
import shlex
import shutil
import sys
import tempfile

from mtcodegen.cli.common import path_name
from mtcodegen.project.pyproject import UsageError
from mtcodegen.pycode.names import KEYWORDS, taken
from mtcodegen.system.wholefile import umask

__all__ = ["DESCRIPTION", "EXAMPLES", "configure", "run"]

DESCRIPTION = """\
Start a project in a new folder: one operator with an AscendC and a C kernel, its YAML, a test against NumPy, a
Makefile, CI and pre-commit configuration. `make` in it generates and tests on cpu and npu; without an NPU, on a
simulated one."""
EXAMPLES = (
    ("mtcodegen init demo && cd demo && make", "from nothing to a tested operator"),
    ("mtcodegen init path/to/my-ops", "the namespace is the folder's name: my_ops"),
)
_TEMPLATES = pathlib.Path(__file__).with_name("skeleton")
# The suffix, and `dot-` for `.`, keep linters, test runners and packagers from taking these for a project of theirs.
_SUFFIX = ".tmpl"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "name", type=path_name, metavar="NAME", help="the new folder; its last part names the operators' namespace"
    )


def run(options: argparse.Namespace) -> int:
    """Make the folder, at once: it is whole or not there."""
    folder = pathlib.Path(options.name)
    name = _namespace(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: is there already, and is not overwritten")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _make(folder, name)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made: {error.strerror or error}") from None
    sys.stdout.write(f"made {folder}; next: cd {shlex.quote(str(folder))} && make\n")
    return 0


def _namespace(folder: pathlib.Path) -> str:
    name = folder.absolute().name.replace("-", "_")
    if not (name.isidentifier() and name.isascii()) or name in KEYWORDS or name == "aten" or taken(name):
        raise UsageError(f"{folder}: `{name}` cannot name a namespace; use letters, digits and `_`")
    return name


def _make(folder: pathlib.Path, name: str) -> None:
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as temporary:
        project = pathlib.Path(temporary) / "project"
        for source in sorted(_TEMPLATES.rglob(f"*{_SUFFIX}")):
            parts = source.relative_to(_TEMPLATES).with_suffix("").parts
            target = project.joinpath(*(re.sub("^dot-", ".", part) for part in parts))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(source.read_text("utf-8").replace("@name@", name), "utf-8")
        shutil.copymode(folder, project) if folder.exists() else project.chmod(0o777 & ~umask())
        project.replace(folder)
