"""``mtcodegen import`` of operator projects: the definition in C++, and msopgen's JSON."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from mtcodegen.cli.main import main
from mtcodegen.importer import import_files
from tests.codegen.support import check_imported, entries

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/row_scale/op_host/row_scale.cpp"
HEAD = "# yaml-language-server: $schema=ops.schema.json\n"


def made(path: Path, **options: Any) -> str:
    """The text of an import that finds nothing wrong."""
    result = import_files(path, **options)
    assert result.diagnostics == ()
    return result.text


def opdef(folder: Path, body: str, name: str = "AddCustom", more: str = "") -> Path:
    path = folder / "op_host" / "op.cpp"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{more}namespace ops {{\nclass {name} : public OpDef {{\n{body}}};\nOP_ADD({name});\n}}\n")
    return path


X = 'this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT});\n'
Y = 'this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT});\n'
SAME_SHAPE = "const auto* a = context->GetInputShape(0);\nauto* b = context->GetOutputShape(0);\n*b = *a;\n"


def schema_of(path: Path) -> str:
    [func] = entries(made(path))
    return str(func)


def test_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    text = made(EXAMPLE)
    [entry] = entries(text).values()
    assert entry == {
        "func": "row_scale(Tensor x, Tensor weight, *, float epsilon=1e-6) -> Tensor",
        "fake": {"like": "x"},
        "backward": "not_implemented",
    }
    assert text.startswith(f"{HEAD}# Imported from row_scale.cpp.")
    assert "namespace: npu\n" in text
    assert made(EXAMPLE, namespace="mine").count("namespace: mine\n") == 1
    assert {item.code.name for item in check_imported(text)} == {"MT301"}  # no kernels: these want completing
    assert main(["import", str(EXAMPLE)]) == 0
    assert "imported 1 operator; not carried over: 1" in capsys.readouterr().err


def test_its_kernels_are_complete_but_for_what_the_host_computes(tmp_path: Path) -> None:
    text = made(EXAMPLE)
    assert text.count("  # - device: npu\n") == 2
    completed = text.replace("block_dim: ...", "block_dim: 1").replace(": ...", ": 1").replace("\n  # ", "\n  ")
    [entry] = entries(completed).values()
    [half, single] = entry["kernels"]
    assert (half["symbol"], half["source"]) == ("row_scale", "op_kernel/row_scale.cpp")
    assert (half["defines"]["DTYPE_WEIGHT"], half["defines"]["ORIG_DTYPE_X"]) == ("half", "DT_FLOAT16")
    assert half["tiling"]["from"] == "op_host/row_scale_tiling.h"
    assert [*half["tiling"]["fields"]] == ["rows", "columns", "rowsPerBlock", "epsilon"]
    assert (half["dtypes"], single["dtypes"]) == (["float16"], ["float32"])
    project = tmp_path / "project"
    shutil.copytree(EXAMPLE.parents[1], project, ignore=shutil.ignore_patterns("generated"))
    (project / "ops.yaml").write_text(completed)
    assert main(["generate", str(project / "ops.yaml"), "-o", str(tmp_path / "out")]) == 0


@pytest.mark.parametrize(
    ("body", "schema"),
    [
        (X + Y, "add_custom(Tensor x) -> Tensor"),
        (X + Y.replace("DataType({ge::DT_FLOAT})", "DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND})"), None),
        (X.replace("REQUIRED", "OPTIONAL") + Y, "add_custom(Tensor? x=None) -> Tensor"),
        (
            X.replace("REQUIRED", "Option::OPTIONAL") + X.replace('"x"', '"z"') + Y,
            "add_custom(Tensor? x, Tensor z) -> Tensor",
        ),
        (X.replace("REQUIRED", "DYNAMIC") + Y.replace("REQUIRED", "DYNAMIC"), "add_custom(Tensor[] x) -> Tensor[]"),
        (X + Y + Y.replace('"y"', '"z"'), "add_custom(Tensor x) -> (Tensor y, Tensor z)"),
        (X + "// " + X.replace('"x"', '"gone"') + "/* " + X.replace('"x"', '"gone"') + "*/" + Y, None),
        (
            X + Y + 'this->Attr("a").AttrType(REQUIRED).Int();\nthis->Attr("b").AttrType(OPTIONAL).Float(0.5f);\n',
            "add_custom(Tensor x, *, int a, float b=0.5) -> Tensor",
        ),
        (
            X
            + Y
            + 'this->Attr("a").AttrType(OPTIONAL).ListInt({1, -2});\nthis->Attr("b").AttrType(OPTIONAL).Bool(true);\n'
            + 'this->Attr("c").AttrType(OPTIONAL).String("(; // c");\nthis->Attr("d").ListFloat();\n'
            + 'this->Attr("e").AttrType(OPTIONAL).ListBool({});\n',
            'add_custom(Tensor x, *, int[] a=[1, -2], bool b=True, str c="(; // c", float[] d, bool[] e=[]) -> Tensor',
        ),
    ],
)
def test_definitions(tmp_path: Path, body: str, schema: str | None) -> None:
    assert schema_of(opdef(tmp_path, body)) == (schema or "add_custom(Tensor x) -> Tensor")


@pytest.mark.parametrize(
    ("name", "snake"),
    [("AddCustom", "add_custom"), ("MatMulV2", "mat_mul_v2"), ("FFN", "ffn"), ("NPUAdd", "npu_add"), ("Add", "add")],
)
def test_names(tmp_path: Path, name: str, snake: str) -> None:
    assert schema_of(opdef(tmp_path, X + Y, name)).startswith(f"{snake}(")


def test_shapes_are_known_where_they_are_copied(tmp_path: Path) -> None:
    def rule(body: str, more: str) -> Any:
        [entry] = entries(made(opdef(tmp_path, body, more=more))).values()
        return entry.get("fake")

    assert rule(X + Y, SAME_SHAPE) == {"like": "x"}
    assert rule(X + Y, "*context->GetOutputShape(0) = *context->GetInputShape(0);\n") == {"like": "x"}
    assert rule(X + Y.replace("FLOAT", "INT32"), SAME_SHAPE) == {"shape": "x.shape", "dtype": "int32"}
    assert rule(X + Y, "") is None
    assert rule(X + Y, "*context->GetOutputShape(0) = *context->GetInputShape(4);\n") is None
    assert rule(X.replace("REQUIRED", "DYNAMIC") + Y, SAME_SHAPE) is None
    assert rule(X + Y + Y.replace('"y"', '"z"'), SAME_SHAPE) is None
    mixed = X.replace("{ge::DT_FLOAT}", "{ge::DT_FLOAT, ge::DT_FLOAT16}")
    assert rule(mixed + Y.replace("{ge::DT_FLOAT}", "{ge::DT_INT8, ge::DT_INT32}"), SAME_SHAPE) is None


def kernels_of(path: Path) -> list[dict[str, str]]:
    """The definitions of each kernel that an import suggests."""
    text = made(path).replace("block_dim: ...", "block_dim: 1").replace("\n  # ", "\n  ")
    [entry] = entries(text).values()
    return [kernel["defines"] for kernel in entry.get("kernels", [])]


def test_types_that_combine_with_all_others_or_follow_one(tmp_path: Path) -> None:
    index = 'this->Input("index").ParamType(REQUIRED).DataTypeList({ge::DT_INT32, ge::DT_INT64});\n'
    follows = 'this->Output("y").ParamType(REQUIRED).Follow("x", FollowType::DTYPE);\n'
    mixed = X.replace("{ge::DT_FLOAT}", "{ge::DT_FLOAT, ge::DT_FLOAT16}")
    path = opdef(tmp_path, mixed + index + follows, more=SAME_SHAPE)
    assert [[made["DTYPE_X"], made["DTYPE_INDEX"], made["DTYPE_Y"]] for made in kernels_of(path)] == [
        ["float", "int32_t", "float"],
        ["half", "int32_t", "half"],
        ["float", "int64_t", "float"],
        ["half", "int64_t", "half"],
    ]
    assert next(iter(entries(made(path)).values()))["fake"] == {"like": "x"}
    alone = opdef(tmp_path, X.replace("DataType(", "DataTypeList(") + follows)
    assert [made["DTYPE_Y"] for made in kernels_of(alone)] == ["float"]


def test_a_tensor_without_types_has_no_kernels(tmp_path: Path) -> None:
    text = made(opdef(tmp_path, X + 'this->Output("y").ParamType(REQUIRED);\n'))
    assert "kernels:" not in text.replace("kernels (", "")
    assert "which types `y` has is not known" in text.replace("\n#   ", " ")


def test_following_something_else(tmp_path: Path) -> None:
    [found] = import_files(opdef(tmp_path, X + 'this->Output("y").Follow("z");\n')).diagnostics
    assert "`y` follows `z`, which the operator does not have" in str(found)


def test_several_operators_of_a_file(tmp_path: Path) -> None:
    path = opdef(tmp_path, X + Y, more=SAME_SHAPE + f"class First : public OpDef {{\n{X}{Y}}};\n")
    assert [*entries(made(path))] == ["first(Tensor x) -> Tensor", "add_custom(Tensor x) -> Tensor"]
    assert "fake" not in next(iter(entries(made(path)).values()))  # whose shape it is, is not known
    assert [*entries(made(path, select=["first"]))] == ["first(Tensor x) -> Tensor"]
    [missing] = import_files(path, select=["frist"]).diagnostics
    assert (missing.code.name, missing.hint) == ("MT607", "did you mean `first`?")


MSOPGEN = {
    "op": "ScaleAdd",
    "language": "cpp",
    "input_desc": [
        {"name": "x", "param_type": "required", "format": ["ND"], "type": ["fp16", "float"]},
        {"name": "bias", "param_type": "optional", "format": ["ND"], "type": ["fp16", "float"]},
    ],
    "output_desc": [{"name": "y", "param_type": "required", "format": ["ND"], "type": ["fp16", "float"]}],
    "attr": [
        {"name": "scale", "param_type": "optional", "type": "float", "default_value": "2.0"},
        {"name": "axes", "param_type": "optional", "type": "list_int", "default_value": [0, 1]},
        {"name": "mode", "param_type": "optional", "type": "string", "default_value": "sum"},
        {"name": "deep", "param_type": "required", "type": "bool"},
    ],
}
SCHEMA = (
    'scale_add(Tensor x, Tensor? bias=None, *, float scale=2.0, int[] axes=[0, 1], str mode="sum", bool deep) -> Tensor'
)


@pytest.mark.parametrize("document", [MSOPGEN, [MSOPGEN]])
def test_msopgen(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "scale_add.json"
    path.write_text(json.dumps(document, indent=2))
    text = made(path)
    assert [*entries(text)] == [SCHEMA]
    assert "  #   args: [contiguous(x), bias, out, None, None]\n  #   dtypes: [float16]\n" in text
    assert "DTYPE_BIAS: float," in text
    assert {item.code.name for item in check_imported(text)} == {"MT301", "MT401"}  # no kernels, no rule for shapes


def fault(path: Path, text: str) -> str:
    path.write_text(text)
    result = import_files(path)
    assert result.text == ""
    [found] = result.diagnostics
    return f"{found.span.line if found.span else 0}: {found.message}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1: no operator is defined here"),
        ("int main() {}\n", "1: no operator is defined here"),
        (
            f"class A : public OpDef {{\n{X.replace('FLOAT', 'COMPLEX64')}}};",
            "2: `x` has a type that tensors do not have: DT_COMPLEX64",
        ),
        (
            f"class A : public OpDef {{\n\n{X.replace('REQUIRED', 'MAYBE')}}};",
            "3: `x`: expected REQUIRED, OPTIONAL or DYNAMIC, not MAYBE",
        ),
        ('class A : public OpDef {\nthis->Attr("a").AttrType(OPTIONAL);\n};', "2: attribute `a` has no type"),
    ],
)
def test_faults_of_definitions(tmp_path: Path, text: str, said: str) -> None:
    assert fault(tmp_path / "a.cpp", text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "1: this is no JSON: Expecting property name enclosed in double quotes"),
        ("[1]", "1: an operator without its name, `op`"),
        ("{}", "1: an operator without its name, `op`"),
        ('{"op": "A",\n "input_desc": {}}', "1: `input_desc`: expected a list of entries with a `name`"),
        ('{"op": "A", "attr": [{"name": "a", "type": "tensor"}]}', "1: attribute `a`: no type is called 'tensor'"),
        (
            '{"op": "A", "input_desc": [{"name": "x", "type": ["int4"]}]}',
            "1: `x` has a type that tensors do not have: int4",
        ),
    ],
)
def test_faults_of_json(tmp_path: Path, text: str, said: str) -> None:
    assert fault(tmp_path / "a.json", text) == said


def test_options_of_other_files_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(EXAMPLE), "--kernels", "mine"]) == 2
    assert "an operator project has its own schemas and kernels" in capsys.readouterr().err
