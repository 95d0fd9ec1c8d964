"""One ops.yaml under three runtimes: cells of MindSpore give the values and gradients that the other two do."""

from __future__ import annotations

import ast
import importlib
import itertools
import subprocess
import sys

import mindspore
import numpy as np
import pytest
from mindspore import mint, nn

import mindtorch_v2 as mindtorch
from tests.codegen.support import load, write
from tests.codegen.test_torch_form import CALLS, DTYPES, SHAPES, TEXT, made
from tests.definitions.test_expressions import CONDITIONS, entry, listed, quoted

MORE = """\
- func: scaled(Tensor x, Tensor y, *, float scale) -> Tensor
  check: [x.size(0) == y.size(0), x.device.type == 'cpu']
  fake: {shape: 'broadcast_shapes(x.shape, y.shape)'}
  kernels: [{device: cpu, compute: x + y * scale}]
  backward: {x: grad, y: {default: grad * scale, npu: grad}}
- func: scratch(Tensor x) -> Tensor
  fake: {like: x}
  kernels:
  - device: cpu
    source: kernels.c
    symbol: scratch
    workspace: x.numel() * x.element_size()
    args: [contiguous(x), out, workspace, u64(x.numel())]
    dtypes: float32
  backward: not_implemented
- func: magnitude(Tensor x) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, mindspore: Abs}]
  backward: {x: grad * x.sign()}
"""
SCRATCH = """
int scratch(const float* x, float* out, float* room, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) room[i] = 2 * x[i];
  for (uint64_t i = 0; i < n; ++i) out[i] = room[i] + 1;
  return 0;
}
"""


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """The module of cells, and the one for the runtime."""
    mindspore.set_device("CPU")
    folder = tmp_path_factory.mktemp("cells")
    text = TEXT.replace("codegen_both", "codegen_cells") + MORE
    files, shown = made(folder, text, "mindspore")
    assert "error" not in shown
    write(folder / "codegen_cells_mindspore", files)
    ours = load(folder, text)
    with (folder / "kernels.c").open("a") as file:
        file.write(SCRATCH)
    sys.path.insert(0, str(folder))
    try:
        theirs = importlib.import_module("codegen_cells_mindspore.ops")
    finally:
        sys.path.remove(str(folder))
    return theirs, ours


def flat(values):
    return [x for value in values for x in (value if isinstance(value, list | tuple) else [value])]


def outcome_here(op, args, kwargs):
    """Values and gradients of the sum of squares, in the runtime."""
    result = op(*args, **kwargs)
    outputs = list(result) if isinstance(result, tuple | list) else [result]
    sum((out * out).sum() for out in outputs if out.requires_grad).backward()
    leaves = [arg for arg in flat(args) if isinstance(arg, mindtorch.Tensor)]
    return [out.tolist() for out in outputs], [leaf.grad.tolist() for leaf in leaves if leaf.grad is not None]


def outcome_there(op, args, kwargs, differentiable):
    """The same in MindSpore."""
    tensors = [arg for arg in flat(args) if isinstance(arg, mindspore.Tensor)]

    def call(*given):
        rest = iter(given)
        return op(*(take(arg, rest) for arg in args), **kwargs)

    def loss(*given):
        result = call(*given)
        outputs = list(result) if isinstance(result, tuple | list) else [result]
        return sum((out * out).sum() for out in outputs if out.dtype == mindspore.float32)

    result = call(*tensors)
    outputs = list(result) if isinstance(result, tuple | list) else [result]
    positions = tuple(i for i, flag in enumerate(differentiable) if flag)
    gradients = mindspore.grad(loss, grad_position=positions)(*tensors)
    return [out.tolist() for out in outputs], [gradient.tolist() for gradient in flat([gradients])]


def take(arg, rest):
    if isinstance(arg, list):
        return [next(rest) for _ in arg]
    return next(rest) if isinstance(arg, mindspore.Tensor) else arg


class Numbers:
    """What the calls of the test beside PyTorch make tensors with, in MindSpore."""

    @staticmethod
    def tensor(value, requires_grad=False):
        return mindspore.Tensor(np.asarray(value))


