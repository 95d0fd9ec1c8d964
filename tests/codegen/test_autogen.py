"""Variants: schemas as torchgen makes them, what they compute, their gradients; and the way over the host."""

from __future__ import annotations

import textwrap

import pytest

import opschema
from mtcodegen.entries.variants import variants_of
from tests.codegen.support import findings, load, run
from tests.needs import needed, require

torch = needed("mindtorch_v2")
model, generation = needed("torchgen.model"), needed("torchgen.native_function_generation")

TEXT = """\
namespace: codegen_autogen
ops:
- func: scaled(Tensor x, Tensor y, *, float scale=1.0) -> Tensor
  autogen: scaled.out, scaled_
  fake: {like: x}
  kernels: [{device: cpu, compute: x + scale * y}]
  backward: {x: grad, y: grad * scale}
- func: halve_(Tensor(a!) self) -> Tensor(a!)
  autogen: [halve, halve.out]
  kernels: [{device: cpu, compute: self / 2}]
  backward: {self: grad / 2}
- func: count(Tensor(a!) total, Tensor x) -> Tensor mean
  autogen: codegen_autogen::count_functional
  fake: {like: x}
  kernels: [{device: cpu, python: 'tests.codegen.test_autogen:count'}]
  backward: not_implemented
- func: both(Tensor x, Tensor y) -> (Tensor, Tensor)
  autogen: [both.out]
  fake: [{like: x}, {like: y}]
  kernels: [{device: cpu, compute: [x * y, x + y]}]
  backward: not_implemented
- func: far(Tensor x, Tensor[] others, Tensor? z=None) -> (Tensor, Tensor)
  fallback: cpu
  fake: [{like: x}, {like: x}]
  kernels: [{device: cpu, compute: ['x + others[0]', x * 2]}]
  backward: not_implemented
- func: far_(Tensor(a!) x) -> Tensor(a!)
  fallback: cpu
  kernels: [{device: cpu, compute: x + 1}]
  backward: not_implemented
- func: gathered(Tensor(a!)[] xs, Tensor(b!)? count, Tensor y) -> ()
  fallback: cpu
  kernels: [{device: cpu, python: 'tests.codegen.test_autogen:gathered'}]
  backward: not_implemented
- func: filled(int n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None)
    -> Tensor
  autogen: filled.out
  kernels: [{python: 'tests.codegen.test_autogen:filled'}]
- func: strict(Tensor x) -> Tensor
  fallback: error
  fake: {like: x}
  kernels: [{device: cpu, compute: x + 1}]
  backward: not_implemented
- func: each_add(Tensor[] xs, Tensor y) -> Tensor[]
  autogen: each_add.out, each_add_
  kernels: [{python: 'tests.codegen.test_autogen:each_add'}]
- func: each_double_(Tensor(a!)[] xs, Tensor(b!) count) -> ()
  autogen: each_double, each_double.out
  kernels: [{python: 'tests.codegen.test_autogen:each_double'}]
- func: scale_(Tensor(a!) x, Tensor(b!) steps) -> Tensor(a!)
  autogen: scale, scale.out
  kernels: [{python: 'tests.codegen.test_autogen:scale'}]
- func: observed(Tensor x, Tensor(a!) total) -> Tensor
  autogen: observed.out
  kernels: [{python: 'tests.codegen.test_autogen:observed'}]
- func: pair(Tensor x, Tensor? y, Tensor[] zs) -> Tensor
  autocast: {cpu: float16, npu: bfloat16}
  kernels: [{compute: x * 2}]
- func: widest(Tensor x, Tensor y) -> Tensor
  autocast: {cpu: promote}
  fake: {like: x}
  kernels: [{device: cpu, compute: x + y}]
  backward: {x: grad, y: grad}
"""


def count(total, x):
    total.add_(1)
    return x / total


def each_add(xs, y):
    return [x + y for x in xs]


def each_double(xs, count):
    for x in xs:
        x.mul_(2)
    count.add_(len(xs))


def scale(x, steps):
    steps.add_(1)
    return x.mul_(2)


def gathered(xs, count, y):
    for x in xs:
        x.add_(y)
    if count is not None:
        count.add_(len(xs))


def observed(x, total):
    total.add_(x)
    return total * 2


def filled(n, *, dtype, layout, device, pin_memory):
    return torch.full((n,), 2, dtype=dtype, device=device)


@pytest.fixture(scope="module")
def ops(tmp_path_factory):
    return load(tmp_path_factory.mktemp("autogen"), TEXT)


