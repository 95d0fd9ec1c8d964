"""``mtcodegen import`` of other tools' files: ExecuTorch's and op-plugin's."""

from pathlib import Path
from typing import Any

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
        {"device": "cpu", "python": "kernels:add_out_fast", "dtypes": ["float32"]},
        {"device": "cpu", "python": "kernels:add_out_fast", "dtypes": ["float64"]},
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


def kernels_of(folder: Path, entry: str) -> tuple[list[tuple[str, list[str]]], list[str]]:
    """The kernels of an ExecuTorch entry as functions and dtypes, and what of it is not carried over."""
    path = folder / "functions.yaml"
    path.write_text(f"- op: add.out\n{entry}")
    made = import_files(path, schemas=NATIVE, kernels="kernels")
    assert made.diagnostics == ()
    assert check_imported(made.text) == []
    kernels = [item for entry in entries(made.text).values() for item in entry["kernels"]]
    return [(item["python"], item.get("dtypes", [])) for item in kernels], [note.text for note in made.notes]


KERNELS = """\
  type_alias:
    T0: [Float, Double]
    T1: [Double, Int]
    T2: [Double, Float]
    T3: [Long]
  kernels:
  - arg_meta: null
    kernel_name: any
"""


@pytest.mark.parametrize(
    ("words", "dtypes"),
    [
        ("T0 T0 T0", [["float32"], ["float64"]]),  # an alias stands for one dtype at a time
        ("T0 T2 T0", [["float32", "float64"]]),  # and another for one of its own
        ("T3 Long T3", [["int64"]]),
        ("T0 T1 T0", []),
        ("Quint8 Quint8 Quint8", []),
    ],
)
def test_kernels_for_some_dtypes_come_before_those_for_all(tmp_path: Path, words: str, dtypes: list[list[str]]) -> None:
    """ExecuTorch takes the kernel that fits best, in whatever order they are given."""
    meta = ", ".join(f"{name}: [{word}]" for name, word in zip(("self", "other", "out"), words.split(), strict=True))
    kernels, notes = kernels_of(tmp_path, f"{KERNELS}  - arg_meta: {{{meta}}}\n    kernel_name: some\n")
    assert kernels == [*(("kernels:some", item) for item in dtypes), ("kernels:any", [])]
    assert any(text.startswith("arg_meta dtypes: ") for text in notes) == (not dtypes)
    assert {f"type_alias {name}" for name in ("T0", "T1", "T2", "T3") if name not in words} == {
        text.partition(":")[0] for text in notes if text.startswith("type_alias")
    }


def test_a_kernel_for_another_device_is_none_for_cpu(tmp_path: Path) -> None:
    entry = "  kernels:\n  - {arg_meta: null, kernel_name: a, device: vulkan}\n  - {arg_meta: null, kernel_name: b}\n"
    kernels, notes = kernels_of(tmp_path, entry)
    assert kernels == [("kernels:b", [])]
    assert notes == ["device: vulkan", "kernel_name: a", "kernel_name: b"]
    kernels, notes = kernels_of(tmp_path, "  device: vulkan\n" + entry)
    assert kernels == []
    assert notes[0].startswith("add.out(Tensor self, ")
    assert notes[1:] == ["device: vulkan", "device: vulkan", "kernel_name: a", "kernel_name: b"]


def test_of_kernels_for_orders_of_dimensions_the_first_is_carried_over(tmp_path: Path) -> None:
    entry = "  dim_order_alias: {D0: [0, 1], D1: [1, 0]}\n  kernels:\n"
    for name in ("D0", "D1"):
        meta = ", ".join(f"{argument}: [Float, {name}]" for argument in ("self", "other", "out"))
        entry += f"  - arg_meta: {{{meta}}}\n    kernel_name: {name}\n"
    kernels, notes = kernels_of(tmp_path, entry)
    assert kernels == [("kernels:D0", ["float32"])]
    assert notes[-1] == "the kernel kernels:D1"


def test_keys_of_native_functions_are_noted_in_executorch_files(tmp_path: Path) -> None:
    entry = "  structured: True\n  ufunc_inner_loop: {Generic: add}\n  autogen: add.x\n  kernels:\n"
    kernels, notes = kernels_of(tmp_path, f"{entry}  - {{arg_meta: null, kernel_name: a}}\n")
    assert kernels == [("kernels:a", [])]
    assert {"structured: True", "ufunc_inner_loop: {Generic: add}", "autogen: add.x"} <= {*notes}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- op: add.out\n- op: add.out\n", "MT120 `add.out` is declared twice"),
        (
            "- op: add.out\n  kernels:\n" + "  - {arg_meta: null, kernel_name: a}\n" * 2,
            "MT307 this kernel never runs: the one before it takes everything",
        ),
        (
            "- op: add.out\n  kernels:\n  - {arg_meta: {slef: [Float]}, kernel_name: a}\n",
            "MT608 `slef` is not an argument of add.out",
        ),
        ("- op: add.out\n  type_alias: T\n  kernels: []\n", "MT112 `type_alias` is a mapping, and this is a string"),
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
    found = import_files(path, schemas=NATIVE, kernels="kernels").diagnostics
    shown = [f"{item.code} {item.message}" for item in found]
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
    assert {item.code.name for item in check_imported(made.text)} == {"MT401"}


