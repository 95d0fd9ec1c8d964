"""Tiling structs of host sources: what is read, and what cannot be."""

from __future__ import annotations

import pytest

from opschema.tiling import TilingError, TilingField, read_tiling

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
