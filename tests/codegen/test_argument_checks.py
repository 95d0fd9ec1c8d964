"""`device_check` and `overlap_check`: what is declared, what holds without, and what the module then refuses."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.codegen.support import findings, load, run
from tests.needs import needed

torch = needed("mindtorch_v2")

TEXT = """\
namespace: codegen_checks
ops:
- func: weighted(Tensor x, Tensor w) -> Tensor
  autogen: weighted.out
  fake: {like: x}
  kernels:
  - {device: [cpu, npu], compute: x * w}
  backward: not_differentiable
- func: scaled(Tensor x, Tensor s) -> Tensor
  tags: pointwise
  fake: {like: x}
  kernels:
  - {device: [cpu, npu], compute: x * s}
  backward: not_differentiable
- func: padded(Tensor x, Tensor lengths) -> Tensor
  device_check: NoCheck
  fake: {like: x}
  kernels:
  - {device: [cpu, npu], compute: x.clone()}
  backward: not_differentiable
- func: copied_(Tensor(a!) self, Tensor x) -> Tensor(a!)
  kernels: [{device: cpu, compute: x.clone()}]
  backward: not_differentiable
- func: strict_(Tensor(a!) self, Tensor x) -> Tensor(a!)
  overlap_check: Full
  kernels: [{device: cpu, compute: x.clone()}]
  backward: not_differentiable
- func: free_(Tensor(a!) self, Tensor x) -> Tensor(a!)
  overlap_check: NoCheck
  kernels: [{device: cpu, compute: x.clone()}]
  backward: not_differentiable
- func: turned_(Tensor(a!) self) -> Tensor(a!)
  tags: inplace_view
  kernels: [{device: cpu, compute: self.clone()}]
  backward: not_differentiable
- func: composed_(Tensor(a!) self, Tensor x) -> Tensor(a!)
  kernels: [{compute: self + x}]
- func: alone(Tensor x) -> Tensor
  kernels: [{compute: x * 2}]
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return load(tmp_path_factory.mktemp("checks"), TEXT)


def definition(text: str, name: str) -> str:
    """What is said of an operator beside its schema."""
    found = re.search(rf'\.operator\(\s*"{re.escape(name)}\([^"]*"(.*?)\)\ndef ', text, re.DOTALL)
    return "" if found is None else found[1]


def test_what_is_declared_reaches_the_definition(tmp_path: Path) -> None:
    text = run(tmp_path, TEXT)[0]["ops.py"]
    expected = {
        "weighted": ('device_check="ExactSame"', None),
        "weighted.out": ('device_check="ExactSame"', 'overlap_check=("Internal", "Partial")'),
        "scaled": ('device_check="CPUScalars"', None),
        "padded": (None, None),
        "copied_": ('device_check="ExactSame"', 'overlap_check=("Internal", "Partial")'),
        "strict_": ('device_check="ExactSame"', 'overlap_check=("Full",)'),
        "free_": ('device_check="ExactSame"', None),
        "turned_": (None, None),
        "composed_": (None, 'overlap_check=("Internal", "Partial")'),  # what it is composed of compares devices
        "alone": (None, None),
    }
    for name, checks in expected.items():
        for key, check in zip(("device_check", "overlap_check"), checks, strict=True):
            assert (key in definition(text, name)) == (check is not None), name
            assert check is None or check in definition(text, name), name


def test_devices(ops: ModuleType) -> None:
    x, w, number = torch.ones(2, device="npu"), torch.tensor([2.0, 3.0]), torch.tensor(2.0)
    for call in (lambda: ops.weighted(x, w), lambda: ops.weighted(x, number), lambda: ops.scaled(x, w)):
        with pytest.raises(RuntimeError, match=r"at least two devices, npu:0 and cpu! .* method codegen_checks::"):
            call()
    assert ops.weighted(x, w.npu()).tolist() == [2, 3]
    assert ops.scaled(x, number).tolist() == [2, 2]
    assert ops.padded(x, w).tolist() == [1, 1]


def test_overlap(ops: ModuleType) -> None:
    a = torch.arange(6.0)
    space = torch.ops.codegen_checks
    itself, of_input = "more than one element of the written-to tensor", "some elements of the input tensor"
    for call, said in (
        (lambda: ops.copied_(a[:1].expand(3), a[3:]), itself),
        (lambda: ops.copied_(a[1:], a[:-1]), of_input),
        (lambda: ops.composed_(a[1:], a[:-1]), of_input),
        (lambda: ops.strict_(a, a), of_input),
        (lambda: space.weighted.out(a[1:], a[1:], out=a[:-1]), of_input),
        (lambda: space.weighted.out(a[1:4], a[1:4], out=a[:1].expand(3)), itself),
    ):
        with pytest.raises(RuntimeError, match=said):
            call()
    assert a.tolist() == [0, 1, 2, 3, 4, 5]
    assert ops.copied_(a, a) is a
    assert ops.free_(a[1:], a[:-1]).tolist() == [0, 1, 2, 3, 4]
    assert space.weighted.out(a, a, out=a).tolist() == [0, 0, 1, 4, 9, 16]


