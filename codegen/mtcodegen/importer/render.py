"""Imported operators -> YAML text in our language, with comments on what was not carried over."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mtcodegen.importer.model import Gradient, Imported, Kernel, Note
from mtcodegen.torchyaml.write import yaml_text

__all__ = ["Rendered", "render", "render_left_out"]

_WIDTH = 118


@dataclass(frozen=True)
class Rendered:
    """The text of a file, and which operator's shape rule and which gradient each line is; lines count from 1."""

    text: str
    fakes: dict[int, Imported]
    gradients: dict[int, tuple[Imported, Gradient]]


def render(operators: Sequence[Imported], namespace: str, sources: Iterable[str]) -> Rendered:
    """A file that declares ``operators``."""
    lines = [
        "# yaml-language-server: $schema=ops.schema.json",
        f"# Imported from {', '.join(sources)}. What could not be carried over is noted in comments.",
        f"namespace: {namespace}",
        "ops:" if operators else "ops: []",
    ]
    fakes: dict[int, Imported] = {}
    gradients: dict[int, tuple[Imported, Gradient]] = {}
    for operator in operators:
        lines += _head(operator)
        single = len(operator.fake) == 1
        if operator.fake and not single:
            lines.append("  fake:")
        for rule in operator.fake:
            lines.append(f"  fake: {rule}" if single else f"  - {rule}")
            fakes[len(lines)] = operator
        lines += _kernels(operator)
        if operator.gradients:
            lines.append("  backward:")
        for gradient in operator.gradients:
            lines.append(f"    {', '.join(gradient.arguments)}: {yaml_text(gradient.formula)}")
            gradients[len(lines)] = (operator, gradient)
    return Rendered("".join(f"{line}\n" for line in lines), fakes, gradients)


def _head(operator: Imported) -> list[str]:
    lines = [line for note in operator.notes for line in _comment(note)]
    lines.append(f"- func: {yaml_text(str(operator.schema))}")
    if operator.variants != ("function",):
        lines.append(f"  variants: {', '.join(operator.variants)}")
    if operator.tags:
        lines.append(f"  tags: [{', '.join(operator.tags)}]")
    return lines


def _kernels(operator: Imported) -> list[str]:
    lines: list[str] = []
    if operator.kernels:
        lines.append("  kernels:")
        lines += [line for kernel in operator.kernels for line in _kernel(kernel)]
    if operator.backward:
        lines.append(f"  backward: {operator.backward}")
    return lines


def _kernel(kernel: Kernel) -> list[str]:
    body = list(kernel.body)
    if len(kernel.devices) == 1:
        body.insert(0, f"device: {kernel.devices[0]}")
    elif kernel.devices:
        body.insert(0, f"device: [{', '.join(kernel.devices)}]")
    return [f"  {'-' if i == 0 else ' '} {line}" for i, line in enumerate(body)]


def _comment(note: Note) -> list[str]:
    text = " ".join(f"not carried over: {note.text} ({note.reason})".split())
    return textwrap.wrap(
        text, _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_long_words=False, break_on_hyphens=False
    )


def render_left_out(notes: Iterable[Note]) -> str:
    """Comments at the end of a file, on whole entries."""
    return "".join(f"{line}\n" for note in notes for line in _comment(note))
