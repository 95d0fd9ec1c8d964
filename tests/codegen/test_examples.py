"""Examples: the tests that are generated from them pass for a right declaration and fail for a wrong one."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from tests.codegen.support import findings, run, write
from tests.needs import require

TEXT = """\
namespace: codegen_examples
ops:
- func: scaled(Tensor x, Tensor y, *, float scale=1.0) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, compute: x + scale * y}]
  backward: {x: grad, y: grad * scale}
  examples:
  - args: {x: 'randn([2, 3])', y: [[1.0, 2.0, 3.0], [4, 5, -6]], scale: 2.0}
    expect: y * scale + x
  - args: {x: [1.0, 2.0], y: [3, 4.5]}
    expect: [4.0, 6.5]
    tolerance: 1e-6
- func: two(Tensor x, Tensor[] ys, int[] dims) -> (Tensor, Tensor)
  fake: [{like: x}, {like: x, dtype: bool}]
  kernels: [{device: cpu, compute: ['x * ys[0]', 'x > ys[0]'], dtypes: float32}]
  output_differentiability: [true, false]
  backward: {x: 'grads[0] * ys[0]', ys: not_differentiable}
  examples:
  - args: {x: [1.0, 2.0], ys: [[0.5, 3.0], 'randn([2])'], dims: [0, 1]}
    expect: [[0.5, 6.0], [true, false]]
- func: cube_(Tensor(a!) self) -> Tensor(a!)
  kernels: [{compute: self * self * self}]
  examples: [{args: {self: [2.0]}, expect: [8.0]}]
- func: cube(Tensor self) -> Tensor
  kernels: [{compute: self * self * self}]
  examples: [{args: {self: [2.0]}, expect: [8.0]}]
- func: curve(Tensor x, Tensor[] ys) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, compute: 'x * x * ys[0]'}]
  backward: {x: 'grad * 2 * x * ys[0]', ys: '[grad * x * x]'}
  forward: {result: '2 * x * x_t * ys[0] + x * x * ys_t[0]'}
  examples: [{args: {x: 'rand([2, 3])', ys: ['rand([2, 3])']}}]
"""


# Values of other kinds: defaults that the expected result reads, names that the tests have too, lists as expressions,
# results that are no tensors, and samples that cannot be differentiated.
KINDS = """\
namespace: codegen_kinds
ops:
- func: kinds(Tensor sample, Tensor x, *, ScalarType d=float32, Device dev="cpu", str mode="a", int r=Mean, int? n=None,
    int[2] k=1, float[] fs=[0.5, 1], Scalar alpha=1, float class=2.0, MemoryFormat f=contiguous_format) -> Tensor
  fake: {shape: x.shape, dtype: float32}
  kernels: [{device: cpu, compute: x + sample * alpha * class}]
  backward: {sample: grad * alpha * class, x: grad}
  examples:
  - args: {sample: [1.0, 2.0], x: [3.0, 4.0]}
    expect: x + sample * 2 * fs[1] if d == float32 and dev.type == "cpu" and mode == "a" and k[1] == r and n is None
      else x
  - args: {sample: [1.0, 2.0], x: [3.0, 4.0], d: float64, dev: '"cpu"', mode: '"cpu"', n: 1, r: 2, k: [1, 2],
      alpha: 1.5}
    expect: x + sample * 3 if d == float64 and dev.type == mode and k[1] == r and n is not None else x
  - args: {sample: [1, 2], x: [true, false]}
    expect: x + sample * 2.0 - 0
- func: listed(Tensor[] xs, Tensor? w=None) -> (Tensor, Tensor[], int)
  fake: {python: 'tests.codegen.test_examples:listed'}
  kernels: [{device: cpu, python: 'tests.codegen.test_examples:listed'}]
  backward: {xs: '[grads[0], grads[1][0] * 2]', w: not_differentiable}
  examples:
  - args: {xs: '[rand([2]), rand([2])]', w: None}
    expect: ['xs[0]', '[xs[1] * 2]', len(xs)]
