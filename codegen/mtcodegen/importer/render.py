"""Imported operators -> YAML text in our language, with comments on what was not carried over."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable

from mtcodegen.importer.model import Gradient, Imported, Kernel, Note

__all__ = ["render", "yaml_text"]

# A text that YAML reads as itself without quotes, in a list in brackets too.
_PLAIN = re.compile(r"[A-Za-z_.(/][^\n\t\\\"'#\[\]{}&*!|>%@`]*", re.ASCII)
_WORDS = re.compile(r"(?i:true|false|yes|no|on|off|null|~|\.nan|\.inf|y|n)|[-+.]?[0-9][0-9_.eE+-]*")


def yaml_text(text: str) -> str:
    """``text`` as a YAML scalar, quoted where it must be."""
    simple = text.isprintable() and text == text.strip() and not _WORDS.fullmatch(text)
    if simple and _PLAIN.match(text) and ": " not in text and " #" not in text and text[-1] != ":":
        return text
    return json.dumps(text, ensure_ascii=False)


_WIDTH = 118


def render(operators: Iterable[Imported], namespace: str, sources: Iterable[str], left_out: Iterable[Note]) -> str:
    """A file that declares ``operators``; ``left_out`` are notes on whole entries."""
    lines = [line for operator in operators for line in _operator(operator)]
    head = [
        "# yaml-language-server: $schema=ops.schema.json",
        f"# Imported from {', '.join(sources)}. What could not be carried over is noted in comments.",
        f"namespace: {namespace}",
        "ops:" if lines else "ops: []",
    ]
    end = [line for note in left_out for line in _comment(note)]
    return "".join(f"{line}\n" for line in [*head, *lines, *end])


def _operator(operator: Imported) -> list[str]:
    rules = [f"{{{', '.join(f'{key}: {_flow_text(text)}' for key, text in rule.items())}}}" for rule in operator.fake]
    lines = _head(operator)
    if len(rules) == 1:
        lines.append(f"  fake: {rules[0]}")
    elif rules:
        lines += ["  fake:", *(f"  - {rule}" for rule in rules)]
    if operator.kernels:
        lines += ["  kernels:", *(line for kernel in operator.kernels for line in _kernel(kernel))]
    lines += [f"  # {line}" for line in operator.suggested]
    if operator.backward:
        lines.append(f"  backward: {operator.backward}")
    if operator.gradients:
        lines.append("  backward:")
    lines += [line for item in operator.gradients for line in _gradient(item)]
    if operator.forward:
        lines += ["  forward:", *(f"    {item.output}: {yaml_text(item.formula)}" for item in operator.forward)]
    if operator.output_differentiability:
        lines.append(f"  output_differentiability: {str(list(operator.output_differentiability)).lower()}")
    return lines


def _gradient(gradient: Gradient) -> list[str]:
    names = ", ".join(gradient.arguments)
    if not gradient.by_device:
        return [f"    {names}: {yaml_text(gradient.formula)}"]
    formulas = {"default": gradient.formula} | {name: item.formula for name, item in gradient.by_device.items()}
    return [f"    {names}:", *(f"      {device}: {yaml_text(text)}" for device, text in formulas.items())]


def _flow_text(text: str) -> str:
    """A value between braces, where a comma would end it."""
    return text if re.fullmatch(r"[A-Za-z_][\w.]*", text, re.ASCII) else "'" + text.replace("'", "''") + "'"


def _head(operator: Imported) -> list[str]:
    lines = [line for note in operator.notes for line in _comment(note)]
    lines.append(f"- func: {yaml_text(str(operator.schema))}")
    if operator.variants != ("function",):
        lines.append(f"  variants: {', '.join(operator.variants)}")
    if operator.autogen:
        lines.append(f"  autogen: {', '.join(operator.autogen)}")
    if operator.tags:
        lines.append(f"  tags: [{', '.join(operator.tags)}]")
    if operator.device_check:
        lines.append(f"  device_check: {operator.device_check}")
    return lines


def _kernel(kernel: Kernel) -> list[str]:
    lines = [f"python: {kernel.python}"]
    if len(kernel.devices) == 1:
        lines.insert(0, f"device: {kernel.devices[0]}")
    elif kernel.devices:
        lines.insert(0, f"device: [{', '.join(kernel.devices)}]")
    if kernel.dtypes:
        lines.append(f"dtypes: [{', '.join(kernel.dtypes)}]")
    return [f"  {'-' if i == 0 else ' '} {line}" for i, line in enumerate(lines)]


def _comment(note: Note) -> list[str]:
    text = " ".join(f"not carried over: {note.text} ({note.reason})".split())
    if not text.isprintable():  # from an escape in a quoted text: YAML does not allow it in a comment
        text = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)
    if len(text) + 2 <= _WIDTH:
        return [f"# {text}"]
    return textwrap.wrap(
        text, _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_long_words=False, break_on_hyphens=False
    )
