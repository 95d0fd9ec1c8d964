"""What the generator's tests share: a file's findings as text, its generated module, and what is imported."""

from __future__ import annotations

import argparse
import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from mtcodegen.check.operators import operator_table
from mtcodegen.check.resolve import resolve
from mtcodegen.cli import import_
from mtcodegen.entries.front import parse_source
from mtcodegen.findings.diagnostics import Diagnostic, render_text
from mtcodegen.findings.source import Source
from mtcodegen.project.generate import generate
from mtcodegen.targets.job import Input, Job
from tests.needs import require

ZOO = Path(__file__).parent / "zoo.yaml"


def run(folder: Path, *texts: str | bytes, target: str = "mindtorch") -> tuple[dict[str, str], str]:
    """Generated files by path, and the findings as shown, for files ``ops.yaml``, ``ops2.yaml``, ..."""
    inputs = []
    for i, text in enumerate(texts):
        path = folder / f"ops{i + 1 if i else ''}.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        put_sources(folder, text if isinstance(text, str) else "")
        inputs.append(Input(path, path.name))
    generated, found = generate([Job(tuple(inputs), folder / "generated", "", target)])
    return (generated[0].files if generated else {}), render_text(found)


def put_sources(folder: Path, text: str) -> None:
    """What the kernels of a file are built of: empty files, where a test has not written its own."""
    for named in re.findall(r"source: (\[[^\]]*\]|[^\s,}]+)", text):
        for name in named.strip("[]").split(","):
            path = folder / name.strip()
            path.parent.mkdir(exist_ok=True)
            path.touch()


def findings(folder: Path, *texts: str | bytes) -> str:
    """The findings alone; nothing may be generated beside an error."""
    files, text = run(folder, *texts)
    assert not (files and "error[" in text)
    return text


def load(folder: Path, text: str, name: str = "ops.py") -> ModuleType:
    """The module that is generated from ``text``, imported from where it was written."""
    require("mindtorch_v2")
    files, shown = run(folder, text)
    assert shown == ""
    write(folder / "generated", files)
    path = folder / "generated" / name
    spec = importlib.util.spec_from_file_location(f"{folder.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(folder: Path, files: dict[str, str]) -> None:
    """Put generated files into a folder."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(content)


def run_import(*words: str) -> int:
    """``mtcodegen import`` with these words."""
    parser = argparse.ArgumentParser()
    import_.configure(parser)
    return import_.run(parser.parse_args(list(words)))


def check_imported(text: str) -> list[Diagnostic]:
    """What the generator has against a file that was imported."""
    _, file, found = parse_source(Source("imported.yaml", text))
    return found if file is None or found else resolve(file, operator_table(file.ops, set()))[1]


def entries(text: str) -> dict[str, Any]:
    """The entries of a file of ours by their schemas."""
    return {entry["func"]: entry for entry in yaml.load(text, yaml.CSafeLoader)["ops"]}
