"""Each mistake is reported, word for word, and its right form is not."""

from __future__ import annotations

import pytest

from tests.sim.ascendc.device import AsyncError
from tests.sim.check.cases import CASES, DOCUMENT, EXPECTED, report, run, with_examples


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_mistake_is_reported(npu, checked_library, case):
    with pytest.raises(AsyncError) as error:
        run(npu, checked_library(case.source), case, wrong=True)
    assert report(error.value) == (EXPECTED / f"{case.name}.txt").read_text()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_right_form_is_silent(npu, checked_library, case):
    run(npu, checked_library(case.source), case, wrong=False)


def test_every_expected_report_has_its_case():
    assert {path.stem for path in EXPECTED.iterdir()} == {case.name for case in CASES}


def test_the_documentation_shows_real_reports():
    text = DOCUMENT.read_text()
    assert text == with_examples(text), "python -m tests.sim.check.cases writes the reports anew"
