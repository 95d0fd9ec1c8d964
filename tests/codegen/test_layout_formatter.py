"""Long lines: what ``ruff format`` makes of statements as generated code has them, random ones among them."""

from __future__ import annotations

import ast
import random
import subprocess
import sys
import textwrap

import pytest

from mtcodegen.pycode.layout import wrap
from mtcodegen.pycode.literals import quoted
from tests.needs import require

NAMES = ["x", "alpha", "other_t", "grad_output", "self_"]
CALLED = ["f", "torch.ops.aten.function", "a_long_name_of_a_function"]
STATEMENTS = ["return {}", "result = {}", "a, b, c = {}", "out: tuple[Tensor, Tensor] = {}", "call({})", "if {}:"]
ARGUMENTS = ", ".join(f"a_rather_long_name_{i}" for i in range(7))


class _Expressions:
    """Random ones, as formulas have them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def conditional(self, depth: int) -> str:
        if depth <= 0 or self.random.random() > 0.08:
            return self.arithmetic(depth)
        condition = self.random.choice(["{} > {}", "{} is None or {}", "not {} and {} == 3"])
        condition = condition.format(self.operand(depth - 1), self.operand(depth - 1))
        return f"{self.arithmetic(depth - 1)} if {condition} else {self.conditional(depth - 1)}"

    def arithmetic(self, depth: int) -> str:
        operands = [self.operand(depth) for _ in range(self.random.choice([1, 1, 2, 2, 3]))]
        return f" {self.random.choice('+-*/')} ".join(operands)

    def operand(self, depth: int) -> str:
        name = self.random.choice(NAMES)
        if depth <= 0:
            return name
        make = self.random.choice(
            [
                lambda: name,
                lambda: f"-{name}",
                lambda: f"{name}[{self.random.choice([0, -1])}]",
                lambda: f"({self.conditional(depth - 1)} + {name})",
                lambda: f"{name}.method({self.arguments(depth - 2)})",
                lambda: f"{self.random.choice(CALLED)}({self.arguments(depth - 1)})",
                lambda: (
                    f"{self.random.choice(CALLED)}({self.conditional(depth - 1)}, key={self.conditional(depth - 1)})"
                ),
                lambda: f"f([{self.conditional(depth - 1)}, {self.conditional(depth - 1)}])",
                lambda: f"f([{self.conditional(depth - 1)} for item in {name}])",
            ]
        )
        return make()

    def arguments(self, depth: int) -> str:
        return ", ".join(self.conditional(depth) for _ in range(self.random.randint(0, 3)))


def _in_functions(statements: list[str], indent: str = "") -> str:
    """Each in a function of its own, with a suite where it needs one."""
    suites = [f"{text}\n        pass" if text.endswith(":") else text for text in statements]
    return "\n\n\n".join(f"def f():\n{indent}{text}" for text in suites) + "\n"


def _formatted(source: str) -> str:
    require("ruff")
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "120", "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


def _check(lines: list[str]) -> None:
    """Functions are compared one by one: each has one of the statements."""
    ours = _in_functions([wrap(f"    {line}") for line in lines])
    theirs = _formatted(_in_functions(lines, "    "))
    for line, got, wanted in zip(lines, ours.split("\n\n\n"), theirs.split("\n\n\n"), strict=True):
        assert got == wanted, line


@pytest.mark.parametrize("seed", range(2))
def test_statements_are_broken_as_the_formatter_does(seed: int) -> None:
    made = _Expressions(seed)
    lines: list[str] = []
    while len(lines) < 500:
        line = _formatted_on_one_line(made.random.choice(STATEMENTS).format(made.conditional(4)))
        if 116 < len(line) < 300:
            lines.append(line)
    _check(lines)


def _formatted_on_one_line(line: str) -> str:
    """Without parentheses that need not be there, as what we emit has none."""
    return ast.unparse(ast.parse(f"{line} pass" if line.endswith(":") else line)).replace("\n    pass", "")


TEXTS = ", ".join(f'"a_rather_long_text_{i}"' for i in range(7))


@pytest.mark.parametrize(
    "line",
    [
        f"def function({ARGUMENTS.replace(',', ': Tensor,')}, *, last: tuple[int, ...] = (1, 2), **more: Any): ...",
        f"def function({ARGUMENTS.replace(',', ': list[int],')}) -> tuple[Tensor, Tensor]: ...",
        f"def function({ARGUMENTS.replace(',', ': list[int],')}) -> list[Tensor]: ...",
        f"class Name({ARGUMENTS}): ...",
        f"@library.register({TEXTS})\ndef f(): ...",
        f"@library.register(tags=({TEXTS}))\ndef f(): ...",
        f"from module import {ARGUMENTS}",
        f"from module import a_rather_long_name as {'a_rather_long_name' * 6}",
        f"__all__ = [{TEXTS}]",
        f'raise library.error({TEXTS}, {{"out": (out.shape, out.dtype), "result": (result.shape, result.dtype)}})',
        f"result: tuple[Tensor, Tensor] = function({ARGUMENTS}, inner(first, second)[0], [1, 2], (3, 4))",
        f"result = [name * 2 for name, other in ({ARGUMENTS}) if name.is_what_is_wanted]",
        f"result = function(item for item in ({ARGUMENTS}))",
        f"result = function({ARGUMENTS})[0, 1] + function({ARGUMENTS})[:1]",
        f"result = function({ARGUMENTS}).method(first, second)",
        f"total += function({ARGUMENTS})",
        f"return {{{ARGUMENTS.replace(',', ': value,')}: value}}",
        f"function({'a_rather_long_name_of_an_argument' * 4})",
        f"if not function({ARGUMENTS}):\n    pass\nelif one_of(x.dtype, {ARGUMENTS}) and x.is_cpu:\n    pass",
        f"value = function({ARGUMENTS}) not in (first, {ARGUMENTS}) and other is not None",
    ],
)
def test_lines_are_broken_as_the_formatter_does(line: str) -> None:
    source = f"def outer():\n{textwrap.indent(line, '    ')}\n"
    assert wrap(source) == _formatted(source).replace("\n\n", "\n")


@pytest.mark.parametrize("value", ["ctx.needs_input_grad", "function(x)", f"function({ARGUMENTS})", "first, second"])
def test_targets_are_broken_as_the_formatter_does(value: str) -> None:
    """On both sides of each width at which another way is taken."""
    _check([f"{', '.join(f'target_{i}' for i in range(9))}{'x' * more} = {value}" for more in range(32)])


@pytest.mark.parametrize("text", ["plain", "it's", 'a "b"', "'a' \"b\"", '\'a\' "b" "c"', "\\'", '\\"\\', "'\\''\""])
def test_quotes_are_those_of_the_formatter(text: str) -> None:
    assert _formatted(f"{text!r}\n") == f"{quoted(text)}\n" == _formatted(f"{quoted(text)}\n")
