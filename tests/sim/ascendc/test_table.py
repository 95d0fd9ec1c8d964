"""docs/ascendc.md names every function and class of the headers, and a test for each."""

from __future__ import annotations

from tests.sim.ascendc.table import DOCUMENT, rows, with_table


def test_the_table_is_of_today():
    text = DOCUMENT.read_text()
    assert text == with_table(text), "python -m tests.sim.ascendc.table writes it anew"


def test_everything_is_tested():
    assert [row.name for row in rows() if not row.tests] == []


def test_what_touches_memory_is_checked():
    silent = {row.header for row in rows() if not row.checked and not row.name.startswith("Set")}
    assert silent.isdisjoint({"vector", "elementwise", "reduce", "compare", "gather", "transpose", "image"})
