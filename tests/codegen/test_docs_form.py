"""Documentation and stubs as targets of their own."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from mtcodegen.project.generate import generate
from mtcodegen.project.inputs import find_jobs
from mtcodegen.project.output import apply, changes
from mtcodegen.project.pyproject import UsageError
from mtcodegen.targets.job import Input, Job
from tests.codegen.support import ZOO, put_sources, run

TEXT = """\
namespace: my
library: libk.so
ops:
- func: double(Tensor x, *, float scale=1.0) -> Tensor
  doc: Twice ``x``, with <b>no</b> markup.
  since: 1.2
  deprecated: use | ``triple``
  check: [x.dim() == 1]
  fake: {shape: [x.numel()], dtype: x.dtype}
  kernels:
  - {device: [cpu, npu], abi: c, symbol: double, args: [x, out, f32(scale)], dtypes: [float32], when: scale > 0}
  - {device: cpu, compute: x * scale}
  backward: {x: {default: grad * scale, npu: grad}}
"""


def made(folder, target, text=TEXT):
    path = folder / "ops.yaml"
    path.write_text(text)
    put_sources(folder, text)
    generated, found = generate([Job((Input(path, path.name),), folder / "made", "", target)])
    assert found == []
    return generated[0].files


class Page(HTMLParser):
    """The text and the tags of a page, and whether every tag is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words, self.sources = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_a_page_says_everything(tmp_path):
    text = made(tmp_path, "docs")["ops.md"]
    for part in (
        "# ops\n",
        "## my::double\n",
        "**Deprecated:** use | ``triple``",
        "my::double(Tensor x, *, float scale=1.0) -> Tensor",
        "Since version 1.2.",
        "Operators declared in ops.yaml.",
        "| cpu, npu | `double` | launched from libk.so, abi c; dtypes float32; when scale \\> 0 |",
        "| cpu | `x * scale` | computed |",
        "| output 0 | `shape: [x.numel()], dtype: x.dtype` |  |",
        "| x | `grad * scale` |  |",
        "| x | `grad` | on npu |",
        "It requires `x.dim() == 1`.",
    ):
        assert part in text, part


def test_the_site_is_one_page_that_needs_nothing_else(tmp_path):
    text = made(tmp_path, "docs")["index.html"]
    page = Page(text)
    assert page.open == []
    assert page.tags.count("article") == 1
    assert page.sources == ["#my-double"]
    assert "Twice ``x``, with <b>no</b> markup." in "".join(page.words)
    assert "b" not in page.tags


def test_every_operator_is_on_the_page(tmp_path):
    text = ZOO.read_text()
    page = Page(made(tmp_path, "docs", text)["index.html"])
    variants = sum(len(line.split(",")) for line in text.splitlines() if "autogen:" in line)
    assert page.tags.count("article") == text.count("func: ") + variants


def test_the_stub_alone_is_that_of_the_module(tmp_path):
    assert made(tmp_path, "pyi") == {"ops.pyi": run(tmp_path, TEXT)[0]["ops.pyi"]}


def test_own_pages_are_left_alone_and_old_ones_removed(tmp_path):
    files = made(tmp_path, "docs")
    folder = tmp_path / "made"
    apply(changes(folder, files, set()))
    (folder / "mine.md").write_text("# Mine\n")
    (folder / "old.md").write_text(files["ops.md"].replace("ops.yaml", "old.yaml"))
    assert [change.path.name for change in changes(folder, files, set())] == ["old.md"]
    done, refused = apply(changes(folder, files, set()))
    assert ([path.name for path in done], refused) == (["old.md"], [])
    assert changes(folder, files, set()) == []


def test_a_stub_beside_its_module_does_not_orphan_that(tmp_path):
    files, _ = run(tmp_path, TEXT)
    apply(changes(tmp_path / "made", files, set()))
    assert changes(tmp_path / "made", made(tmp_path, "pyi"), set()) == []


@pytest.mark.parametrize(
    ("target", "folder"),
    [(None, "generated"), ("pyi", "generated"), ("docs", "generated_docs"), ("torch", "generated_torch")],
)
def test_where_each_target_goes(tmp_path, target, folder):
    (tmp_path / "ops.yaml").write_text(TEXT)
    (job,) = find_jobs([str(tmp_path / "ops.yaml")], None, target)
    assert (job.folder.name, job.target) == (folder, target or "mindtorch")


def test_a_target_in_pyproject(tmp_path, monkeypatch):
    (tmp_path / "ops.yaml").write_text(TEXT)
    project = tmp_path / "pyproject.toml"
    entry = '[[tool.mtcodegen.generate]]\ninputs = ["ops.yaml"]\noutput = "site"\ntarget = "docs"\n'
    project.write_text(entry)
    monkeypatch.chdir(tmp_path)
    assert [(job.folder.name, job.target) for job in find_jobs([], None)] == [("site", "docs")]
    assert [job.folder.name for job in find_jobs(["ops.yaml"], None, "docs")] == ["site"]
    assert [job.folder.name for job in find_jobs(["ops.yaml"], None)] == ["generated"]
    project.write_text(entry.replace('"docs"', '"pdf"'))
    with pytest.raises(UsageError, match=r"`target` of a .* must be one of mindtorch, torch, mindspore, pyi, docs"):
        find_jobs([], None)
