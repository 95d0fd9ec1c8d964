"""What codes mean as text, with what their examples show: for ``explain`` and docs/diagnostics.md."""

from __future__ import annotations

import pathlib
import tempfile
import textwrap

from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import render_text
from mtcodegen.findings.examples import EXAMPLES
from mtcodegen.project.generate import generate
from mtcodegen.targets.job import Input, Job

__all__ = ["explanation", "markdown"]


def explanation(code: Code) -> str:
    """What ``mtcodegen explain`` prints."""
    text = f"{code}: {code.title}\n\n{_filled(_text(code))}\n"
    example = EXAMPLES.get(code)
    if example is None:
        return text
    return f"{text}\nFor example:\n\n{_indented(example)}\n{_indented(_shown(code, example))}"


def _text(code: Code) -> str:
    return f"{code.text} `mtcodegen lint --fix` {code.fix}." if code.fix else code.text


def markdown() -> str:
    """The text of docs/diagnostics.md."""
    lines = [
        "# Diagnostics",
        "",
        "What `mtcodegen` finds, by code. `mtcodegen explain MT204` prints the same. This file is generated from",
        "`codegen/mtcodegen/findings/codes.py`; a test says so where it is not up to date.",
    ]
    for code in Code:
        lines += ["", f"## {code}: {code.title}", "", _filled(_text(code))]
        if code in EXAMPLES:
            lines += ["", "```yaml", EXAMPLES[code].rstrip("\n"), "```", ""]
            lines += ["```text", _shown(code, EXAMPLES[code]).rstrip("\n"), "```"]
    return "\n".join(lines) + "\n"


def _shown(code: Code, example: str) -> str:
    """What the example's findings look like."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "ops.yaml"
        path.write_text(example, "utf-8")
        found = generate([Job((Input(path, "ops.yaml"),), pathlib.Path(folder) / "generated")])[1]
    return render_text([item for item in found if item.code is code])


def _filled(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())
