"""What is suggested for a name, and what would only make people laugh."""

import pytest

from opschema.hints import near

KNOWN = [
    *("scale", "x", "y", "grad", "result", "seq_lens", "dtypes", "int", "int8", "eq", "equal", "t", "float32", "dim"),
    *("fused::f", "fused::scaled_add", "numel", "min"),
]


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("sclae", "scale"),
        ("SCALE", "scale"),
        ("scle", "scale"),
        ("scalee", "scale"),
        ("gard", "grad"),
        ("reslt", "result"),
        ("xx", "x"),
        ("lens", "seq_lens"),
        ("seq_len", "seq_lens"),
        ("float23", "float32"),
        ("dims", "dim"),
        ("fused::ff", "fused::f"),
        ("fuesd::scaled_add", "fused::scaled_add"),
        ("input", None),
        ("print", None),
        ("eval", None),
        ("desc", None),
        ("to", None),
        ("q", None),
        ("z", None),
        ("fused::g", None),
        ("", None),
        ("x" * 100_000, None),
    ],
)
def test_what_is_near(wrong: str, meant: str | None) -> None:
    assert near(wrong, KNOWN) == meant
