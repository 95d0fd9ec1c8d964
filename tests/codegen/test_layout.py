"""Long lines: what is broken where the formatter has no say, and what is left as it is."""

from __future__ import annotations

import ast
import re
from itertools import pairwise

import pytest

from mtcodegen.pycode.layout import WIDTH, wrap
from mtcodegen.pycode.literals import pieces, quoted, requoted

NAMES = ", ".join(f"a_rather_long_name_{i}" for i in range(7))
WORDS = " ".join(f"word{i}" for i in range(30))
LEFT_AS_THEY_ARE = [
    f"# {WORDS}",
    f"while function({NAMES}):",
    f"assert condition, function({NAMES})",
    "a_name" * 30,
    f"result = {'a_name' * 30}",
    f"result: {'A' * 130}",
    f"function({NAMES}",
    f"function({NAMES}))",
]


@pytest.mark.parametrize("line", LEFT_AS_THEY_ARE)
def test_left_as_it_is(line: str) -> None:
    assert wrap(f"    {line}") == f"    {line}"


@pytest.mark.parametrize("quotes", ['\'"""\'', '"a"'])
def test_docstrings_are_left_as_they_are(quotes: str) -> None:
    address = f"https://example.org/{'a_rather_long_address_' * 5}(with_brackets,_and_more)"
    text = f'def f(x={quotes}):\n    """First line.\n\n    {address}\n    \\"\\"\\"({WORDS})\n    """\n'
    assert wrap(text) == text
    assert wrap(f"{text}    function({NAMES}, {NAMES})\n").count("\n") > text.count("\n") + 14


def test_nothing_is_lost_without_spaces() -> None:
    line = f"function({NAMES.replace(', ', ',')},[a,b],(c,),  key='it,s')"
    assert _tree(wrap(line)) == _tree(line)


@pytest.mark.parametrize("value", ["0xff", "1e-5", "1.50", "10_000", "'it is'", 'rb"\\x00"', "a**b", "not(a)", "x [1]"])
def test_nothing_is_spelled_anew(value: str) -> None:
    line = f"result = function({NAMES}, {value}, key={value})"
    assert wrap(line) != line
    assert re.sub(r"[,\s]", "", wrap(line)) == re.sub(r"[,\s]", "", line)


def test_comments_stay_behind_what_they_are_about() -> None:
    broken = wrap(f'    value = function({NAMES}, "#", {NAMES})  # type: ignore[arg-type]')
    assert broken.endswith("\n    )  # type: ignore[arg-type]")
    ast.parse(f"if x:\n{broken}")


@pytest.mark.parametrize(
    "line",
    [
        f'op.check(x.shape == y.shape, "{WORDS} {WORDS}")',
        f'op.check(x.shape == y.shape, message="{WORDS}")',
        f'op.check(x.shape == y.shape, message=f"{{x.shape}} {WORDS} {{{{}}}} {{y.shape}} {WORDS}")',
        f'raise NotImplementedError("{WORDS} {WORDS}")',
        f'@_lib.operator("{WORDS}", tags="pointwise")',
        f'@_lib.operator("{WORDS}")',
    ],
)
@pytest.mark.parametrize("indent", [0, 4, 8])
def test_texts_are_cut(line: str, indent: int) -> None:
    broken = wrap(" " * indent + line)
    assert all(len(part) <= WIDTH for part in broken.split("\n"))
    assert _tree("\n".join(part[indent:] for part in broken.split("\n"))) == _tree(line)


def _tree(statement: str) -> str:
    """As Python reads it: literals one after another are one."""
    return ast.dump(ast.parse(f"{statement}\ndef f(): ..." if statement[0] == "@" else statement))


@pytest.mark.parametrize("room", [24, 25, 26, 27])
@pytest.mark.parametrize(
    "text",
    [
        "some words without anything to escape in them, and some more",
        "it's one quote, which needs no escape in the other kind",
        'both "kinds" of quotes aren\'t rare, and \\ needs one always',
        "lines end here\nand here\n and go on for some more words",
        "caf\u00e9 cr\u00e8me and \u00a0 what cannot be printed \x07 at all",
    ],
)
def test_pieces_are_as_long_as_can_be(text: str, room: int) -> None:
    found = [ast.literal_eval(piece) for piece in pieces(quoted(text), room)]
    assert "".join(found) == text
    assert all(len(piece) <= room for piece in pieces(quoted(text), room))
    for piece, following in pairwise(found):
        word = re.match(r"[^ \n]*[ \n]?", following)
        assert piece.endswith("\n") or (word is not None and len(quoted(piece + word[0])) > room)


@pytest.mark.parametrize(
    ("body", "literal"),
    [
        ('\\"add\\" has no {x}', """'"add" has no {x}'"""),
        ("add has no {x}", '"add has no {x}"'),
        ('\\"add\\" isn\'t here', """"\\"add\\" isn't here\""""),
    ],
)
def test_a_literal_is_in_the_quotes_that_the_formatter_prefers(body: str, literal: str) -> None:
    assert requoted(body) == literal
