"""``tiling: {from:, class:, fields:}`` against the host's declaration, and what sources are built with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mtcodegen.cli.main import main

HOST = """
BEGIN_TILING_DATA_DEF(Part)
TILING_DATA_FIELD_DEF(float, a)
END_TILING_DATA_DEF;
BEGIN_TILING_DATA_DEF(Tiling)
  TILING_DATA_FIELD_DEF(uint32_t, length);
  TILING_DATA_FIELD_DEF(float, scale);
  TILING_DATA_FIELD_DEF(bool, up);
END_TILING_DATA_DEF;
BEGIN_TILING_DATA_DEF(Nested)
  TILING_DATA_FIELD_DEF_ARR(int64_t, 4, shape);
  TILING_DATA_FIELD_DEF_STRUCT(Part, part);
END_TILING_DATA_DEF;
BEGIN_TILING_DATA_DEF(Arrays)
  TILING_DATA_FIELD_DEF(uint8_t, first);
  TILING_DATA_FIELD_DEF_ARR(uint16_t, 3, shape);
  TILING_DATA_FIELD_DEF(uint32_t, shape_0);
  TILING_DATA_FIELD_DEF(float, last);
END_TILING_DATA_DEF;
"""
TEXT = """\
namespace: my
ops:
- func: halved(Tensor x, float scale) -> Tensor
  fake: {{like: x}}
  kernels:
  - device: npu
    source: k.cpp
    symbol: halved
    block_dim: 8
    args: [x, out, upload(tiling)]
    tiling: {tiling}{options}
  backward: not_differentiable
"""
WHOLE = "{from: host/t.h, class: Tiling, fields: {length: x.numel() // 2, scale: scale, up: True}}"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """What ``generate`` writes, or what it says."""
    (tmp_path / "host").mkdir()
    (tmp_path / "host/t.h").write_text(HOST)
    (tmp_path / "k.cpp").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def generated(tiling: str, options: str = "") -> str:
        (tmp_path / "ops.yaml").write_text(TEXT.format(tiling=tiling, options=options))
        failed = main(["generate", "ops.yaml"])
        said = capsys.readouterr().err
        return said if failed else (tmp_path / "generated/ops.py").read_text()

    return generated


def test_values_get_the_types_of_the_host_in_its_order(run):
    shuffled = WHOLE.replace("{length: x.numel() // 2, scale: scale,", "{scale: scale, length: x.numel() // 2,")
    for text in (run(WHOLE), run(shuffled)):
        assert "tiling = struct(length=u32(x.numel() // 2), scale=f32(scale), up=bool_(True))" in text
        assert '["../k.cpp", "../host/t.h"], relative_to=__file__)' in text


def test_arrays_are_lists(run):
    arrays = "{from: host/t.h, class: Arrays, fields: {shape: [x.dim(), u16(2), 3], last: 1, shape_0: 4}}"
    said = "tiling = struct(first=u8({}), shape_0_=u16(x.dim()), shape_1=u16(2), shape_2=u16(3), shape_0=u32(4), "
    assert "`first` of the struct `Arrays`" in run(arrays)
    text = run(arrays.replace("last: 1", "last: 1, first: 7"))
    flat = re.sub(r"\s+", " ", text).replace("struct( ", "struct(").replace(", )", ")")
    assert said.format("7") + "last=f32(1))" in flat


def test_types_that_agree_may_be_written(run):
    assert "length=u32(x.numel())" in run(WHOLE.replace("x.numel() // 2", "u32(x.numel())"))


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        ("length:", "lenght:", "has no field `lenght`", "did you mean `length`?"),
        ("scale: scale, ", "", "nothing is said of `scale` of the struct `Tiling` at host/t.h:5", "0 where the kernel"),
        ("x.numel() // 2", "i64(x.numel())", "is uint32_t, not i64", "write `u32(...)`, or the value alone"),
        ("Tiling", "Tilling", "declares no tiling struct `Tilling`", "did you mean `Tiling`?"),
        (
            "Tiling, fields: {length: x.numel() // 2",
            "Nested, fields: {shape: 1",
            "the field `shape` at host/t.h:10 is an array of 4",
            "give a list of 4 values",
        ),
        (
            "Tiling, fields: {length: x.numel() // 2",
            "Nested, fields: {shape: [1, 2]",
            "the field `shape` at host/t.h:10 has 4 elements, and 2 are given",
            "0 where the kernel reads none",
        ),
        (
            "Tiling, fields: {length: x.numel() // 2",
            "Nested, fields: {shape: [1, 2, 3, i32(4)]",
            "the field `shape` at host/t.h:10 is int64_t, not i32",
            "write `i64(...)`",
        ),
        ("x.numel() // 2", "[1]", "the field `length` at host/t.h:5 is no array", "give one value"),
        (
            "Tiling, fields: {length: x.numel() // 2",
            "Nested, fields: {part: 1",
            "is a struct, and YAML gives",
            "bytes of",
        ),
    ],
)
def test_what_does_not_agree_with_the_host(run, old, new, message, hint):
    said = run(WHOLE.replace(old, new))
    assert "error[MT330]" in said
    assert message in said
    assert hint in said


def test_a_host_that_is_not_there_or_cannot_be_read(run, tmp_path):
    assert "error[MT328]: there is no file `host/u.h`" in run(WHOLE.replace("t.h", "u.h"))
    (tmp_path / "host/t.h").write_text(HOST.replace("(uint32_t, length)", "(Size, length)"))
    assert "error[MT330]: host/t.h:6: the type 'Size' is not one of C's" in run(WHOLE)


def test_a_value_is_checked_as_any_other(run):
    assert "error[MT204]" in run(WHOLE.replace("x.numel()", "y.numel()"))


def test_the_build_gets_folders_macros_and_flags(run):
    options = (
        "\n    include: [headers, ../more]\n    defines: {KEY: 1, DTYPE_X: half, ON: true}\n    flags: [-Wall, '-O1']"
    )
    text = run("{n: u32(1)}", options)
    assert 'include=["../headers", "../../more"]' in text
    assert 'defines={"KEY": "1", "DTYPE_X": "half", "ON": "1"}' in text
    assert 'flags=["-Wall", "-O1"]' in text


def test_options_belong_to_launched_kernels(run, tmp_path, capsys):
    (tmp_path / "ops.yaml").write_text(
        "namespace: my\nops:\n- func: f(Tensor x) -> Tensor\n  kernels:\n  - {compute: x + x, defines: {A: 1}}\n"
    )
    assert main(["generate", "ops.yaml"]) != 0
    assert "error[MT306]: `defines` belongs to launched kernels" in capsys.readouterr().err
