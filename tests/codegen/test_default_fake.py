"""A file's own `fake`: which entries it holds for, and what is said where it does not fit."""

from __future__ import annotations

import pytest

from mtcodegen.cli.main import main
from tests.codegen.support import findings, run

TEXT = """\
namespace: my
library: libk.so
fake: {{shape: x.shape, dtype: "result_type(x, 1.0)"}}
ops:
{}"""
LAUNCHED = "  kernels: [{device: cpu, symbol: k, args: [desc(x), desc(out)]}]\n  backward: not_differentiable\n"


def entry(func: str, rest: str = LAUNCHED) -> str:
    return TEXT.format(f"- func: {func}\n{rest}")


@pytest.mark.parametrize(
    ("func", "rest", "made"),
    [
        ("f(Tensor x) -> Tensor", LAUNCHED, "op.returns(empty(x.shape, result_type(x, 1.0), x))"),
        ("f(Tensor x) -> Tensor", "  fake: {like: x}\n" + LAUNCHED, "op.returns(like(x))"),
        ("f(Tensor x) -> Tensor", "  tags: pointwise\n  autogen: f_\n" + LAUNCHED, "can_cast(result_type(x, 1.0)"),
        ("f(Tensor x) -> Tensor", "  kernels: [{compute: x + x}]\n", "op.returns(x + x)"),
        ("f_(Tensor(a!) x) -> Tensor(a!)", LAUNCHED.replace("desc(out)", "f32(1)"), "op.returns(x)"),
        ("f(Tensor x) -> int", "  kernels: [{device: [cpu, meta], python: 'm:f'}]\n", 'op.python("m:f"'),
    ],
)
def test_it_is_that_of_entries_which_need_one_and_have_none(tmp_path, func, rest, made):
    files, shown = run(tmp_path, entry(func, rest))
    assert shown == ""
    assert made in files["ops.py"]


def test_it_may_be_a_function(tmp_path):
    text = entry("f(Tensor x) -> Tensor", "  kernels: [{device: cpu, python: 'm:f'}]\n  backward: not_differentiable\n")
    files, shown = run(tmp_path, text.replace('{shape: x.shape, dtype: "result_type(x, 1.0)"}', "{python: 'm:shape'}"))
    assert shown == ""
    assert 'op.python("m:shape", device="Meta")' in files["ops.py"]


def test_a_function_allocates_nothing_for_a_launch(tmp_path):
    text = entry("f(Tensor x) -> Tensor")
    shown = findings(tmp_path, text.replace('{shape: x.shape, dtype: "result_type(x, 1.0)"}', "{python: 'm:shape'}"))
    assert "ops.yaml:6:27: error[MT314]: nothing says how to allocate the outputs of this kernel" in shown


def test_where_it_does_not_fit_the_entry_is_named(tmp_path):
    shown = findings(tmp_path, entry("f(Tensor y) -> Tensor", LAUNCHED.replace("desc(x)", "desc(y)")))
    assert "ops.yaml:3:15: error[MT204]: `x` is not an argument of my::f" in shown
    shown = findings(tmp_path, entry("f(Tensor x) -> (Tensor, Tensor)", LAUNCHED.replace("desc(out)", "out0, out1")))
    assert "ops.yaml:5:9: error[MT402]: 1 rule for 2 new outputs" in shown


def test_an_entry_that_says_it_again_is_told_so(tmp_path, capsys):
    path = tmp_path / "ops.yaml"
    doc, again = "  doc: Somewhat.\n", '  fake: {dtype: "result_type(x, 1.0)", shape: x.shape}\n'
    path.write_text(entry("f(Tensor x) -> Tensor", doc + again + LAUNCHED))
    assert main(["lint", str(path)]) == 1
    assert "ops.yaml:7:3: warning[MT802]: `fake` gives the default" in capsys.readouterr().err
    assert main(["lint", "--fix", str(path)]) == 0
    assert path.read_text() == entry("f(Tensor x) -> Tensor", doc + LAUNCHED)
