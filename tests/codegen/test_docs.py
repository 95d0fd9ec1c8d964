"""The examples of docs/yaml.md are files that generate."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from mtcodegen.entries.validate import json_schema
from tests.codegen.support import run

DOC = (Path(__file__).parents[2] / "docs" / "yaml.md").read_text()
EXAMPLES = re.findall(r"```yaml\n(.*?)```", DOC, re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES, ids=[re.findall(r"func: ([\w:]+)", text)[0] for text in EXAMPLES])
def test_an_example_generates(tmp_path, text, repo_root):
    for part in ("op_host", "op_kernel"):  # what one of them takes its tiling from
        shutil.copytree(repo_root / "examples/row_scale" / part, tmp_path / part)
    files, shown = run(tmp_path, text)
    assert shown == ""
    assert {*files} - {"test_ops.py"} == {"ops.py", "ops.pyi"}


def test_every_key_is_documented():
    for name in ("file", "operator", "fake", "kernel", "example"):
        for key in json_schema()["$defs"][name]["properties"]:
            assert re.search(rf"`[^`]*\b{key}\b[^`]*`|\*\*{key}\*\*|^\s*{key}:", DOC, re.MULTILINE), key
