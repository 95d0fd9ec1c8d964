"""What is said about calls and outputs: tags, deprecation, outputs without gradients, formulas by device."""

from __future__ import annotations

import textwrap

import pytest

from mtcodegen.entries.validate import json_schema
from tests.codegen.support import findings, load, run
from tests.needs import needed

torch, oracle = needed("mindtorch_v2"), needed("torch")

TEXT = """\
namespace: codegen_outputs
ops:
- func: old(Tensor x) -> Tensor
  deprecated: use ``new``
  tags: [pointwise]
  kernels: [{compute: x * 2}]
- func: two(Tensor x, Tensor y) -> (Tensor, Tensor)
  fake: [{like: x}, {like: x, dtype: bool}]
  kernels: [{device: cpu, compute: [x * y, x > y]}]
  output_differentiability: [true, false]
  backward:
    x: {default: 'grads[0] * y', cuda: 'grads[0]'}
    y: {default: 'grads[0] * 100', cpu: 'grads[0] * x'}
- func: single(Tensor x) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, compute: x * 2}]
  backward:
    x: {default: grad * 2, cpu: grad * 20}
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory):
    return load(tmp_path_factory.mktemp("outputs"), TEXT)


def test_tags_are_pytorchs():
    assert json_schema()["$defs"]["tag"]["enum"] == sorted(oracle.Tag.__members__)


def test_a_deprecated_operator_warns_at_the_line_of_the_call(ops):
    with pytest.warns(FutureWarning, match="codegen_outputs::old is deprecated: use ``new``") as caught:
        result = ops.old(torch.tensor([1.0]))
    assert [warning.filename for warning in caught] == [__file__]
    assert result.tolist() == [2.0]


def test_its_stub_says_so(tmp_path):
    files, _ = run(tmp_path, TEXT)
    assert '    @deprecated("use ``new``")\n    def __call__(self, x: Tensor) -> Tensor:' in files["ops.pyi"]


def test_an_output_without_gradient_does_not_require_grad(ops):
    x, y = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    product, greater = ops.two(x, y)
    assert (product.requires_grad, greater.requires_grad) == (True, False)
    product.sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([3.0], [2.0])


def test_a_formula_for_one_device(ops):
    x = torch.tensor([1.0], requires_grad=True)
    ops.single(x).sum().backward()
    assert x.grad.tolist() == [20.0]


def _two(output_differentiability: str, backward: str) -> str:
    return (
        "namespace: my\nops:\n- func: two(Tensor x) -> (Tensor, Tensor)\n  fake: [{like: x}, {like: x}]\n"
        f"  kernels: [{{device: cpu, compute: [x, x]}}]\n  output_differentiability: {output_differentiability}\n"
        f"  backward: {backward}\n"
    )


@pytest.mark.parametrize(
    ("flags", "backward", "text"),
    [
        (
            "[true]",
            "{x: 'grads[0]'}",
            "ops.yaml:6:3: error[MT424]: `output_differentiability` has 1 entry for 2 outputs",
        ),
        (
            "[true, true]",
            "{x: 'grads[0]'}",
            "ops.yaml:6:3: error[MT425]: `output_differentiability` changes nothing: it is true for all",
        ),
        ("[false, false]", "{x: 'grads[0]'}", "ops.yaml:6:3: error[MT426]: no output is differentiable"),
        (
            "[false, true]",
            "not_differentiable",
            "ops.yaml:6:3: error[MT425]: `output_differentiability` changes nothing: there are no formulas",
        ),
        (
            "[true, 1]",
            "{x: 'grads[0]'}",
            "ops.yaml:6:36: error[MT112]: an item of `output_differentiability` must be true or false, not an integer",
        ),
        (
            "[true, false]",
            "{x: {cpu: 'grads[0]'}}",
            "ops.yaml:7:17: error[MT111]: a formula by device needs the key `default`",
        ),
        (
            "[true, false]",
            "{x: {default: 'grads[0]', gpu: 'grads[0]'}}",
            "ops.yaml:7:39: error[MT110]: a formula by device has no key `gpu`",
        ),
    ],
)
def test_faults_of_output_differentiability(tmp_path, flags, backward, text):
    assert findings(tmp_path, _two(flags, backward)).splitlines()[0] == text


def test_a_formula_that_reads_a_gradient_that_is_never_there(tmp_path):
    assert findings(tmp_path, _two("[true, false]", "{x: 'grads[0] + grads[1]'}")) == textwrap.dedent(
        """\
        ops.yaml:7:29: error[MT417]: output 1 has no gradient: `output_differentiability` says so
          |
        7 |   backward: {x: 'grads[0] + grads[1]'}
          |                             ^^^^^^^^
        """
    )


def test_a_misspelt_tag(tmp_path):
    text = TEXT.replace("pointwise", "pointwize")
    assert findings(tmp_path, text).splitlines()[3].strip() == "|          ^^^^^^^^^ did you mean `pointwise`?"