@pytest.mark.parametrize("title", CALLS)
def test_values_and_gradients_agree(modules, title):
    theirs, ours = modules
    name = title.partition(",")[0]
    _, args, kwargs = CALLS[title](mindtorch, None)
    differentiable = [arg.requires_grad for arg in flat(args) if isinstance(arg, mindtorch.Tensor)]
    expected = outcome_here(getattr(ours, name), args, kwargs)
    _, args, kwargs = CALLS[title](Numbers, None)
    assert outcome_there(getattr(theirs, name), args, kwargs, differentiable) == expected


def test_a_gradient_is_summed_where_its_argument_was_broadcast(modules):
    theirs, _ = modules
    x, y = Numbers.tensor(np.float32([[1, 2, 3], [4, 5, 6]])), Numbers.tensor(np.float32([[1], [2]]))
    assert theirs.scaled(x, y, scale=2.0).tolist() == [[3, 4, 5], [8, 9, 10]]
    gradients = mindspore.grad(lambda x, y: theirs.scaled(x, y, scale=2.0).sum(), grad_position=(0, 1))(x, y)
    assert [gradient.tolist() for gradient in gradients] == [[[1, 1, 1], [1, 1, 1]], [[6], [6]]]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_outputs_of_two_tensors_have_their_shape_and_dtype(modules, shapes):
    theirs, ours = modules
    for names in itertools.product(DTYPES, DTYPES):
        expected = ours.blank(
            *(mindtorch.zeros(s, dtype=getattr(mindtorch, n)) for s, n in zip(shapes, names, strict=True))
        )
        x, y = (
            mint.zeros(s, dtype=getattr(mindspore, {"bool": "bool_"}.get(n, n)))
            for s, n in zip(shapes, names, strict=True)
        )
        for op, dtype in ((theirs.blank, str(expected.dtype).removeprefix("torch.")), (theirs.blank_mask, "bool")):
            result = op(x, y)
            assert (result.shape, str(result.dtype).lower()) == (tuple(expected.shape), dtype), names


def test_workspace_and_primitives(modules):
    theirs, _ = modules
    x = Numbers.tensor(np.float32([1, -2]))
    assert theirs.scratch(x).tolist() == [3, -3]
    assert theirs.magnitude(x).tolist() == [1, 2]
    assert mindspore.grad(lambda x: theirs.magnitude(x).sum())(x).tolist() == [1, -1]


def test_inputs_that_are_still_being_computed(modules):
    theirs, _ = modules
    x = Numbers.tensor(np.ones((512, 512), np.float32))
    for _ in range(5):
        product = mindspore.mint.matmul(x, x)
        assert float(theirs.axpy(product, product, scale=1.0).min()) == 1024


def test_an_operator_is_a_cell_that_trains_in_a_network(modules):
    theirs, _ = modules

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.weight = mindspore.Parameter(Numbers.tensor(np.float32([0, 0, 0])))
            self.combine = theirs.axpy

        def construct(self, x, y):
            return ((self.combine(x, self.weight, scale=2.0) - y) ** 2).sum()

    net = Net()
    assert isinstance(theirs.axpy, nn.Cell)
    optimizer = nn.SGD(net.trainable_params(), learning_rate=0.05)
    step = mindspore.value_and_grad(net, None, optimizer.parameters)
    x, y = Numbers.tensor(np.float32([1, 2, 3])), Numbers.tensor(np.float32([3, 2, 1]))
    losses = []
    for _ in range(30):
        loss, gradients = step(x, y)
        optimizer(gradients)
        losses.append(float(loss))
    assert losses[0] == 8.0
    assert losses[-1] < 1e-6
    np.testing.assert_allclose(net.weight.asnumpy(), [1, 0, -1], atol=1e-3)


TWICE = """\
namespace: codegen_twice
ops:
- func: twice(Tensor x) -> Tensor
  fake: {like: x}
  kernels: [{compute: x * 2}]
  backward: {x: twice(grad)}
- func: twice.times(Tensor x, float factor) -> Tensor
  fake: {like: x}
  kernels: [{compute: x * 2 * factor}]
  backward: {x: 'twice(grad, factor)'}
- func: fourfold(Tensor x) -> Tensor
  fake: {like: x}
  kernels: [{compute: 'twice(twice(x, 1.0))'}]
  backward: {x: twice(grad) * 2}
- func: lost(Tensor x) -> Tensor
  fake: {like: x}
  kernels: [{compute: twice(x)}]
  backward: not_implemented
"""


