"""The table of docs/ascendc.md, made from the simulator's headers and from the kernels of the tests.

``python -m tests.sim.ascendc.table`` writes it anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
HEADERS = ROOT / "runtime/sim/include/ascendc/impl"
TESTS = Path(__file__).parent
DOCUMENT = ROOT / "docs" / "ascendc.md"
# Whose tests have kernels of AscendC, whose values are compared; the checker's own come with their reports.
KERNELS = (
    *sorted((TESTS / "kernels").glob("*.cpp")),
    *sorted((TESTS.parent / "check" / "kernels").glob("*.cpp")),
    *sorted((ROOT / "tests/npu").glob("kernels.cpp")),
    *sorted((ROOT / "runtime/kernels/npu").glob("*.*")),
    *sorted((ROOT / "examples").glob("*/*.cpp")),
    *sorted((ROOT / "examples").glob("*/op_kernel/*.cpp")),
)
# Functions that the tables of macros declare, by their first argument.
_TABLES = r"MTSIM_(?:UNARY|SCALAR|BINARY|ACCUMULATE|MATH1|MATH2|MATH_SCALAR|REDUCE|RAW_\w+)"
_TOKEN = re.compile(
    rf"namespace\s*(?P<namespace>[\w:]*)\s*\{{|(?P<open>\{{)|(?P<close>\}})|\b{_TABLES}\((?P<listed>\w+),"
    r"|(?<!enum )\bclass\s+(?P<type>[A-Z]\w*)\s*(?::[^{;()]*)?\{"
    r"|(?<=[\w>&*\]]\s)(?P<function>[A-Za-z]\w*)\s*\((?=(?:[^;{}]|= \{\})*\)\s*(?:const\s*)?(?:noexcept\s*)?\{)"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_KEYWORDS = {"if", "for", "while", "switch", "return", "decltype", "sizeof", "static_assert", "constexpr", "operator"}


@dataclass(frozen=True)
class Row:
    """A name of the API: the header that has it, what the checker sees of it, and the sources of tests that use it."""

    name: str
    header: str
    checked: bool
    tests: tuple[str, ...]


def rows() -> list[Row]:
    """Every function and type that the headers give to kernels, by header."""
    texts = {path: _COMMENT.sub("", path.read_text()) for path in KERNELS}
    tokens = {path: set(re.findall(r"\w+", text)) for path, text in texts.items()}
    found: dict[str, Row] = {}
    for header in sorted(HEADERS.glob("*.h")):
        text = header.read_text()
        tells = "mtsim_check_" in text and header.stem != "system"  # classes and flags, which are followed as they are
        for name, listed in _names(_plain(text)):
            checked = listed or tells or f'"{name}"' in text or _forwards(name, text)
            tests = tuple(dict.fromkeys(path.stem for path in KERNELS if name in tokens[path]))
            known = found.get(name)
            if known is None or (checked and not known.checked):
                found[name] = Row(name, known.header if known else header.stem, checked, tests)
    return sorted(found.values(), key=lambda row: (row.header, row.name))


def _forwards(name: str, text: str) -> bool:
    """Whether a function hands its operands on to one that is checked."""
    body = re.search(rf"\bvoid {name}\([^{{}}]*\{{\n(?P<body>(?:  [^\n]*\n)*)", text)
    return body is not None and re.search(r"\w(?:<[^()]*>)?\((?:dst|gm)\b", body["body"]) is not None


def table() -> str:
    """The rows as Markdown."""
    lines = ["| name | header | checked | tested by |", "|---|---|---|---|"]
    for row in rows():
        tests = ", ".join(row.tests) or "-"
        lines.append(f"| `{row.name}` | {row.header} | {'yes' if row.checked else '-'} | {tests} |")
    return "\n".join(lines) + "\n"


def with_table(document: str) -> str:
    """The document with the table of today."""
    return re.sub(r"(<!-- table -->\n).*?(<!-- end -->\n)", lambda m: m[1] + table() + m[2], document, flags=re.DOTALL)


def _plain(text: str) -> str:
    """Without comments and definitions of macros."""
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", "", _COMMENT.sub("", text), flags=re.MULTILINE)


def _names(text: str) -> Iterator[tuple[str, bool]]:
    """What stands in the namespace AscendC or in none, and whether a table of macros declares it."""
    scopes: list[str] = []
    for match in _TOKEN.finditer(text):
        if match["namespace"] is not None:
            scopes.append(match["namespace"] or "?")
        elif match["open"]:
            scopes.append("")
        elif match["close"]:
            if scopes:
                scopes.pop()
        else:
            name = match["listed"] or match["type"] or match["function"]
            if all(scope == "AscendC" for scope in scopes) and name not in _KEYWORDS and not name.startswith("MTSIM"):
                yield name, match["listed"] is not None
            if match["type"]:
                scopes.append("")


if __name__ == "__main__":
    DOCUMENT.write_text(with_table(DOCUMENT.read_text()))
