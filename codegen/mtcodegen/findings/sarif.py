"""Findings as SARIF 2.1.0, which code-scanning services and editors read."""

from __future__ import annotations

import json
import os
import pathlib
import urllib.parse
from collections.abc import Sequence
from typing import Any

from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic
from mtcodegen.findings.source import Span

__all__ = ["render_sarif"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render_sarif(found: Sequence[Diagnostic]) -> str:
    """A log of one run; lines and columns count from 1, columns in Unicode code points."""
    codes = sorted({item.code for item in found}, key=str)
    run = {
        "tool": {"driver": {"name": "mtcodegen", "rules": [_rule(code) for code in codes]}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(item, codes) for item in found],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: Code) -> dict[str, Any]:
    return {"id": code.name, "shortDescription": {"text": code.title}, "fullDescription": {"text": code.text}}


def _result(item: Diagnostic, codes: list[Code]) -> dict[str, Any]:
    text = f"{item.message} ({item.hint})" if item.hint else item.message
    result = {
        "ruleId": item.code.name,
        "ruleIndex": codes.index(item.code),
        "level": item.severity.value,
        "message": {"text": text},
        "locations": [{"physicalLocation": _place(item.file, item.span)}],
    }
    related = [other for other in item.related if other.span.source.is_file]
    if related:
        result["relatedLocations"] = [
            {
                "id": number,
                "physicalLocation": _place(other.span.source.path, other.span),
                "message": {"text": other.message},
            }
            for number, other in enumerate(related, start=1)
        ]
    return result


def _place(path: str, span: Span | None) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(path)}}
    if span is not None:
        line, column = span.line, span.column
        place["region"] = {"startLine": line, "startColumn": column, "endColumn": column + span.length}
    return place


def _uri(path: str) -> str:
    """A path as a URI: relative to the current folder, as services want it, where it is below it."""
    if os.path.isabs(path):  # noqa: PTH117  (a path as the user wrote it)
        return pathlib.Path(path).as_uri()
    return urllib.parse.quote(os.fsencode(path.replace(os.sep, "/")))
