"""`Library.register_graph`: what a captured graph may update, registered, checked and taken back."""

from __future__ import annotations

import pytest

from mindtorch_v2 import library
from mindtorch_v2.npu.graph_specs import UPDATE_SPECS
from tests.runtime.both import fresh_namespace

DECODE = "decode(Tensor q, int[] seq_lens, Tensor? lens, *, float scale, str layout, Tensor(a!) out) -> Tensor(a!)"


def defined(schema: str = DECODE) -> tuple[library.Library, str]:
    lib = library.Library(fresh_namespace(), "FRAGMENT")
    return lib, f"{lib.ns}::{lib.define(schema)}"


def test_names_are_kept_in_schema_order_and_go_with_their_library() -> None:
    lib, name = defined()
    lib.register_graph("decode", update=("scale", "lens", "seq_lens"), source="ops.yaml:3")
    assert UPDATE_SPECS[name] == ("seq_lens", "lens", "scale")
    lib._destroy()
    assert name not in UPDATE_SPECS


def test_the_overload_is_part_of_the_name() -> None:
    lib, _ = defined("decode.steps(Tensor q, int step) -> Tensor")
    lib.register_graph("decode.steps", update="step")
    assert UPDATE_SPECS[f"{lib.ns}::decode.steps"] == ("step",)


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ("seq_len", r"`seq_len` is not an argument; the arguments are q, seq_lens, lens, scale, layout, out"),
        ("layout", r"`layout` cannot be updated in a captured graph: it is str; numbers, lists of numbers"),
        ("out", r"`out` cannot be updated in a captured graph: it is written to"),
    ],
)
def test_what_cannot_be_updated_is_refused(update: str, message: str) -> None:
    lib, name = defined()
    with pytest.raises(RuntimeError, match=message):
        lib.register_graph("decode", update=update)
    assert name not in UPDATE_SPECS


def test_a_second_registration_is_refused_and_changes_nothing() -> None:
    lib, name = defined()
    lib.register_graph("decode", update="seq_lens")
    with pytest.raises(RuntimeError, match="registered already"):
        lib.register_graph("decode", update="scale")
    assert UPDATE_SPECS[name] == ("seq_lens",)