@pytest.mark.parametrize(
    "schema",
    [
        "gelu(Tensor self, *, str approximate='none') -> Tensor",
        "new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
        "bool? pin_memory=None) -> Tensor",
        "bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False) -> Tensor",
        "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
        "add_relu_(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
        "fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)",
        "split_copy(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
        "rnn_backward(Tensor[] weight, Tensor hx) -> (Tensor, Tensor, Tensor[])",
    ],
)
def test_schemas_are_those_of_torchgen(schema):
    ours = {str(variant) for variant in variants_of(opschema.parse_schema(schema))}
    theirs = model.FunctionSchema.parse(schema)
    if theirs.name.name.inplace:
        functional = str(theirs.signature().with_name(theirs.signature().name))
        if theirs.name.overload_name:
            functional = functional.replace("(", f".{theirs.name.overload_name}(", 1)
        assert ours == {str(generation.self_to_out_signature(theirs)), functional}
    else:
        assert str(generation.functional_to_out_signature(theirs)) in ours


def test_every_variant_parses_back_as_what_it_is():
    made = variants_of(opschema.parse_schema("my::f(Tensor x, *, int n) -> Tensor"))
    assert [str(opschema.parse_schema(str(schema))) for schema in made] == [
        "my::f.out(Tensor x, *, int n, Tensor(a!) out) -> Tensor(a!)",
        "my::f_(Tensor(a!) x, *, int n) -> Tensor(a!)",
    ]


def test_out_has_the_shape_of_the_result_and_keeps_its_dtype(ops):
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    out = torch.empty(2)
    assert torch.ops.codegen_autogen.scaled.out(x, y, scale=2.0, out=out) is out
    assert out.tolist() == [7.0, 10.0]
    assert torch.ops.codegen_autogen.scaled.out(x, y, out=torch.empty(0)).tolist() == [4.0, 6.0]
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        assert torch.ops.codegen_autogen.scaled.out(x, y, out=torch.empty(1, 2)).tolist() == [4.0, 6.0]
    wide = torch.ops.codegen_autogen.scaled.out(x, y, out=torch.empty(2, dtype=torch.float64))
    assert (wide.tolist(), wide.dtype) == ([4.0, 6.0], torch.float64)
    with pytest.raises(RuntimeError) as caught:
        torch.ops.codegen_autogen.scaled.out(x, y, out=torch.empty(2, dtype=torch.int64))
    assert str(caught.value) == (
        "codegen_autogen::scaled.out: result type Float can't be cast to the desired output type Long"
    )


def test_out_of_a_factory_says_what_is_made(ops):
    out = torch.empty(0, dtype=torch.int16)
    assert torch.ops.codegen_autogen.filled.out(3, out=out) is out
    assert (out.tolist(), out.dtype) == ([2, 2, 2], torch.int16)
    with pytest.raises(TypeError):
        torch.ops.codegen_autogen.filled.out(3, dtype=torch.float32, out=out)