def test_expressions_that_call_declared_operators(tmp_path):
    files, shown = made(tmp_path, TWICE, "mindspore")
    assert "error" not in shown
    write(tmp_path / "codegen_twice_mindspore", files)
    sys.path.insert(0, str(tmp_path))
    try:
        theirs = importlib.import_module("codegen_twice_mindspore.ops")
    finally:
        sys.path.remove(str(tmp_path))
    x = Numbers.tensor(np.float32([1, 2]))
    assert theirs.fourfold(x).tolist() == [4.0, 8.0]
    assert mindspore.grad(lambda x: theirs.fourfold(x).sum())(x).tolist() == [4.0, 4.0]
    assert theirs.twice(x).tolist() == [2.0, 4.0]
    assert theirs.twice(x, 3.0).tolist() == theirs.twice(x, factor=3).tolist() == [6.0, 12.0]
    assert mindspore.grad(lambda x: theirs.twice(x, 3.0).sum())(x).tolist() == [6.0, 6.0]
    with pytest.raises(TypeError, match=r"no overload takes these arguments; .*\n.*twice\(Tensor x\).*\n.*twice.times"):
        theirs.twice(x, "3")
    with pytest.raises(RuntimeError, match="codegen_twice::lost has no gradient"):
        mindspore.grad(lambda x: theirs.lost(x).sum())(x)


PARTS = """\
namespace: codegen_parts
ops:
- func: picked(Tensor x, Tensor? y=None) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, compute: x * 2}]
  backward: {x: grad * 2, y: not_implemented}
- func: turned(Tensor x, Scalar by) -> Tensor
  fake: {shape: x.shape, dtype: 'result_type(x, by)'}
  kernels: [{device: cpu, compute: x * by}]
  backward: not_differentiable
"""


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    files, shown = made(folder, PARTS, "mindspore")
    assert shown == ""
    write(folder / "codegen_parts_mindspore", files)
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("codegen_parts_mindspore.ops")
    finally:
        sys.path.remove(str(folder))


def test_a_gradient_that_is_not_implemented_is_missed_only_of_what_can_have_one(parts):
    x = Numbers.tensor(np.float32([1, 2]))
    for y in (None, Numbers.tensor(np.int32([1, 2])), Numbers.tensor(np.array([True, False]))):
        assert mindspore.grad(lambda x, y=y: parts.picked(x, y).sum())(x).tolist() == [2.0, 2.0]
    with pytest.raises(NotImplementedError, match="codegen_parts::picked: the gradient for `y` is not implemented"):
        mindspore.grad(lambda x: parts.picked(x, x).sum())(x)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_scalars_go_with_complex_tensors(parts, dtype):
    """MindSpore's own functions take no complex number; it has no arithmetic of real and complex tensors, either."""
    x = np.array([1, 2j, 3 - 1j], dtype)
    for by in (1 - 2j, 2.5, 3):
        result = parts.turned(mindspore.Tensor(x), by)
        assert result.asnumpy().dtype == dtype
        np.testing.assert_allclose(result.asnumpy(), x * by)


def test_conditions_hold_as_they_do_in_the_runtime(tmp_path):
    """But that every tensor counts as one that requires a gradient."""
    conditions = [case for case in listed(CONDITIONS) if "requires_grad" not in case]
    rest = (
        "fake: {{like: x}}\n  kernels: [{{device: cpu, compute: x * 1}}]\n  check: [{}]\n  backward: not_differentiable"
    )
    entries = "".join(
        entry(f"c{i}", rest.format(quoted(case))) + entry(f"n{i}", rest.format(quoted(f"not ({case})")))
        for i, case in enumerate(conditions)
    )
    files, shown = made(tmp_path, f"namespace: codegen_held\nops:\n{entries}", "mindspore")
    assert shown == ""
    write(tmp_path / "codegen_held_mindspore", files)
    sys.path.insert(0, str(tmp_path))
    try:
        theirs = importlib.import_module("codegen_held_mindspore.ops")
    finally:
        sys.path.remove(str(tmp_path))
    x = Numbers.tensor(np.float32([[1, 2, 3], [4, 5, 6]]))
    values = [x, x + 1, [x, x + 1], 4, 2.5, True, "mean", 3, [1, 0], mindspore.float64, x.device]
    values += [[0.5, 1.5], [True, False]]
    for i, case in enumerate(conditions):
        assert getattr(theirs, f"c{i}")(*values).shape == (2, 3), case
        with pytest.raises(RuntimeError, match="expected"):
            getattr(theirs, f"n{i}")(*values)


