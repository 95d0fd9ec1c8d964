"""Tiling structs of host sources: what is read, and what cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from opschema.tiling import TilingError, TilingField, read_tiling, read_tiling_file

TEXT = """
#include "register/tilingdata_base.h"
#define PARTS (2 + 1)  // of a thing
namespace optiling {
constexpr uint32_t LENGTH = 2 * PARTS + 0x2u;
/* BEGIN_TILING_DATA_DEF(NotThis) TILING_DATA_FIELD_DEF(int, a); END_TILING_DATA_DEF; */
BEGIN_TILING_DATA_DEF(Part)
TILING_DATA_FIELD_DEF(int, a)  // without a semicolon
TILING_DATA_FIELD_DEF(bool, flag)
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(PartOp, Part)

BEGIN_TILING_DATA_DEF(Whole)
  TILING_DATA_FIELD_DEF(std::uint8_t, kind);
  TILING_DATA_FIELD_DEF_ARR(int64_t, LENGTH, shape);
  TILING_DATA_FIELD_DEF_STRUCT(Part, part);
  TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, product);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Op, Whole)
BEGIN_TILING_DATA_DEF(Other)
TILING_DATA_FIELD_DEF(float, scale);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Op_7, Other)
}
"""


def test_scalars_arrays_and_structs_within_structs():
    tiling = read_tiling(TEXT)
    assert list(tiling.classes) == ["Part", "Whole", "Other"]
    assert tiling.classes["Whole"].fields == (
        TilingField("kind", "uint8_t"),
        TilingField("shape", "int64_t", 8),
        TilingField("part", "Part", is_struct=True),
        TilingField("product", "TCubeTiling", is_struct=True),
    )
    assert [field.scalar for field in tiling.classes["Part"].fields] == ["i32", "bool"]
    assert tiling.registered == {"PartOp": "Part", "Op": "Whole", "Op_7": "Other"}


def test_the_struct_of_a_kernel_that_names_none():
    tiling = read_tiling(TEXT)
    assert tiling.default().name == tiling.default(3).name == "Whole"
    assert tiling.default(7).name == "Other"
    two = read_tiling(TEXT.replace("Op_7", "Second"))
    assert two.default() is None


def field(text: str) -> str:
    return f"\n\nBEGIN_TILING_DATA_DEF(T)\n  {text}\nEND_TILING_DATA_DEF;\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (field("TILING_DATA_FIELD_DEF(Shape, a);"), "the type 'Shape' is not one of C's"),
        (field("TILING_DATA_FIELD_DEF_ARR(int, MANY, a);"), "the length 'MANY' is not a number"),
        (field("TILING_DATA_FIELD_DEF_ARR(int, f(2), a);"), "is not a number"),
        (field("TILING_DATA_FIELD_DEF_STRUCT(Later, a);"), "the struct 'Later' is not declared before it is used"),
        (field("TILING_DATA_FIELD_DEF(int);"), "is not a field that is known"),
        ("#define A A\n\n" + field("TILING_DATA_FIELD_DEF_ARR(int, A, a);")[2:], "the length 'A' is not a number"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text, message):
    with pytest.raises(TilingError, match=message) as error:
        read_tiling(text)
    assert error.value.line == 4


def test_a_field_that_is_declared_twice():
    fields = "TILING_DATA_FIELD_DEF(int, a); TILING_DATA_FIELD_DEF(float, a);"
    with pytest.raises(TilingError, match="the field 'a' is declared twice"):
        read_tiling(field(fields))


def test_what_a_file_includes_from_beside_it(tmp_path: Path):
    (tmp_path / "first.h").write_text('#include "second.h"\n#include "not_here.h"\n' + TEXT)
    (tmp_path / "second.h").write_text(
        '#include "first.h"\nconstexpr int MOST = 4;\n#if 0\n  // #include "third.h"\n#endif\n'
        "BEGIN_TILING_DATA_DEF(Inner) TILING_DATA_FIELD_DEF(int, a); END_TILING_DATA_DEF;"
    )
    (tmp_path / "third.h").write_text(
        '#include "first.h"\nBEGIN_TILING_DATA_DEF(Outer)\nTILING_DATA_FIELD_DEF_STRUCT(Inner, inner);\n'
        "TILING_DATA_FIELD_DEF_ARR(int, MOST, values);\nEND_TILING_DATA_DEF;\nREGISTER_TILING_DATA_CLASS(Op_2, Outer)"
    )
    tiling = read_tiling_file(tmp_path / "third.h")
    assert list(tiling.classes) == ["Inner", "Part", "Whole", "Other", "Outer"]
    assert tiling.classes["Outer"].fields[1].length == 4
    assert tiling.registered["Op_2"] == "Outer"


def test_a_mistake_in_what_a_file_includes(tmp_path: Path):
    (tmp_path / "outer.h").write_text('\n#include "inner.h"\n')
    (tmp_path / "inner.h").write_text(
        "\n\nBEGIN_TILING_DATA_DEF(A) TILING_DATA_FIELD_DEF(half, a); END_TILING_DATA_DEF;"
    )
    with pytest.raises(TilingError, match=r"inner\.h:3: the type 'half' is not one of C's") as error:
        read_tiling_file(tmp_path / "outer.h")
    assert error.value.line == 2
