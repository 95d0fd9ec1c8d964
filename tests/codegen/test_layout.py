"""Long lines: what is broken without a parser is as with one."""

from __future__ import annotations

import ast
import re
from itertools import pairwise

import pytest

from mtcodegen.pycode.layout import _one_bracket, wrap
from mtcodegen.pycode.literals import pieces, quoted
from mtcodegen.pycode.pretty import render
from mtcodegen.pycode.statements import statement

NAMES = ", ".join(f"a_rather_long_name_{i}" for i in range(7))
STRINGS = ", ".join(f'"a_rather_long_text_{i}"' for i in range(7))
WITHOUT_A_PARSER = [
    f"def function({NAMES.replace(',', ': Tensor,')}, *, last: tuple[int, ...] = (1, 2), **kwargs: Any) -> Tensor: ...",
    f"def function({NAMES.replace(',', ': Sequence[int],')}) -> tuple[Tensor, Tensor]:",
    f"@library.register({STRINGS})",
    f"return torch.ops.aten.add({NAMES}, alpha=alpha)",
    '@_lib.operator("double_of_a_long_name_(Tensor(a!) self) -> Tensor(a!)", variants=("method",), '
    'overlap_check=("Internal", "Partial"))',
    f"result: tuple[Tensor, Tensor] = function({NAMES}, inner(first, second)[0], [1, 2], (3, 4))",
    f'raise library.check_error({STRINGS}, {{"out": (out.shape, out.dtype), "result": (result.shape, result.dtype)}})',
    f"__all__ = [{STRINGS}]",
    "function_of_a_long_name(" + "a_rather_long_name_of_an_argument" * 3 + ")",
]
WITH_ONE = [
    f"result = [name * 2 for name in ({NAMES}) if name.is_what_is_wanted]",
    f"result = function({NAMES})[0, 1]",
    f"result = function({NAMES}) + function(first, second)",
    f"result = function(({NAMES}), (second))",
    f"result = function({NAMES}, '{{second}}')",
    f'result = function({NAMES}, "{"text " * 30}")',
    f"result = function({NAMES}).method(first, second)",
    f"return function({NAMES}) if condition else None",
]


@pytest.mark.parametrize("indent", [0, 4, 8])
@pytest.mark.parametrize("code", WITHOUT_A_PARSER)
def test_as_with_a_parser(code: str, indent: int) -> None:
    doc = statement(code)
    assert doc is not None
    assert _one_bracket(code, indent) == " " * indent + render(doc, indent)


@pytest.mark.parametrize("code", WITH_ONE)
def test_left_to_the_parser(code: str) -> None:
    assert _one_bracket(code, 4) is None
    header = "def outer():\n"
    compile(header + wrap("    " + code), "test", "exec")


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
    found = [ast.literal_eval(piece) for piece in pieces(text, room)]
    assert "".join(found) == text
    assert all(len(piece) <= room for piece in pieces(text, room))
    for piece, following in pairwise(found):
        word = re.match(r"[^ \n]*[ \n]?", following)
        assert piece.endswith("\n") or (word is not None and len(quoted(piece + word[0])) > room)
