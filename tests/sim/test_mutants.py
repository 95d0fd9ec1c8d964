"""A call that is left out of a kernel is missed by a test: for the functions of one source."""

from __future__ import annotations

from pathlib import Path

from tests.sim.ascendc.mutants import Mutants, mutable


def test_what_is_left_out_of_a_kernel_is_noticed(tmp_path: Path) -> None:
    mutants = Mutants(tmp_path / "copy")
    assert mutants.passes("scan")
    assert {"CumSum", "TopK", "CreateVecIndex"} <= mutants.calls["scan"]
    assert [name for name in ("CumSum", "TopK", "CreateVecIndex") if mutants.passes("scan", name)] == []


def test_calls_are_found_with_their_templates_and_in_macros() -> None:
    text = "#define ONE(NAME) NAME(o, 64)\nvoid f() { AscendC::Cast<int, true>(a, Abs(b)); x.Abs(c); }\nONE(Neg)\n"
    made, called = mutable(text, ["Cast", "Abs", "Neg"])
    assert called == {"Cast", "Abs", "Neg"}
    assert "mtsim_call(#NAME, [&]() -> decltype(auto) { return NAME(o, 64); })" in made
    assert "return Abs(b); })); })" in made
    assert "x.Abs(c);" in made