LACKING = """\
namespace: codegen_lacking
ops:
- func: strided(Tensor x) -> Tensor
  kernels: [{compute: 'x.as_strided([1], [1], 0)'}]
- func: double(Tensor x) -> Tensor
  kernels: [{compute: x * 2}]
"""


def test_an_operator_that_mindspore_lacks_is_an_error_of_the_call(tmp_path):
    """Not of the import: the other operators of the module are there."""
    files, _ = made(tmp_path, LACKING, "mindspore")
    write(tmp_path / "codegen_lacking_mindspore", files)
    sys.path.insert(0, str(tmp_path))
    try:
        theirs = importlib.import_module("codegen_lacking_mindspore.ops")
    finally:
        sys.path.remove(str(tmp_path))
    x = Numbers.tensor(np.float32([1, 2]))
    assert theirs.double(x).tolist() == [2.0, 4.0]
    with pytest.raises(AttributeError, match="MindSpore has no operator 'as_strided' under PyTorch's name"):
        theirs.strided(x)


def test_mistakes(modules):
    theirs, ours = modules
    x = Numbers.tensor(np.float32([1, 2]))
    with pytest.raises(RuntimeError) as caught:
        theirs.axpy(x, Numbers.tensor(np.float32([1, 2, 3])))
    with pytest.raises(RuntimeError) as expected:
        ours.axpy(mindtorch.ones(2), mindtorch.ones(3))
    assert str(caught.value).partition("\n")[0] == str(expected.value)
    for call, message in (
        (lambda: theirs.axpy(x, x, 1.0), "axpy() takes 2 positional arguments, got 3"),
        (lambda: theirs.axpy(x), "axpy() misses the argument 'y'"),
        (lambda: theirs.axpy(x, x=x), "axpy() got 'x' twice"),
        (lambda: theirs.axpy(x, y=x, alpha=1), "axpy() has no argument 'alpha'"),
    ):
        with pytest.raises(TypeError) as wrong:
            call()
        assert str(wrong.value) == f"codegen_cells::{message}"
    with pytest.raises(RuntimeError, match="times: returned 3"):
        theirs.times(Numbers.tensor(np.ones(7, np.float32)))
    with pytest.raises(RuntimeError, match="axpy: expected Float32, got Float64"):
        theirs.axpy(Numbers.tensor(np.ones(1)), Numbers.tensor(np.ones(1)))
    with pytest.raises(RuntimeError, match="codegen_cells::scratch has no gradient"):
        mindspore.grad(lambda x: theirs.scratch(x).sum())(x)


def test_the_operator_itself_is_differentiated(modules):
    """Not only functions that call it: defaults left out, keywords given."""
    theirs, _ = modules
    x, y = (Numbers.tensor(np.float32(value)) for value in ([1, 2], [3, 4]))
    for kwargs, scale in (({}, 1.0), ({"scale": 2.5}, 2.5)):
        gradients = mindspore.grad(theirs.axpy, (0, 1))(x, y, **kwargs)
        assert [gradient.tolist() for gradient in gradients] == [[1.0, 1.0], [scale, scale]]
    assert mindspore.grad(nn.SequentialCell(theirs.cube))(x).tolist() == [3.0, 12.0]


def test_a_kernel_waits_for_what_computes_its_inputs(modules):
    theirs, _ = modules
    x = mindspore.mint.ones((1500, 1500))
    for _ in range(3):
        x = mindspore.mint.matmul(x, x) / 1500
    assert (theirs.times(x, 2.0) == 2).all()