def test_in_place_writes_and_has_gradients(ops):
    x, y = torch.tensor([1.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    z = x * 1
    assert ops.scaled_(z, y, scale=2.0) is z
    assert z.tolist() == [7.0]
    z.sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([1.0], [2.0])


def test_in_place_does_not_broadcast_what_it_returns(ops):
    with pytest.raises(RuntimeError, match="`x` to have the shape of the result"):
        ops.scaled_(torch.ones(1), torch.ones(2))


def test_the_functional_variant_leaves_its_argument_alone(ops):
    x = torch.tensor([2.0], requires_grad=True)
    half = torch.ops.codegen_autogen.halve.default(x)
    half.sum().backward()
    assert (x.tolist(), half.tolist(), x.grad.tolist()) == ([2.0], [1.0], [0.5])
    assert torch.ops.codegen_autogen.halve.out(torch.tensor([4.0]), out=torch.empty(1)).tolist() == [2.0]


def test_the_functional_variant_returns_what_would_be_written(ops):
    total = torch.tensor([1.0])
    mean, total_out = ops.count_functional(total, torch.tensor([6.0]))
    assert (mean.tolist(), total_out.tolist(), total.tolist()) == ([3.0], [2.0], [1.0])
    schema = torch.ops.codegen_autogen.count_functional.default._schema
    assert str(schema).endswith("(Tensor total, Tensor x) -> (Tensor mean, Tensor total_out)")


def test_several_outs(ops):
    outs = [torch.empty(1), torch.empty(1)]
    first, second = torch.ops.codegen_autogen.both.out(
        torch.tensor([2.0]), torch.tensor([3.0]), out0=outs[0], out1=outs[1]
    )
    assert (first is outs[0], second is outs[1]) == (True, True)
    assert (first.tolist(), second.tolist()) == ([6.0], [5.0])


def test_variants_of_lists(ops):
    x, y = torch.tensor([1.0]), torch.tensor([2.0, 3.0])
    assert [z.tolist() for z in ops.each_add([y], x)] == [[3.0, 4.0]]
    outs = [torch.empty(0), torch.empty(1)]
    assert torch.ops.codegen_autogen.each_add.out([y, x], x, out=outs) is None
    assert [out.tolist() for out in outs] == [[3.0, 4.0], [2.0]]
    assert ops.each_add_(outs, x) is None
    assert [out.tolist() for out in outs] == [[4.0, 5.0], [3.0]]
    with pytest.raises(RuntimeError, match=r"expected `out` to have the length of the output, got out = 1, result = 2"):
        torch.ops.codegen_autogen.each_add.out([y, x], x, out=outs[:1])
    with pytest.warns(UserWarning, match="was resized"):
        torch.ops.codegen_autogen.each_add.out([x], x, out=outs[:1])


def test_variants_of_a_list_that_is_written_to(ops):
    x, count = torch.tensor([1.0], requires_grad=True), torch.tensor(0.0)
    (double,), counted = torch.ops.codegen_autogen.each_double.default([x], count)
    double.sum().backward()
    assert (double.tolist(), counted.item(), x.tolist(), count.item(), x.grad.tolist()) == ([2.0], 1, [1.0], 0, [2.0])
    out = torch.empty(1)
    torch.ops.codegen_autogen.each_double.out([x.detach()], count, out=[out])
    assert (out.tolist(), count.item(), x.tolist()) == ([2.0], 1, [1.0])


def test_an_operator_that_writes_to_more_than_it_returns(ops):
    x, steps = torch.tensor([3.0]), torch.tensor(0.0)
    y, stepped = torch.ops.codegen_autogen.scale.default(x, steps)
    assert (y.tolist(), stepped.item(), x.tolist(), steps.item()) == ([6.0], 1, [3.0], 0)
    out = torch.empty(0)
    assert torch.ops.codegen_autogen.scale.out(x, steps, out=out) is out
    assert (out.tolist(), steps.item(), x.tolist()) == ([6.0], 1, [3.0])
    total = torch.tensor([6.0])
    assert torch.ops.codegen_autogen.observed.out(torch.tensor([1.0]), total, out=out) is out
    assert (total.tolist(), out.tolist()) == ([7.0], [14.0])


def test_fallback_runs_on_cpu_and_brings_results_back(ops):
    x = torch.tensor([1.0, 2.0]).to("npu")
    result, double = ops.far(x, [torch.tensor([3.0, 4.0]).to("npu")])
    assert (result.device.type, double.device.type) == ("npu", "npu")
    assert (result.to("cpu").tolist(), double.to("cpu").tolist()) == ([4.0, 6.0], [2.0, 4.0])
    assert ops.far_(x) is x
    assert x.to("cpu").tolist() == [2.0, 3.0]


def test_fallback_brings_back_what_was_written_to_lists_and_optional_tensors(ops):
    xs, count = [torch.ones(2, device="npu"), torch.zeros(1, device="npu")], torch.zeros(1, device="npu")
    y = torch.ones(1, device="npu")
    assert ops.gathered(xs, count, y) is None
    assert [x.tolist() for x in (*xs, count)] == [[2.0, 2.0], [1.0], [2.0]]
    ops.gathered(xs, None, y)
    assert [x.tolist() for x in xs] == [[3.0, 3.0], [2.0]]


SHADOWS = """\
namespace: codegen_shadows
ops:
- func: each(Tensor[] zip, Tensor getattr) -> Tensor[]
  deprecated: use something else
  autogen: each.out, each_
  kernels: [{python: 'tests.codegen.test_autogen:each_add'}]
""" + "".join(
    f"- func: {name}(Tensor x) -> Tensor\n  kernels: [{{compute: x}}]\n"
    for name in ("lambda", "zip", "len", "getattr", "FutureWarning", "NotImplementedError")
)


def test_operators_may_be_named_as_builtins_that_variants_call(tmp_path):
    ops = load(tmp_path, SHADOWS)
    out = [torch.zeros(0), torch.zeros(2)]
    xs = [torch.ones(2), torch.ones(2)]
    with pytest.warns(FutureWarning, match="use something else"):
        ops.each.out(xs, torch.ones(2), out=out)
    with pytest.warns(FutureWarning, match="use something else"):
        ops.each_(xs, torch.ones(2))
    assert [x.tolist() for x in (*out, *xs)] == [[2.0, 2.0]] * 4
    assert ops.lambda_(xs[0]).tolist() == ops.getattr_(xs[0]).tolist() == ops.zip(xs[0]).tolist() == [2.0, 2.0]


def test_an_operator_without_a_tensor_may_refuse_other_devices(tmp_path):
    text = """\
    namespace: codegen_autogen_made
    ops:
    - func: made(int n, *, Device device="cpu") -> Tensor
      fallback: error
      fake: {python: 'm:f'}
      kernels: [{device: cpu, python: 'tests.codegen.test_autogen:made'}]
    """
    ops = load(tmp_path, textwrap.dedent(text))
    assert ops.made(2).tolist() == [0.0, 0.0]
    with pytest.raises(NotImplementedError) as caught:
        ops.made(2, device="npu")
    assert str(caught.value) == "codegen_autogen_made::made has no kernel for this device: it has kernels for cpu"


def made(n, *, device):
    return torch.zeros(n, device=device)


def test_fallback_can_be_an_error(ops):
    with pytest.raises(NotImplementedError) as caught:
        ops.strict(torch.ones(1).to("npu"))
    text = "codegen_autogen::strict has no kernel for this device: it has kernels for cpu"
    assert str(caught.value) == text


def test_autocast_casts_floating_point_tensors_and_keeps_gradients(ops):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, dtype=torch.int64)
    assert ops.pair(x, None, [y]).dtype is torch.float32
    with torch.autocast("cpu"):
        result = ops.pair(x, y, [y])
        assert result.dtype is torch.float16
        assert ops.pair(torch.ones(2, dtype=torch.float64), None, []).dtype is torch.float64
        assert ops.widest(torch.ones(2, dtype=torch.float16), x).dtype is torch.float32
    result.sum().backward()
    assert (x.grad.dtype, x.grad.tolist()) == (torch.float32, [2.0, 2.0])


def test_an_autocast_that_casts_nothing(tmp_path):
    assert findings(tmp_path, FAULT + "  autocast: {cpu: float16, npu: promote}\n") == textwrap.dedent(
        """\
        ops.yaml:7:28: error[MT311]: `promote` needs two tensor arguments
          |
        7 |   autocast: {cpu: float16, npu: promote}
          |                            ^^^
        """
    )


FAULT = """\
namespace: my
ops:
- func: f(Tensor x) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, compute: x * 2}]
  backward: not_implemented
"""


def test_a_variant_that_cannot_be_made(tmp_path):
    text = FAULT + "  autogen: f.out, f.outt\n"
    assert findings(tmp_path, text) == textwrap.dedent(
        """\
        ops.yaml:7:19: error[MT130]: `f.outt` is not a variant of my::f
          |
        7 |   autogen: f.out, f.outt
          |                   ^^^^^^ did you mean `f.out`?
        """
    )


def test_a_variant_that_would_call_what_no_formula_can_name(tmp_path):
    text = FAULT.replace("namespace: my", "namespace: if").replace("backward: not_implemented", "tags: pointwise")
    shown = findings(tmp_path, text + "  autogen: f_\n")
    assert "error[MT130]: `f_` cannot be made: it would call if::f, which no formula can name\n" in shown
    assert "declare it as an entry" in shown


def test_no_variant_has_an_overload_that_is_not_legal(tmp_path):
    shown = findings(tmp_path, FAULT.replace("f(", "f._(", 1) + "  autogen: f.__out\n")
    assert "error[MT130]: `f.__out` is not a variant of my::f._\n" in shown


def test_a_variant_that_is_declared_too(tmp_path):
    text = FAULT + "  autogen: f_\n- func: f_(Tensor(a!) x) -> Tensor(a!)\n  kernels: [{compute: x * 2}]\n"
    assert findings(tmp_path, text).splitlines()[0] == "ops.yaml:8:9: error[MT120]: my::f_ is declared twice"


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (("device: cpu, ", ""), "MT310", "a kernel runs on every device, so nothing falls back"),
        (("device: cpu", "device: npu"), "MT320", "there is no kernel for cpu to fall back to"),
        (
            ("Tensor x)", "Tensor x, Device? device=None)"),
            "MT325",
            "the device does not follow from a tensor argument alone",
        ),
        (
            ("f(Tensor x) -> Tensor", "f(Tensor(a) x) -> Tensor(a)"),
            "MT326",
            "the output is a view, which cannot be of a copy on cpu",
        ),
    ],
)
def test_a_fallback_that_cannot_work(tmp_path, change, code, message):
    text = FAULT.replace(*change) + "  fallback: cpu\n"
    line = next(line for line in findings(tmp_path, text).splitlines() if code in line)
    assert line == f"ops.yaml:7:3: error[{code}]: {message}"


def test_variants_are_formatted(tmp_path, repo_root):
    import subprocess
    import sys

    require("ruff")
    files, _ = run(tmp_path, TEXT)
    for command in (["format", "--diff", "-"], ["check", "-"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--config", repo_root / "pyproject.toml"]
        result = subprocess.run(ruff, input=files["ops.py"], capture_output=True, text=True)
        assert result.returncode == 0, result.stdout


def test_formulas_call_variants_of_built_in_operators(tmp_path):
    text = (
        "namespace: my\nops:\n- func: f(Tensor x, Tensor at) -> Tensor\n"
        "  kernels: [{compute: 'x.clone().add_(1).mul_(x).index_put([at], x).scatter_add(0, at, x).abs_()'}]\n"
    )
    assert findings(tmp_path, text) == ""