def plugin(folder: Path, custom: str, derivatives: str = "") -> tuple[list[dict[str, Any]], list[str]]:
    """The operators of the section ``custom``, and what is not carried over."""
    functions, formulas = folder / "op_plugin_functions.yaml", folder / "derivatives.yaml"
    functions.write_text(f"all_version: [v2.1, v2.2]\ncustom:\n{custom}")
    formulas.write_text(f"all_version: [v2.1, v2.2]\nbackward:\n{derivatives}")
    made = import_files(functions, derivatives=formulas, kernels="kernels")
    assert made.diagnostics == ()
    return [*entries(made.text).values()], [f"{note.text} ({note.reason})" for note in made.notes]


def test_gradients_that_no_operator_takes_are_listed(tmp_path: Path) -> None:
    custom = "- func: f(Tensor x) -> Tensor\n- func: g(Tensor x, Tensor y) -> Tensor\n"
    derivatives = (
        "- name: f(Tensor x) -> Tensor\n  x: grad * 2\n  version: v2.1\n"
        "- name: f(Tensor x) -> Tensor\n  x: grad * 3\n  version: [v2.2, newest]\n"
        "- name: g(Tensor x, Tensor z) -> Tensor\n  x, z: g_backward(grad)\n"
        "- name: h(Tensor x) -> Tensor\n  x: grad\n"
        "other: 1\n"
    )
    made, notes = plugin(tmp_path, custom, derivatives)
    assert [item["backward"] for item in made] == [{"x": "grad * 3"}, "not_implemented"]
    assert sorted(notes) == [
        "other (not a section of formulas)",
        "the gradients of f(Tensor x) -> Tensor (they are not for the newest version)",
        "the gradients of g(Tensor x, Tensor z) -> Tensor (no operator has this schema)",
        "the gradients of h(Tensor x) -> Tensor (no operator has this schema)",
    ]


def test_differentiable_outputs_of_op_plugin_are_carried_over(tmp_path: Path) -> None:
    custom = "- func: f(Tensor x) -> (Tensor, Tensor)\n- func: g(Tensor x) -> Tensor\n"
    derivatives = (
        "- name: f(Tensor x) -> (Tensor, Tensor)\n  output_differentiability: [false, true]\n  x: grad\n"
        "  result1: x_t\n"
        "- name: g(Tensor x) -> Tensor\n  output_differentiability: [false]\n  x: grad\n"
    )
    made, notes = plugin(tmp_path, custom, derivatives)
    assert made[0]["output_differentiability"] == [False, True]
    assert (made[0]["backward"], made[0]["forward"]) == ({"x": "grads[1]"}, {"result1": "x_t"})
    assert made[1]["backward"] == "not_differentiable"
    assert notes == []


def test_named_outputs_have_rules_too(tmp_path: Path) -> None:
    custom = (
        "- func: f(Tensor grad_output, Tensor x) -> Tensor\n  gen_opapi:\n"
        "    grad_input: {size: grad_output, dtype: x, name: x}\n    new_params: {y: x}\n    exec: aclnnF\n"
    )
    made, notes = plugin(tmp_path, custom)
    assert made[0]["fake"] == {"shape": "grad_output.shape", "dtype": "x.dtype"}
    assert notes == [
        "grad_input: name: x (dimensions have no names here)",
        "new_params: {y: x} (a key of op-plugin's code generator)",
        "exec: aclnnF (an aclnn function is called in two steps)",
    ]


def test_an_operator_on_named_dimensions_is_listed(tmp_path: Path) -> None:
    custom = "- func: f.Dimname(Tensor x, Dimname dim) -> Tensor\n- func: f(Tensor x) -> Tensor\n"
    made, notes = plugin(tmp_path, custom)
    assert [item["func"] for item in made] == ["npu::f(Tensor x) -> Tensor"]
    assert notes == ["f.Dimname(Tensor x, Dimname dim) -> Tensor (dimensions have no names here)"]


def test_one_name_in_two_namespaces_is_two_operators(tmp_path: Path) -> None:
    section = "- func: f(Tensor x) -> Tensor\n"
    made, notes = plugin(tmp_path, f"{section}official:\n{section}")
    assert [item["func"] for item in made] == ["npu::f(Tensor x) -> Tensor", "f(Tensor x) -> Tensor"]
    assert notes == []


def test_a_launch_that_is_no_mapping_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "op_plugin_functions.yaml"
    path.write_text("custom:\n- func: f(Tensor x) -> Tensor\n  gen_opapi: True\n")
    found = import_files(path).diagnostics
    assert [(item.code.name, item.message) for item in found] == [
        ("MT112", "`gen_opapi` is a mapping, and this is a string")
    ]