def test_a_graph_that_holds_an_operator_is_refused(modules, tmp_path, monkeypatch):
    """By MindSpore's compiler, which cannot look into it; what is said tells what to do."""
    monkeypatch.chdir(tmp_path)  # where the compiler leaves a file on what it refused
    theirs, _ = modules
    x, y = (Numbers.tensor(np.float32(value)) for value in ([1, 2], [3, 4]))

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.op = theirs.axpy

        def construct(self, x, y):
            return self.op(x, y, scale=2.0) * 2

    def positional(x, y):
        return theirs.axpy(x, y) * 2

    def composed(x, y):
        return theirs.cube(x) + y

    net = Net()
    for function in (positional, composed):
        with pytest.raises(NotImplementedError, match=r"call it outside of functions under mindspore\.jit"):
            mindspore.jit(function)(x, y)
        with pytest.raises(NotImplementedError, match="runs in PyNative mode"):
            mindspore.grad(mindspore.jit(function))(x, y)
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    try:
        for call in (lambda: net(x, y), lambda: theirs.axpy(x, y), lambda: theirs.cube(x)):
            with pytest.raises(NotImplementedError, match="cannot be part of a graph"):
                call()
    finally:
        mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    assert net(x, y).tolist() == [14.0, 20.0]


def test_nothing_is_logged_as_an_error(tmp_path, child_env):
    files, _ = made(tmp_path, TEXT, "mindspore")
    write(tmp_path / "cells", files)
    code = "import mindspore, cells.ops as m; x = mindspore.mint.ones(3); print(m.axpy(x, x))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=child_env)
    assert (result.returncode, result.stdout.strip()) == (0, "[2. 2. 2.]"), result.stderr
    assert "[ERROR]" not in result.stderr


def test_it_is_formatted_lint_free_and_compiles(tmp_path, repo_root):
    files, _ = made(tmp_path, TEXT + MORE, "mindspore")
    write(tmp_path / "out", files)
    for name, text in files.items():
        ast.parse(text, name, feature_version=(3, 10))
    for command in (["format", "--diff"], ["check"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--no-cache", "--config", repo_root / "pyproject.toml"]
        ruff += ["--config", "lint.isort.known-first-party = []"]  # they are others' where it is installed
        result = subprocess.run([*ruff, tmp_path / "out"], capture_output=True, text=True)
        assert result.returncode == 0, result.stdout


def test_what_mindspore_has_no_place_for_is_listed(tmp_path):
    text = """\
namespace: my
library: libk.so
ops:
- func: f(Tensor x, int n=1) -> Tensor
  autocast: {npu: float16}
  graph: {update: [n]}
  fake: {like: x}
  kernels:
  - {device: npu, source: f.cpp, symbol: f, block_dim: 1, args: [x, out], dtypes: float16}
  - {device: npu, symbol: f, block_dim: 1, args: [x, out]}
  - {device: [cuda, cpu], when: x.dim() > 1, compute: x * 2}
  - {device: cpu, compute: x * 1}
  backward: {x: grad}
- func: g_(Tensor(a!) x) -> Tensor(a!)
  kernels: [{device: cpu, compute: x * 2}]
  backward: not_implemented
- func: h(Tensor x) -> Tensor
  kernels: [{compute: g_(f(x))}]
- func: k(Tensor x) -> Tensor
  kernels: [{compute: h(x)}]
- func: c(Tensor x) -> Tensor
  fake: {like: x}
  kernels: [{device: cuda, abi: c, symbol: f, args: [x, out]}]
  backward: not_implemented
"""
    files, shown = made(tmp_path, text, "mindspore")
    assert files == {}
    assert [line for line in shown.splitlines() if line.startswith("ops.yaml")] == [
        "ops.yaml:5:3: warning[MT622]: left out: casts (MindSpore's `amp` casts whole cells)",
        "ops.yaml:6:3: warning[MT622]: left out: graph updates (MindSpore captures no such graphs)",
        "ops.yaml:9:34: warning[MT622]: left out: a kernel for npu that no library of AscendC kernels holds",
        "ops.yaml:11:6: warning[MT622]: left out: kernels for cuda",
        "ops.yaml:14:9: warning[MT622]: left out: my::g_: MindSpore's tensors do not change in place, "
        "and share no memory",
        "ops.yaml:17:9: warning[MT622]: left out: my::h, which calls my::g_",
        "ops.yaml:19:9: warning[MT622]: left out: my::k, which calls my::h",
        "ops.yaml:21:9: error[MT623]: my::c has no kernel that MindSpore can run",
        "ops.yaml:23:14: warning[MT622]: left out: kernels for cuda",
    ]
    assert made(tmp_path, text.replace("my", "aten", 1), "mindspore")[1].count("error[MT623]") >= 1
