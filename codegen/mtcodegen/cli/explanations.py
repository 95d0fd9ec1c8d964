"""What codes mean as text, with what their examples show: for ``explain`` and docs/diagnostics.md."""

from __future__ import annotations

import pathlib
import tempfile
import textwrap

from mtcodegen.findings.codes import CODES
from mtcodegen.findings.diagnostics import render_text
from mtcodegen.project.generate import generate
from mtcodegen.targets.target import Input, Target

__all__ = ["explanation", "markdown"]


def explanation(code: str) -> str | None:
    """What ``mtcodegen explain`` prints; None for a code that there is not."""
    found = CODES.get(code)
    if found is None:
        return None
    text = f"{code}: {found.title}\n\n{_filled(found.text)}\n"
    return (
        f"{text}\nFor example:\n\n{_indented(found.example)}\n{_indented(_shown(code, found.example))}"
        if found.example
        else text
    )


def markdown() -> str:
    """The text of docs/diagnostics.md."""
    lines = [
        "# Diagnostics",
        "",
        "What `mtcodegen` finds, by code. `mtcodegen explain MT204` prints the same. This file is generated from",
        "`codegen/mtcodegen/findings/codes.py`; a test says so where it is not up to date.",
    ]
    for code, found in sorted(CODES.items()):
        lines += ["", f"## {code}: {found.title}", "", _filled(found.text)]
        if found.example:
            lines += ["", "```yaml", found.example.rstrip("\n"), "```", ""]
            lines += ["```text", _shown(code, found.example).rstrip("\n"), "```"]
    return "\n".join(lines) + "\n"


def _shown(code: str, example: str) -> str:
    """What the example's findings look like."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "ops.yaml"
        path.write_text(example, "utf-8")
        target = Target((Input(path, "ops.yaml"),), pathlib.Path(folder) / "generated")
        found = generate([target])[1]
    return render_text([item for item in found if item.code == code])


def _filled(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())
