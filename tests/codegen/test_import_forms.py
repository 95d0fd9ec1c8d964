"""``mtcodegen import`` of other tools' files: ExecuTorch's and op-plugin's."""

from pathlib import Path

import pytest

from mtcodegen.importer import import_files
from tests.codegen.support import check_imported, entries

torchgen = pytest.importorskip("torchgen")
NATIVE = Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml"


EXECUTORCH = """\
- op: add.out
  type_alias: {T0: [Double, Float]}
  dim_order_alias:
    D0: [0, 1, 2, 3]
  kernels:
  - arg_meta:
      self: [T0, D0]
      other: [T0, D0]
    kernel_name: torch::executor::add_out_fast
  - arg_meta: null
    kernel_name: torch::executor::add_out
- func: mine::f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  device: npu
  kernels:
  - arg_meta: null
    kernel_name: mine::f_out
- func: mine::g(Tensor self) -> Tensor
  device: [cpu, vulkan]
  dispatch:
    CPU: mine::g_cpu
"""


def test_executorch(tmp_path: Path) -> None:
    path = tmp_path / "functions.yaml"
    path.write_text(EXECUTORCH)
    made = import_files(path, schemas=NATIVE, kernels="kernels")
    assert made.diagnostics == ()
    found = {func.partition("(")[0]: entry for func, entry in entries(made.text).items()}
    assert found["add.out"]["kernels"] == [
        {"device": "cpu", "python": "kernels:add_out_fast", "dtypes": ["float32", "float64"]},
        {"device": "cpu", "python": "kernels:add_out"},
    ]
    assert found["mine::f.out"]["kernels"] == [{"device": "npu", "python": "kernels:f_out"}]
    assert found["mine::g"]["kernels"] == [{"device": "cpu", "python": "kernels:g"}]
    assert [(note.span.line, note.text) for note in made.notes] == [
        (7, "arg_meta self: T0, D0 = 0, 1, 2, 3"),
        (8, "arg_meta other: T0, D0 = 0, 1, 2, 3"),
        (9, "kernel_name: torch::executor::add_out_fast"),
        (11, "kernel_name: torch::executor::add_out"),
        (16, "kernel_name: mine::f_out"),
        (18, "device: vulkan"),
        (20, "CPU: mine::g_cpu"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- op: addd.out\n  kernels: []\n", "MT601 the schema of `addd.out` is not known"),
        ("- op: add.out\n  kernel: []\n", "MT110 unknown key `kernel`"),
        ("- kernels: []\n", "MT111 `op` or `func` is missing"),
        ("- op: add.out\n  kernels:\n  - arg_meta: null\n", "MT111 `kernel_name` is missing"),
        (
            "- op: add.out\n  kernels:\n  - arg_meta: null\n    kernel_name: a b\n",
            "MT114 `a b` is not the name of a C++ function",
        ),
        ("- op: add.out\n  tags: [a b]\n", "MT114 `a b` is not the name of a tag"),
        ("- op: add.out\n  variants: methd\n", "MT113 `variants` cannot be `methd`"),
        ("- op: add.out\n  kernels: none\n", "MT112 `kernels` is a list, and this is a string"),
    ],
)
def test_faults_of_executorch_files(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "functions.yaml"
    path.write_text(text)
    shown = [f"{item.code} {item.message}" for item in import_files(path, schemas=NATIVE).diagnostics]
    assert shown == [expected]


# ---------------------------------------------------------------- op-plugin


OP_PLUGIN = """\
all_version: [v2.1, v2.2]
official:
  - func: abs(Tensor self) -> Tensor
    acl_op: all_version
    op_api: [v2.1, newest]
    gen_opapi:
      out:
        size: self
        dtype: self
      exec: aclnnAbs
  - func: old(Tensor self) -> Tensor
    op_api: v2.1
custom:
  - func: npu_eq(Tensor self, Tensor other) -> Tensor
    op_api: v2.2
    exposed: all_version
    gen_opapi:
      out:
        size: broadcast_ops_npu_output_size(self, other)
        dtype: at::kBool
      exec: aclnnEq
  - func: npu_pair(Tensor self, int n) -> (Tensor, Tensor)
    op_api: all_version
    gen_opapi:
      out0:
        size: self
        dtype: self
      out1:
        size: '{self.size(0), n}'
        dtype: self
      exec: aclnnPair
  - func: npu_odd(Tensor self) -> Tensor
    op_api: all_version
    gen_opapi:
      out:
        size: odd_npu_output_size(self)
        dtype: self
      exec: aclnnOdd
  - func: npu_gelu_backward(Tensor grad, Tensor self) -> Tensor
    op_api: all_version
  - func: npu_gelu(Tensor self) -> Tensor
    op_api: all_version
quant:
"""
OP_PLUGIN_DERIVATIVES = """\
all_version: [v2.1, v2.2]
backward:
- name: npu_gelu(Tensor self) -> Tensor
  self: npu_gelu_backward_symint(grad, self)
  version: v2.1
- name: npu_gelu(Tensor self) -> Tensor
  self: npu_gelu_backward(grad, self)
  version: [v2.2, newest]
- name: npu_odd(Tensor self) -> Tensor
  self: odd(grad)
  version: all_version
"""


def test_op_plugin(tmp_path: Path) -> None:
    path, derivatives = tmp_path / "op_plugin_functions.yaml", tmp_path / "derivatives.yaml"
    path.write_text(OP_PLUGIN)
    derivatives.write_text(OP_PLUGIN_DERIVATIVES)
    made = import_files(path, derivatives=derivatives, kernels="kernels")
    assert made.diagnostics == ()
    found = {func.partition("(")[0]: entry for func, entry in entries(made.text).items()}
    assert {name: entry.get("fake") for name, entry in found.items()} == {
        "abs": {"like": "self"},
        "npu::npu_eq": {"shape": "broadcast_shapes(self.shape, other.shape)", "dtype": "bool"},
        "npu::npu_pair": [{"like": "self"}, {"shape": "[self.size(0), n]", "dtype": "self.dtype"}],
        "npu::npu_odd": None,
        "npu::npu_gelu_backward": None,
        "npu::npu_gelu": None,
    }
    assert found["abs"]["kernels"] == [{"device": "npu", "python": "kernels:abs"}]
    assert found["abs"]["backward"] == "not_implemented"
    assert found["npu::npu_gelu"]["backward"] == {"self": "npu_gelu_backward(grad, self)"}
    assert found["npu::npu_odd"]["backward"] == {"self": "not_implemented"}
    noted = {(note.span.line, note.text.partition(":")[0]) for note in made.notes}
    assert {(4, "acl_op"), (10, "exec"), (11, "old"), (16, "exposed"), (35, "out"), (38, "exec")} <= noted
    assert any(note.text == "self: odd(grad)" and "`odd`" in note.reason for note in made.notes)
    # What is left to be written by hand is what there is no rule for.
    assert {item.code for item in check_imported(made.text)} == {"MT401"}
