"""Each mistake is reported, word for word, and its right form is not."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from tests.sim.check.cases import CASES, DOCUMENT, EXPECTED, KERNELS, ROOT, report, with_examples


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_mistake_is_reported(case):
    assert report(case, wrong=True) == (EXPECTED / f"{case.name}.txt").read_text()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_right_form_is_silent(case):
    assert report(case, wrong=False) == ""


@pytest.mark.parametrize("name", ["race_v_s", "race_s_mte3"])
def test_what_the_compiler_orders_is_silent(name):
    (case,) = (case for case in CASES if case.name == name)
    assert report(replace(case, environment={}), wrong=True) == ""


def test_a_tensor_that_is_never_freed_is_a_note():
    (case,) = (case for case in CASES if case.name == "never_freed")
    script = f"""
from dataclasses import replace
from tests.sim.check import cases
(case,) = (case for case in cases.CASES if case.name == {case.name!r})
for _ in range(3):
    print(cases.report(replace(case, environment={{}}), wrong=True) == "")
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n" * 3
    said = (EXPECTED / f"{case.name}.txt").read_text().partition("\n\n")[2]
    assert done.stderr.replace(f"{KERNELS}/", "") == said.replace("error[leak]", "note[leak]")


def test_every_expected_report_has_its_case():
    assert {path.stem for path in EXPECTED.iterdir()} == {case.name for case in CASES}


def test_the_documentation_shows_real_reports():
    text = DOCUMENT.read_text()
    assert text == with_examples(text), "python -m tests.sim.check.cases writes the reports anew"
