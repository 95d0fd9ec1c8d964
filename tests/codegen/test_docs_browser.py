"""The page that ``--target docs`` makes, as a person finds it: opened, read and searched in Chromium."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from mtcodegen.project.generate import generate
from mtcodegen.targets.job import Input, Job
from tests.codegen.support import ZOO, put_sources, write

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="chromium and chromedriver are not installed (Debian: chromium-driver)"
)

TEXT = """\
namespace: my
library: libk.so
ops:
- func: double(Tensor x, *, float scale=1.0) -> Tensor
  doc: Twice ``x``, with <b>no</b> markup.
  deprecated: use triple
  fake: {shape: [x.numel()], dtype: x.dtype}
  kernels:
  - {device: npu, symbol: double, block_dim: 1, args: [x, out, f32(scale)], dtypes: [float32], when: scale > 0}
  - {device: cpu, compute: x * scale}
  backward: {x: grad * scale}
- func: relu6(Tensor x) -> Tensor
  kernels: [{compute: 'x.clamp(0, 6)'}]
"""
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    profile = tmp_path_factory.mktemp("profile")
    for argument in (*QUIET, "--no-first-run", "--disable-component-update", f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(DRIVER)))
    yield driver
    driver.quit()


def opened(browser: webdriver.Chrome, folder: Path, text: str) -> webdriver.Chrome:
    """The browser, at the page for a YAML text."""
    path = folder / "ops.yaml"
    path.write_text(text)
    put_sources(folder, text)
    generated, found = generate([Job((Input(path, path.name),), folder / "made", "", "docs")])
    assert found == []
    write(folder / "made", dict(generated[0].files))
    browser.get((folder / "made" / "index.html").as_uri())
    return browser


def shown(browser: webdriver.Chrome) -> list[WebElement]:
    return [article for article in browser.find_elements(By.TAG_NAME, "article") if article.is_displayed()]


def searched(browser: webdriver.Chrome, words: str) -> tuple[list[str], str]:
    """The operators that are left after typing, and what the page says of their number."""
    box = browser.find_element(By.ID, "search")
    box.clear()
    box.send_keys(words)
    return [item.get_attribute("id") or "" for item in shown(browser)], browser.find_element(By.ID, "count").text


def test_a_person_reads_everything_about_an_operator(browser: webdriver.Chrome, tmp_path: Path) -> None:
    opened(browser, tmp_path, TEXT)
    assert browser.title == "Operators of ops"
    text = shown(browser)[0].text
    for part in (
        "my::double(Tensor x, *, float scale=1.0) -> Tensor",
        "Twice ``x``, with <b>no</b> markup.",
        "Deprecated: use triple",
        "npu double launched from libk.so, abi ascendc",
        "dtypes float32; when scale > 0",
        "cpu x * scale computed",
        "shape: [x.numel()], dtype: x.dtype",
        "x grad * scale",
        "Declared in ops.yaml.",
    ):
        assert part in text, part


def test_typing_leaves_what_fits(browser: webdriver.Chrome, tmp_path: Path) -> None:
    opened(browser, tmp_path, TEXT)
    assert searched(browser, "double") == (["my-double"], "1 of 2 operators")
    assert searched(browser, "LIBK float32") == (["my-double"], "1 of 2 operators")
    assert searched(browser, "clamp") == (["my-relu6"], "1 of 2 operators")
    assert searched(browser, "double clamp") == ([], "0 of 2 operators")
    assert searched(browser, " ")[1] == "2 of 2 operators"


def test_a_heading_is_a_link_to_its_operator(browser: webdriver.Chrome, tmp_path: Path) -> None:
    opened(browser, tmp_path, ZOO.read_text())
    last = shown(browser)[-1]
    last.find_element(By.CSS_SELECTOR, "h2 a").click()
    assert browser.current_url.endswith("#" + (last.get_attribute("id") or "?"))
    top = browser.execute_script("return arguments[0].querySelector('h2').getBoundingClientRect().top", last)
    covered = browser.execute_script("return document.querySelector('search').getBoundingClientRect().bottom")
    assert covered <= top < browser.get_window_size()["height"], "the heading is covered, or out of view"


@pytest.mark.parametrize("width", [500, 1200])
def test_nothing_runs_out_of_the_window_and_nothing_fails(
    browser: webdriver.Chrome, tmp_path: Path, width: int
) -> None:
    browser.set_window_size(width, 800)
    opened(browser, tmp_path, ZOO.read_text())
    overflow = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.execute_script(overflow) <= 0
    assert browser.get_log("browser") == []
