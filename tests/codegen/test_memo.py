"""What was generated before is not made again, and whatever changes is seen: the memory hides nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mtcodegen.cli import generate
from mtcodegen.cli import main as cli
from mtcodegen.project import generate as pipeline
from mtcodegen.project import memo
from mtcodegen.targets.job import Input, Job

ENTRY = """\
- func: op_{i}(Tensor x, *, float scale=1.0) -> Tensor
  doc: Returns ``x`` times ``scale``, which is what makes this text long enough to be worth keeping, number {i}.
  fake: {{like: x}}
  kernels: [{{device: cpu, symbol: op, library: l.so, args: [x, out, f32(scale), u64(x.numel())]}}]
  backward: {{x: grad * scale}}
"""
TEXT = "namespace: n\nops:\n" + "".join(ENTRY.format(i=i) for i in range(200))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With declarations, their modules, and a memory of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ops.yaml").write_text(TEXT)
    assert cli.main(["ops.yaml"]) == 0
    return tmp_path


@pytest.fixture
def runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A note for every run of the generator."""
    found: list[str] = []

    def counted(*arguments: object) -> object:
        found.append("run")
        return pipeline.generate(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(generate, "generate", counted)
    return found


def kept(folder: Path) -> list[Path]:
    return list((folder / "cache/mtcodegen/generated").iterdir())


def test_nothing_changed_runs_nothing(folder: Path, runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert len(kept(folder)) == 1
    assert cli.main(["check", "ops.yaml"]) == 0
    assert capsys.readouterr().out.endswith("everything is up to date\n")
    assert cli.main(["ops.yaml"]) == 0
    assert runs == []


def test_output_edited_by_hand_is_found(folder: Path, runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "generated/ops.py"
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"scale", b"scalf", 1))
    assert cli.main(["check", "ops.yaml"]) == 1
    assert 'op_0(Tensor x, *, float scalf=1.0) -> Tensor"' in capsys.readouterr().out
    path.unlink()
    assert cli.main(["check", "ops.yaml"]) == 1
    assert cli.main(["ops.yaml"]) == 0
    assert path.read_bytes() == whole
    assert runs == []


def test_a_change_of_the_yaml_is_found(folder: Path, runs: list[str]) -> None:
    (folder / "ops.yaml").write_text(TEXT.replace("number 7.", "number seven."))
    assert cli.main(["check", "ops.yaml"]) == 1
    assert runs == ["run"]


def test_findings_are_never_remembered(folder: Path, runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ops.yaml").write_text(TEXT.replace("grad * scale", "grad * sclae", 1))
    for _ in range(2):
        assert cli.main(["check", "ops.yaml"]) == 1
        assert "`sclae` is not an argument" in capsys.readouterr().err
    assert runs == ["run", "run"]


@pytest.mark.parametrize("damage", [b"", b"x", b"\xff", b"\n{}"], ids=["empty", "short", "no text", "another"])
def test_a_damaged_memory_is_no_memory(folder: Path, runs: list[str], damage: bytes) -> None:
    (path,) = kept(folder)
    path.write_bytes(path.read_bytes()[:-100] + damage if damage == b"x" else damage)
    assert cli.main(["check", "ops.yaml"]) == 0
    assert runs == ["run"]
    assert cli.main(["check", "ops.yaml"]) == 0
    assert runs == ["run"]


def test_no_place_for_a_memory_is_no_fault(folder: Path, runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    for _ in range(2):
        assert cli.main(["check", "ops.yaml"]) == 0
    assert runs == ["run", "run"]


def test_little_is_not_kept_and_not_for_ever(folder: Path) -> None:
    (folder / "small.yaml").write_text("namespace: n\nops:\n" + ENTRY.format(i=0))
    assert cli.main(["small.yaml"]) == 0
    assert len(kept(folder)) == 1
    files = [pipeline.Generated(Job((), folder), {"a.py": "x" * 200_000})]
    for i in range(40):
        memo.remember(files, f"{i:02}")
    assert len(kept(folder)) == 32
    assert memo.recall([Job((), folder)], "39") == files
    assert memo.recall([Job((), folder)], "00") is None


def test_all_that_is_read_is_in_the_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A generator of another text, templates too, and files of other names or places make another key."""
    item = Input(folder / "ops.yaml", "ops.yaml")
    job = Job((item,), folder / "generated")
    keys = {memo.key_of([other]) for other in (
        job,
        Job((item,), folder / "elsewhere"),
        Job((item,), folder / "generated", "package"),
        Job((item,), folder / "generated", "", "docs"),
        Job((Input(item.path, "./ops.yaml"),), folder / "generated"),
    )}  # fmt: skip
    assert len(keys) == 5
    assert memo.key_of([job]) in keys
    root, copy = Path(__file__).resolve().parents[2], folder / "copy"
    for name in ("codegen", "templates", "ops_yaml"):
        shutil.copytree(root / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(memo, "PACKAGE", copy / "codegen/mtcodegen")
    monkeypatch.setattr(memo, "data_folder", lambda name: copy / name)
    found = {memo.key_of([job])}
    for changed in ("codegen/mtcodegen/targets/support/_values.py", "templates/package.py.j2", "ops_yaml/shape.yaml"):
        with (copy / changed).open("a") as file:
            file.write("\n")
        found.add(memo.key_of([job]))
    assert len(found) == 4
