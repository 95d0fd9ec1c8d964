"""What was generated from the same files before, so that it is not made again to be compared.

Generation is a pure function. Its result is kept in the user's cache folder under a hash of all that it reads: the YAML
files and their names, the generator, its templates and the built-in operators, all by content, and the versions of what
it runs on. Whatever differs is another hash: nothing is ever taken for up to date without being compared byte for byte.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import pathlib
import sys
from collections.abc import Sequence

from mtcodegen.system.cache import add_files, keep, kept
from mtcodegen.system.paths import PACKAGE, data_folder
from mtcodegen.targets.job import Generated, Job

__all__ = ["key_of", "recall", "remember"]

_FOLDER = "generated"  # of the cache
_SMALLEST = 100_000  # characters of output; less is made again as fast
_MOST = 32  # results that are kept
_SUFFIXES = (".py", ".j2", ".yaml", ".json")


def key_of(jobs: Sequence[Job]) -> str | None:
    """The hash of everything that a run reads; None where something cannot be read, which the run itself will say."""
    found = hashlib.sha256(sys.version.encode())
    try:
        add_files(found, _own_files())
        for job in jobs:
            found.update(repr((job.target, job.package, str(job.folder.resolve()))).encode())
            for item in job.inputs:
                found.update(repr((item.name, str(item.path.resolve()))).encode())
                if item.path.is_file():
                    add_files(found, [item.path])
    except (OSError, UnicodeEncodeError):
        return None
    return found.hexdigest()


def _own_files() -> list[pathlib.Path]:
    import opschema

    packages = [PACKAGE, pathlib.Path(opschema.__file__).parent]
    folders = [*packages, data_folder("templates"), data_folder("ops_yaml")]
    own = {path for folder in folders for path in folder.rglob("*") if path.suffix in _SUFFIXES}
    others = [importlib.util.find_spec(name) for name in ("yaml", "jinja2")]  # ``__init__.py`` has the version
    return sorted(own | {pathlib.Path(spec.origin) for spec in others if spec is not None and spec.origin})


def recall(jobs: Sequence[Job], key: str) -> list[Generated] | None:
    """What the run of this key made; None where that is not known."""
    text = kept(_FOLDER, key)
    if text is None:
        return None
    files: list[dict[str, str]] = json.loads(text)
    return [Generated(job, item) for job, item in zip(jobs, files, strict=True)]


def remember(generated: Sequence[Generated], key: str) -> None:
    """Keep a result without findings, if it is large."""
    if not all(item.is_pure for item in generated):
        return
    text = json.dumps([item.files for item in generated])
    if len(text) >= _SMALLEST:
        keep(_FOLDER, key, text, _MOST)
