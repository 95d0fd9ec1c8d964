"""What the generator's tests share: a file's findings as text, and its generated module."""

from __future__ import annotations

from pathlib import Path

from mtcodegen.diagnostics import render_text
from mtcodegen.pipeline import Input, Target, generate

ZOO = Path(__file__).parent / "zoo.yaml"


def run(folder: Path, *texts: str | bytes) -> tuple[dict[str, str], str]:
    """Generated files by path, and the findings as shown, for files ``ops.yaml``, ``ops2.yaml``, ..."""
    inputs = []
    for i, text in enumerate(texts):
        path = folder / f"ops{i + 1 if i else ''}.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        inputs.append(Input(path, path.name))
    generated, found = generate([Target(tuple(inputs), folder / "generated")])
    return (generated[0].files if generated else {}), render_text(found)


def findings(folder: Path, *texts: str | bytes) -> str:
    """The findings alone; nothing may be generated beside an error."""
    files, text = run(folder, *texts)
    assert not (files and "error[" in text)
    return text
