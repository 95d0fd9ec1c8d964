"""What kernels are built of is looked for where the YAML file is, before anything is generated."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtcodegen.cli.main import main

TEXT = """\
namespace: my
ops:
- func: halved(Tensor x) -> Tensor
  autogen: halved_
  fake: {{like: x}}
  kernels:
  - {{device: cpu, source: {source}, symbol: halved, args: [desc(x), desc(out)]}}
  backward: not_differentiable
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a source, seen from another one."""
    folder = tmp_path / "project"
    (folder / "kernels").mkdir(parents=True)
    (folder / "kernels" / "halved.c").touch()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "halved.c").touch()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def shown(project: Path, source: str, capsys: pytest.CaptureFixture[str], command: str = "check") -> str:
    """What a command says of a file whose kernel has this source."""
    (project / "ops.yaml").write_text(TEXT.format(source=source))
    main([command, "../project/ops.yaml"])
    return capsys.readouterr().err


def test_a_source_is_relative_to_its_file_wherever_the_command_runs(project, capsys):
    assert "error" not in shown(project, "kernels/halved.c", capsys, "generate")
    assert "error" not in shown(project, str(project / "kernels" / "halved.c"), capsys, "generate")
    text = shown(project, "halved.c", capsys)  # that one lies where the command runs
    assert "../project/ops.yaml:7:27: error[MT328]: there is no file `halved.c`" in text
    assert "^^^^^^^^ it is looked for beside ops.yaml: create it, or correct the path" in text
    assert text.count("error[") == 1


def test_each_of_several_is_looked_for_and_a_near_one_is_named(project, capsys):
    text = shown(project, "[kernels/halved.c, kernels/havled.c, kernels]", capsys)
    assert text.count("error[MT328]") == 2
    assert "there is no file `kernels/havled.c`" in text
    assert "did you mean `halved.c`?" in text
    assert "there is no file `kernels`" in text


@pytest.mark.parametrize("name", ['"a\\0b.c"', "x" * 5000, "halved.c/inner.c", '"\\ud800.c"', "/"])
def test_names_that_no_file_can_have(project, capsys, name):
    assert "error[MT" in shown(project, name, capsys)


def test_one_that_goes_is_missed_whatever_was_generated_before(project, capsys):
    """Also where a result is large enough to be kept."""
    (project / "ops.yaml").write_text(
        "namespace: my\nops:\n"
        + "".join(
            TEXT.format(source="kernels/halved.c")
            .partition("ops:\n")[2]
            .replace("halved(", f"halved{i}(")
            .replace("autogen: halved_", f"autogen: halved{i}_")
            for i in range(150)
        )
    )
    assert main(["generate", "../project/ops.yaml"]) == 0
    assert main(["check", "../project/ops.yaml"]) == 0
    (project / "kernels" / "halved.c").unlink()
    assert main(["check", "../project/ops.yaml"]) == 1
    assert "error[MT328]: there is no file `kernels/halved.c`" in capsys.readouterr().err
