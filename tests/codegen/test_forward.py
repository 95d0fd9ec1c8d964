"""``forward``: tangents of outputs, checked as gradients are, and the function that is generated for them."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tests.codegen.support import findings, load, run
from tests.needs import needed

torch = needed("mindtorch_v2")

PRODUCT = """\
namespace: my
ops:
- func: product(Tensor x, Tensor? y, Tensor[] zs, Tensor ix, *, float scale=1.0) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, compute: x * scale}]
  backward: {x: grad * scale, y: not_implemented, zs: not_implemented, ix: not_differentiable}
  forward: FORWARD
"""
TWO = """\
namespace: my
ops:
- func: two(Tensor x) -> (Tensor values, Tensor, Tensor, int)
  kernels: [{device: [cpu, meta], python: 'a.b:two'}]
  output_differentiability: [true, true, false, false]
  backward: {x: 'grads[0]'}
  forward: FORWARD
"""


def rule(folder, text, name):
    """What the generated rule takes, and its body without layout."""
    files, shown = run(folder, text)
    assert shown == ""
    tree = ast.parse(files["ops.py"])
    definition = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    (function,) = [
        node
        for node in definition.body
        if isinstance(node, ast.FunctionDef) and [ast.unparse(item) for item in node.decorator_list] == ["op.jvp"]
    ]
    return [arg.arg for arg in function.args.args], [ast.unparse(statement) for statement in function.body]


def test_a_formula_reads_tangents_values_and_outputs(tmp_path):
    formula = "x_t * scale + x_p * (0 if y_t is None else 1) + x * zs_t[0] + result"
    assert rule(tmp_path, PRODUCT.replace("FORWARD", f"{{result: '{formula}'}}"), "product") == (
        ["x", "scale", "out", "x_t", "y_t", "zs_t"],
        ["return x_t * scale + x * (0 if y_t is None else 1) + x * zs_t[0] + out"],
    )


def test_auto_linear_is_the_operator_on_the_tangents(tmp_path):
    assert rule(tmp_path, PRODUCT.replace("FORWARD", "auto_linear"), "product") == (["linear"], ["return linear"])


def test_auto_linear_leaves_the_tangent_that_it_is_given_alone(tmp_path):
    text = """\
    namespace: codegen_forward_scale
    ops:
    - func: scale_(Tensor(a!) self, *, float lambda) -> Tensor(a!)
      kernels: [{device: cpu, compute: self * lambda}]
      backward: {self: grad * lambda}
      forward: auto_linear
    """
    ops = load(tmp_path, textwrap.dedent(text))
    forward_ad, given = torch.autograd.forward_ad, torch.tensor([1.0, 2.0])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.tensor([3.0, 4.0]), given)
        scaled = forward_ad.unpack_dual(ops.scale_(dual.clone(), **{"lambda": 2.0}))
    assert (scaled.primal.tolist(), scaled.tangent.tolist()) == ([6.0, 8.0], [2.0, 4.0])
    assert given.tolist() == [1.0, 2.0]


def test_auto_element_wise_puts_tangents_into_the_gradients(tmp_path):
    text = """\
    namespace: my
    ops:
    - func: power(Tensor x, Tensor grad) -> Tensor
      fake: {like: x}
      kernels: [{device: cpu, compute: x * grad * grad}]
      backward: {x: 'grads[0] * inputs_of(grads[0])', grad: {default: 'grad0 * 2 * x', npu: 'grad0 * result'}}
      forward: auto_element_wise
    - func: inputs_of(Tensor x) -> Tensor
      kernels: [{compute: x}]
    """
    assert rule(tmp_path, textwrap.dedent(text), "power") == (
        ["x", "out", "x_t", "grad_t"],
        ["return x_t * torch.ops.my.inputs_of(x_t) + (grad_t * out if grad_t.is_npu else grad_t * 2 * x)"],
    )


def test_several_outputs(tmp_path):
    text = TWO.replace("FORWARD", "{values: x_t * result1, result1: auto_linear}")
    assert rule(tmp_path, text, "two") == (
        ["out1", "x_t", "linear"],
        ["return (x_t * out1, linear[1], None, None)"],
    )
    text = TWO.replace("FORWARD", "{values: not_differentiable, result1: x_t}")
    assert rule(tmp_path, text, "two") == (["x_t"], ["return (None, x_t, None, None)"])
    text = TWO.replace("FORWARD", "{values: x_t, result1: not_implemented}")
    assert rule(tmp_path, text, "two") == (
        [],
        ["raise NotImplementedError('my::two: the tangent of `result1` is not implemented')"],
    )


def test_hand_written(tmp_path):
    """It gets what a rule of `register_jvp` gets: inputs, tangents, output."""
    text = """\
    namespace: codegen_forward_hand
    ops:
    - func: triple(Tensor x, *, float scale=3.0) -> Tensor
      fake: {like: x}
      kernels: [{device: cpu, compute: x * scale}]
      backward: {x: grad * scale}
      forward: {function: 'tests.codegen.test_forward:triple_jvp'}
    """
    ops = load(tmp_path, textwrap.dedent(text))
    found = torch.func.jvp(ops.triple, (torch.tensor([2.0]),), (torch.tensor([5.0]),))
    assert [value.tolist() for value in found] == [[6.0], [15.25]]


def triple_jvp(inputs, tangents, output):
    (x, scale), (tangent, of_scale) = inputs, tangents
    assert (x.tolist(), scale, of_scale, output.tolist()) == ([2.0], 3.0, None, [6.0])
    return tangent * scale + 0.25


def test_a_mutated_argument_has_its_value_from_before(tmp_path):
    text = """\
    namespace: my
    ops:
    - func: square(Tensor x) -> Tensor
      fake: {like: x}
      kernels: [{device: cpu, compute: x * x}]
      backward: {x: grad * 2 * x}
    - func: square_(Tensor(a!) self) -> Tensor(a!)
      kernels: [{device: cpu, compute: self * self}]
      backward: not_implemented
      forward: {result: 2 * self_t * self_p}
    """
    assert rule(tmp_path, textwrap.dedent(text), "square_") == (["self", "self_t"], ["return 2 * self_t * self"])


def fault(line, column, code, message, source, length, hint):
    gutter = " " * (len(str(line)) + 1)
    return (
        f"ops.yaml:{line}:{column}: error[{code}]: {message}\n{gutter}|\n{line} | {source}\n"
        f"{gutter}| {' ' * (column - 1)}{'^' * length} {hint}".rstrip()
        + "\n"
    )


# (file, forward, column, code, message, length of the caret, hint)
FAULTS = [
    (
        PRODUCT,
        "{result: x_t, x: x_t}",
        26,
        "MT420",
        "`x` is not an output of my::product",
        1,
        "gradients of arguments belong to `backward`",
    ),
    (
        PRODUCT,
        "{result: x_t * sclae}",
        27,
        "MT204",
        "`sclae` is not an argument of my::product",
        5,
        "did you mean `scale`?",
    ),
    (
        PRODUCT,
        "{result: x_t + ix_t}",
        27,
        "MT204",
        "`ix` has no tangent",
        4,
        "tensors that have a gradient have one",
    ),
    (PRODUCT, "{result: grad * x_t}", 21, "MT211", "`grad` exists only in `backward`", 4, ""),
    (PRODUCT, "{result: scale}", 21, "MT210", "expected Tensor, got float", 5, ""),
    (
        PRODUCT,
        "{result: x * scale}",
        21,
        "MT422",
        "the tangent of `result` does not depend on any",
        9,
        "a tangent is computed from tangents, such as `x_t`; or write `not_differentiable`",
    ),
    (
        PRODUCT,
        "auto_element_wise",
        3,
        "MT423",
        "`auto_element_wise` takes the formulas of `backward`, which has not all",
        7,
        "write formulas there, or one here",
    ),
    (
        PRODUCT,
        "auto_liner",
        12,
        "MT113",
        "`forward` cannot be `auto_liner`; expected `auto_linear` or `auto_element_wise`",
        10,
        "did you mean `auto_linear`?",
    ),
    (
        PRODUCT,
        "{function: 'm:f', result: x_t}",
        30,
        "MT415",
        "`result` does nothing beside `function`, which gives all tangents",
        6,
        "",
    ),
    (
        TWO,
        "{values: x_t}",
        3,
        "MT421",
        "there is no tangent for `result1`",
        7,
        "add `result1: <formula>`, `result1: not_differentiable` or `result1: not_implemented`",
    ),
    (
        TWO,
        "{values: x_t, result1: x_t, result2: x_t}",
        40,
        "MT427",
        "`result2` has no tangent: `output_differentiability` says so",
        7,
        "remove it",
    ),
    (
        TWO,
        "{values: x_t, result1: x_t, result3: x_t}",
        40,
        "MT427",
        "`result3` has no tangent: it is int",
        7,
        "remove it",
    ),
    (
        TWO,
        "auto_element_wise",
        3,
        "MT423",
        "`auto_element_wise` is for operators with one tensor as output",
        7,
        "write a formula",
    ),
]


@pytest.mark.parametrize(("text", "forward", "column", "code", "message", "length", "hint"), FAULTS)
def test_faults(tmp_path, text, forward, column, code, message, length, hint):
    expected = fault(7, column, code, message, f"  forward: {forward}", length, hint)
    found = findings(tmp_path, text.replace("FORWARD", forward))
    assert found == expected


def test_a_misspelt_output(tmp_path):
    found = findings(tmp_path, PRODUCT.replace("FORWARD", "{reslt: x_t}"))
    hint = "add `result: <formula>`, `result: not_differentiable` or `result: not_implemented`"
    missing = fault(7, 3, "MT421", "there is no tangent for `result`", "  forward: {reslt: x_t}", 7, hint)
    unknown = "`reslt` is not an output of my::product"
    assert found == missing + fault(7, 13, "MT420", unknown, "  forward: {reslt: x_t}", 5, "did you mean `result`?")


def test_where_nothing_asks_for_tangents(tmp_path):
    text = """\
    namespace: my
    ops:
    - func: parts(Tensor x) -> Tensor
      kernels: [{compute: x * x}]
      forward: auto_linear
    - func: rank(Tensor x) -> Tensor
      fake: {like: x}
      kernels: [{device: cpu, compute: x}]
      backward: not_differentiable
      forward: auto_linear
    - func: fill.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)
      kernels: [{device: cpu, python: 'a:b'}]
      forward: auto_linear
    - func: log(Tensor x) -> ()
      kernels: [{device: cpu, python: 'a:b'}]
      forward: auto_linear
    """
    found = findings(tmp_path, textwrap.dedent(text))
    assert [line.partition(": error")[2] for line in found.splitlines() if "error[" in line] == [
        "[MT428]: nothing asks for tangents: they go through the operators that this one is made of",
        "[MT428]: nothing asks for tangents: my::rank has no differentiable argument",
        "[MT416]: an out variant has no tangent",
        "[MT428]: nothing asks for tangents: my::log has no differentiable output",
    ]


def test_a_tangent_in_backward_is_sent_to_forward(tmp_path):
    text = TWO.replace("  forward: FORWARD\n", "").replace("{x: 'grads[0]'}", "{x: 'grads[0]', result0: auto_linear}")
    message = "a forward-mode formula stands in `backward`"
    hint = "move it to `forward`: `backward` has the gradients of arguments"
    line = "  backward: {x: 'grads[0]', result0: auto_linear}"
    assert findings(tmp_path, text) == fault(6, 29, "MT418", message, line, 7, hint)


@pytest.mark.parametrize(
    ("target", "func", "warning"),
    [
        (
            "torch",
            "f(Tensor(a) x) -> Tensor(a)",
            "warning[MT620]: left out: PyTorch's library takes no forward-mode formulas of operators that return views",
        ),
        ("mindspore", "f(Tensor x) -> Tensor", "warning[MT622]: left out: forward-mode formulas"),
    ],
)
def test_targets_without_a_place_for_formulas_say_so(tmp_path, target, func, warning):
    from mtcodegen.findings.diagnostics import render_text
    from mtcodegen.project.generate import generate
    from mtcodegen.targets.job import Input, Job

    path = tmp_path / "ops.yaml"
    path.write_text(
        f"- func: my::{func}\n  kernels: [{{compute: x}}]\n  backward: {{x: grad}}\n  forward: auto_linear\n"
    )
    generated, found = generate([Job((Input(path, path.name),), tmp_path / "out", target=target)])
    assert "jvp" not in generated[0].files["ops.py"]
    assert warning in render_text(found)