def test_wrong_values(tmp_path: Path) -> None:
    entry = "- func: my::f_(Tensor(a!) self, Tensor x) -> Tensor(a!)\n  kernels: [{compute: x}]\n"
    shown = findings(tmp_path, entry + "  device_check: CPUScalar\n  overlap_check: [Internal, Some]\n")
    assert "error[MT113]: `device_check` cannot be `CPUScalar`" in shown
    assert "did you mean `CPUScalars`?" in shown
    assert "error[MT113]: an item of `overlap_check` cannot be `Some`" in shown
    assert "error[MT113]: `overlap_check` cannot be `Part`" in findings(tmp_path, entry + "  overlap_check: Part\n")
    assert "error[MT116]: `overlap_check` is empty" in findings(tmp_path, entry + "  overlap_check: []\n")


@pytest.mark.parametrize("target", ["torch", "mindspore"])
def test_other_targets_have_no_such_checks(tmp_path: Path, target: str) -> None:
    files, _ = run(tmp_path, TEXT, target=target)
    assert files
    assert not any("device_check" in text or "overlap_check" in text for text in files.values())


REFUSED = """\
namespace: codegen_refused
ops:
- func: halved(Tensor x, int most) -> Tensor
  check:
  - x.dim() == 1
  - that: x.dtype == float32
    error: NotImplementedError
    message: "halved of {x.dtype}"
  - x.numel() <= most
  fake: {like: x}
  kernels:
  - {device: cpu, when: most != 7, source: halved.c, symbol: halved, args: [desc(x), desc(out), i64(most)]}
  - {device: cpu, compute: x * 0.5}
  - {device: npu, compute: x * 0.5}
  backward: not_differentiable
"""
HALVED = """\
#include "mindtorch_kernel.h"
int halved(const mt_tensor* x, const mt_tensor* out, int64_t most) {
  if (most == 5) return 77;
  if (x->dtype != MT_F32) return MT_ERROR_DTYPE;
  if (x->shape[0] > most) return MT_ERROR_SHAPE;
  for (int64_t i = 0; i < x->shape[0]; ++i) ((float*)out->data)[i] = ((float*)x->data)[i] / 2;
  return MT_OK;
}
"""


def test_a_refusal_has_the_words_of_the_check(tmp_path: Path) -> None:
    (tmp_path / "halved.c").write_text(HALVED)
    halved = load(tmp_path, REFUSED).halved
    assert halved(torch.tensor([2.0, 4.0]), 2).tolist() == [1, 2]
    with pytest.raises(NotImplementedError, match=r"^halved of torch.int64$") as caught:
        halved(torch.tensor([1, 2]), 2)
    assert caught.value.__cause__ is None
    with pytest.raises(RuntimeError, match=r"expected x.numel\(\) to be at most most"):
        halved(torch.ones(3), 2)
    with pytest.raises(RuntimeError, match="returned 77"):  # nothing that the fake rule refuses
        halved(torch.ones(2), 5)
    for x in (torch.ones(8), torch.ones(8, device="meta")):
        with pytest.raises(RuntimeError, match=r"expected x.numel\(\) to be at most most"):
            halved(x, 7)


def test_quotes_in_words_are_as_the_formatter_has_them(tmp_path: Path) -> None:
    files, _ = run(tmp_path, REFUSED.replace("halved of", r"\"halved\" of"))
    assert any("""message=f'"halved" of {x.dtype}'""" in text for text in files.values())


def test_an_operator_has_as_many_arguments_as_a_call_binds(tmp_path):
    """The generator and the runtime agree on how many."""

    def schema(count):
        return f"f{count}({', '.join(f'Tensor x{i}' for i in range(count))}) -> Tensor"

    lib = torch.library.Library("codegen_many_arguments", "FRAGMENT")
    for count, fits in ((63, True), (64, False)):
        shown = findings(tmp_path, f"- func: my::{schema(count)}\n  kernels: [{{compute: x0 * 2}}]\n")
        assert ("error[MT132]" in shown) is not fits
        if fits:
            lib.define(schema(count))
        else:
            with pytest.raises(ValueError, match="at most 63"):
                lib.define(schema(count))


def test_a_kernel_gets_as_many_arguments_as_a_launch_passes(tmp_path):
    """The generator and the runtime agree on how many."""
    for count, fits in ((62, True), (63, False)):
        args = ", ".join(["x", "out", *["i64(n)"] * (count - 2)])
        shown = findings(
            tmp_path,
            "- func: my::f(Tensor x, int n) -> Tensor\n  fake: {like: x}\n"
            f"  kernels: [{{device: cpu, library: libm.so.6, symbol: erf, args: [{args}]}}]\n"
            "  backward: not_differentiable\n",
        )
        assert ("error[MT329]" in shown) is not fits
        types = [torch.npu.ptr] * 2 + [torch.npu.i64] * (count - 2)
        launcher = torch.npu.KernelLauncher("libm.so.6")
        if fits:
            launcher.bind("erf", types, abi="c")
        else:
            with pytest.raises(ValueError, match="at most 62 arguments"):
                launcher.bind("erf", types, abi="c")