- func: words(Tensor x) -> (str, bool, float)
  kernels: [{device: cpu, python: 'tests.codegen.test_examples:words'}]
  backward: not_differentiable
  examples:
  - args: {x: [1.0]}
    expect: ['"a"', true, 0.5]
"""


def listed(xs, w):
    return xs[0].clone(), [x * 2 for x in xs[1:]], len(xs)


def words(x):
    return "a", True, 0.5


def outcome(tmp_path, child_env, text, target="mindtorch"):
    """What pytest says of the tests that are generated from ``text``."""
    require("torch" if target == "torch" else "mindtorch_v2")
    files, shown = run(tmp_path, text, target=target)
    assert "error" not in shown
    write(tmp_path / "generated", files)
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "-W", "error", "."]
    if target == "torch":  # PyTorch compiles its own rules of forward mode in a way that it deprecates
        command[-1:-1] = ["-W", "ignore:`torch.jit.script` is deprecated:DeprecationWarning"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path / "generated", env=child_env)
    failed = {
        line.split("::", 1)[1].split(" - ")[0] for line in result.stdout.splitlines() if line.startswith("FAILED")
    }
    return result.stdout.splitlines()[-1], failed


def test_they_pass(tmp_path, child_env):
    summary, failed = outcome(tmp_path, child_env, TEXT)
    assert (summary.split(" in ")[0], failed) == ("17 passed", set())


def test_values_of_every_kind(tmp_path, child_env, repo_root):
    env = {**child_env, "PYTHONPATH": f"{child_env.get('PYTHONPATH', '')}:{repo_root}"}
    summary, failed = outcome(tmp_path, env, KINDS)
    assert (summary.split(" in ")[0], failed) == ("11 passed, 1 skipped", set())


@pytest.mark.parametrize("value", ["-1", ".inf", "-.inf", ".nan"])
def test_a_tolerance_that_is_none(tmp_path, value):
    line, *_ = findings(tmp_path, TEXT.replace("1e-6", value)).splitlines()
    assert line == f"ops.yaml:12:16: error[MT114]: `tolerance` cannot be `{value}`"


@pytest.mark.parametrize(("value", "written"), [("0x1", "1.0"), ("1_0", "10.0"), ("0", "0.0"), ("2E-3", "0.002")])
def test_a_tolerance_is_any_number_of_yaml(tmp_path, value, written):
    files, shown = run(tmp_path, TEXT.replace("1e-6", value))
    assert not shown
    assert f"_scaled_example_2_expected, {written}, id=" in " ".join(files["test_ops.py"].split())


def test_they_pass_under_pytorch(tmp_path, child_env):
    summary, failed = outcome(tmp_path, child_env, TEXT, "torch")
    assert (summary.split(" in ")[0], failed) == ("17 passed", set())


@pytest.mark.parametrize(
    ("change", "failing"),
    [
        (("y: grad * scale", "y: grad"), "test_gradients[codegen_examples::scaled (example 1)]"),
        (("compute: x + scale * y", "compute: x - scale * y"), "test_values[codegen_examples::scaled (example 1)]"),
        (("{like: x, dtype: bool}", "{like: x}"), "test_fakes[codegen_examples::two (example 1)]"),
        (("[true, false]]", "[true, true]]"), "test_values[codegen_examples::two (example 1)]"),
        (("ys: '[grad * x * x]'", "ys: '[grad * x]'"), "test_gradients[codegen_examples::curve (example 1)]"),
    ],
)
def test_a_wrong_declaration_fails_its_test_under_pytorch(tmp_path, child_env, change, failing):
    assert TEXT.count(change[0]) == 1
    _, failed = outcome(tmp_path, child_env, TEXT.replace(*change), "torch")
    assert failing in failed


@pytest.mark.parametrize(
    ("change", "failing"),
    [
        (("y: grad * scale", "y: grad"), "test_gradients[codegen_examples::scaled (example 1)]"),
        (("compute: x + scale * y", "compute: x - scale * y"), "test_values[codegen_examples::scaled (example 1)]"),
        (("{like: x, dtype: bool}", "{like: x}"), "test_fakes[codegen_examples::two (example 1)]"),
        (("x: 'grads[0] * ys[0]'", "x: 'grads[0]'"), "test_gradients[codegen_examples::two (example 1)]"),
        (("x * x * ys_t[0]", "x * ys_t[0]"), "test_tangents[codegen_examples::curve (example 1)]"),
        (
            ("self: [2.0]}, expect: [8.0]", "self: [2.0]}, expect: [8.1]"),
            "test_values[codegen_examples::cube_ (example 1)]",
        ),
    ],
)
def test_a_wrong_declaration_fails_its_test(tmp_path, child_env, change, failing):
    _, failed = outcome(tmp_path, child_env, TEXT.replace(*change))
    assert failing in failed


@pytest.mark.parametrize("target", ["mindtorch", "torch"])
def test_the_tests_are_formatted_and_lint_free(tmp_path, repo_root, target):
    require("ruff")
    files, _ = run(tmp_path, TEXT, target=target)
    write(tmp_path / "generated", files)
    for command in (["format", "--diff"], ["check"]):
        result = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", "--config", repo_root / "pyproject.toml", tmp_path],
            capture_output=True,
            text=True,
        )
        assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            ("y: [3, 4.5]}", "z: [3, 4.5]}"),
            """\
            ops.yaml:10:5: error[MT140]: the example has no `y`
               |
            10 |   - args: {x: [1.0, 2.0], z: [3, 4.5]}
               |     ^ add `y:`
            ops.yaml:10:27: error[MT141]: `z` is not an argument of codegen_examples::scaled
               |
            10 |   - args: {x: [1.0, 2.0], z: [3, 4.5]}
               |                           ^
            """,
        ),
        (
            ("[4, 5, -6]", "[4, 5]"),
            """\
            ops.yaml:8:35: error[MT144]: not numbers in lists of one length at each level
              |
            8 |   - args: {x: 'randn([2, 3])', y: [[1.0, 2.0, 3.0], [4, 5]], scale: 2.0}
              |                                   ^ write `[[1, 2], [3, 4]]`
            """,
        ),
        (
            ("scale: 2.0", "scale: [2.0]"),
            """\
            ops.yaml:8:73: error[MT143]: a list is not float
              |
            8 |   - args: {x: 'randn([2, 3])', y: [[1.0, 2.0, 3.0], [4, 5, -6]], scale: [2.0]}
              |                                                                         ^
            """,
        ),
        (
            ("'randn([2, 3])'", "'rando([2, 3])'"),
            """\
            ops.yaml:8:16: error[MT206]: `rando` is not a function or a declared operator
              |
            8 |   - args: {x: 'rando([2, 3])', y: [[1.0, 2.0, 3.0], [4, 5, -6]], scale: 2.0}
              |                ^^^^^ did you mean `rand`?
            """,
        ),
        (
            ("scale: 2.0", "scale: x"),
            """\
            ops.yaml:8:73: error[MT204]: `x` is not a value
              |
            8 |   - args: {x: 'randn([2, 3])', y: [[1.0, 2.0, 3.0], [4, 5, -6]], scale: x}
              |                                                                         ^ inputs name no arguments
            """,
        ),
        (
            ("expect: [[0.5, 6.0], [true, false]]", "expect: [[0.5, 6.0]]"),
            """\
            ops.yaml:20:5: error[MT142]: 1 value for 2 outputs
               |
            20 |     expect: [[0.5, 6.0]]
               |     ^^^^^^ give a list with one an output
            """,
        ),
    ],
)
def test_faults(tmp_path, change, text):
    assert findings(tmp_path, TEXT.replace(*change)) == textwrap.dedent(text)


def test_a_file_may_not_be_named_as_another_ones_tests(tmp_path):
    from mtcodegen.project.generate import generate
    from mtcodegen.targets.job import Input, Job

    paths = [tmp_path / "ops.yaml", tmp_path / "test_ops.yaml"]
    for path in paths:
        path.write_text("[]\n")
    job = Job(tuple(Input(path, path.name) for path in paths), tmp_path)
    assert [item.message for item in generate([job])[1]] == [
        "would make the same module as the tests of ops.yaml: `test_ops`"
    ]
