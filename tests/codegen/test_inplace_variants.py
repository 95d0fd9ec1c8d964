"""In-place variants that `autogen` makes of an entry's own kernels, and where it calls the operator instead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.codegen.support import findings, load, run
from tests.needs import needed

torch = needed("mindtorch_v2")

TEXT = """\
namespace: codegen_inplace
library: {library}
ops:
- func: negative(Tensor self) -> Tensor
  variants: function, method
  tags: pointwise
  autogen: {{negative_: method}}
  fake: {{like: self}}
  kernels:
  - {{device: cpu, symbol: mt_neg, args: [desc(self), desc(out)]}}
  - {{device: npu, compute: self * -1}}
  backward: {{self: -grad}}
- func: root(Tensor x) -> Tensor
  tags: pointwise
  autogen: root_, root.out
  fake: {{shape: x.shape, dtype: "result_type(x, 1.0)"}}
  kernels:
  - {{device: cpu, symbol: mt_sqrt, args: [desc(x), desc(out)]}}
  backward: {{x: grad / (2 * result)}}
- func: times(Tensor x, Tensor y) -> Tensor
  tags: pointwise
  autogen: times_
  fake: {{shape: "broadcast_shapes(x.shape, y.shape)", dtype: "result_type(x, y)"}}
  kernels:
  - {{device: cpu, symbol: mt_mul, args: [desc(x), desc(y), desc(out)]}}
  backward: {{x: grad * y, y: grad * x}}
- func: packed(Tensor x) -> Tensor
  tags: pointwise
  autogen: packed_
  fake: {{like: x}}
  kernels:
  - {{device: cpu, symbol: mt_packed, args: [x, out, i64(x.numel())]}}
  backward: not_differentiable
- func: turned(Tensor x) -> Tensor
  autogen: turned_
  fake: {{like: x}}
  kernels:
  - {{device: cpu, symbol: mt_turned, args: [desc(x), desc(out)]}}
  backward: not_differentiable
"""


@pytest.fixture(scope="module")
def text():
    return TEXT.format(library=Path(torch._core.__file__).parent / "lib" / "libmindtorch_cpu.so")


@pytest.fixture(scope="module")
def ops(tmp_path_factory, text):
    return load(tmp_path_factory.mktemp("inplace"), text)


def definition(text: str, name: str) -> str:
    """The definition's function as text."""
    return re.split(r"\n\n\n", text[text.index(f"def {name}(") :])[0]


def test_a_kernel_writes_to_what_it_reads(tmp_path, text):
    made = definition(run(tmp_path, text)[0]["ops.py"], "negative_")
    assert 'op.launch("CPU", _libmindtorch_cpu["mt_neg"], desc(self), desc(self))' in made
    assert "copy_(torch.ops.codegen_inplace.negative(self)), device=" in made
    assert "return {self: -grad}" in made


def test_values_gradients_and_where_it_is_found(ops):
    x = torch.tensor([1.0, 4.0], requires_grad=True)
    y = x * 1
    assert ops.root_(ops.negative_(y.negative_())) is y
    assert y.tolist() == [1, 2]
    y.sum().backward()
    assert x.grad.tolist() == [0.5, 0.25]
    assert torch.ops.codegen_inplace.negative_.default.tags == ["pointwise"]
    assert ops.negative_(torch.ones(2, device="npu")).tolist() == [-1, -1]


def test_an_out_variant_takes_any_shape(ops):
    out = torch.empty(0)
    assert torch.ops.codegen_inplace.root.out(torch.tensor([4.0, 9.0]), out=out) is out
    assert out.tolist() == [2, 3]


def test_a_gradient_that_reads_the_argument_is_that_of_the_operator(ops):
    x, y = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    z = x * 1
    ops.times_(z, y).backward()
    assert (z.tolist(), x.grad.tolist(), y.grad.tolist()) == ([6], [3], [2])


def test_the_argument_must_hold_the_result(ops):
    """As in PyTorch, in dtype and in shape."""
    with pytest.raises(RuntimeError, match=r"result type torch.float32 can't be cast to the desired .* torch.int64"):
        ops.root_(torch.arange(3))
    with pytest.raises(RuntimeError, match="shape"):
        ops.times_(torch.ones(1), torch.ones(2))


@pytest.mark.parametrize(("name", "call"), [("packed_", "copy_(torch.ops"), ("turned_", "op.variant_of(")])
def test_other_kernels_are_called(tmp_path, text, name, call):
    """One that takes tensors packed, and one whose elements may depend on any others."""
    made = definition(run(tmp_path, text)[0]["ops.py"], name)
    assert call in made
    assert "op.launch(" not in made


def test_a_published_variant_that_cannot_be_made(tmp_path, text):
    shown = findings(tmp_path, text.replace("negative_: method", "negativ_: method"))
    assert "error[MT130]: `negativ_` is not a variant of codegen_inplace::negative" in shown
    assert "^^^^^^^^ did you mean `negative_`?" in shown
    shown = findings(tmp_path, text.replace("negative_: method", "negative_: methods"))
    assert "error[MT" in shown


def test_what_is_wrong_with_an_entry_is_said_once(tmp_path, text):
    shown = findings(tmp_path, text.replace("grad / (2 * result)", "grad / (2 * reslt)"))
    assert shown.count("error[") == 1
