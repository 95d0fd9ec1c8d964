"""``mtcodegen init``: the project it makes works, on cpu and on the simulated NPU."""

from __future__ import annotations

import subprocess
import sys

import pytest
import yaml

from mtcodegen.cli.main import main
from tests.needs import require


@pytest.mark.slow
def test_the_project_works(tmp_path, monkeypatch, child_env):
    require("mindtorch_v2")
    monkeypatch.chdir(tmp_path)
    assert main(["init", "demo-ops"]) == 0
    folder = tmp_path / "demo-ops"
    make = subprocess.run(
        ["make", f"PYTHON={sys.executable}"], cwd=folder, env=child_env, capture_output=True, text=True, check=False
    )
    assert make.returncode == 0, make.stdout + make.stderr
    assert "wrote generated/ops.py" in make.stdout
    assert "Ran 1 test" in make.stderr
    assert "OK" in make.stderr
    for target in ("check", "lint"):
        subprocess.run(["make", f"PYTHON={sys.executable}", target], cwd=folder, env=child_env, check=True)
    source = folder / "kernels" / "affine_cpu.c"
    source.write_text(source.read_text().replace("+ shift", "- shift"))
    make = subprocess.run(
        ["make", f"PYTHON={sys.executable}", "test"],
        cwd=folder,
        env=child_env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert make.returncode != 0  # the project's test tests something
    assert "Mismatched elements" in make.stderr


def test_what_is_made(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["init", "a/b/demo"]) == 0
    assert capsys.readouterr().out == "made a/b/demo; next: cd a/b/demo && make\n"
    made = tmp_path / "a" / "b" / "demo"
    assert sorted(str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()) == [
        ".github/workflows/ci.yml",
        ".gitignore",
        ".pre-commit-config.yaml",
        "Makefile",
        "README.md",
        "kernels/affine.cpp",
        "kernels/affine_cpu.c",
        "ops.yaml",
        "pyproject.toml",
        "tests/__init__.py",
        "tests/test_ops.py",
    ]
    assert not [path for path in made.rglob("*") if path.is_file() and "@name@" in path.read_text()]
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["demo"]
    assert "jobs" in yaml.safe_load((made / ".github/workflows/ci.yml").read_text())
    monkeypatch.chdir(made)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "new"]):
        subprocess.run([*git, *words], check=True)
    assert main(["breaking", "--against", "HEAD"]) == main(["breaking", "--against", "HEAD", "."]) == 0
    assert main(["lint", "."]) == 0
    assert main(["fmt", "--check"]) == main(["lint"]) == main(["generate"]) == main(["check"]) == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("2ops", "`2ops` cannot name a namespace"),
        ("class", "`class` cannot name a namespace"),
        ("prim", "`prim` cannot name a namespace"),
        ("full", "full: is there already, and is not overwritten"),
        ("file", "file: is there already, and is not overwritten"),
        ("file/x", "file/x: cannot be made: "),
    ],
)
def test_what_cannot_be_made(tmp_path, monkeypatch, capsys, name, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("")
    (tmp_path / "file").write_text("")
    assert main(["init", name]) == 2
    assert message in capsys.readouterr().err


def test_what_to_do_next_can_be_pasted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["init", "it's here/demo"]) == 0
    done = subprocess.run(["sh", "-c", f"{capsys.readouterr().out.partition('next: ')[2].strip()} -n"], check=False)
    assert done.returncode == 0


def test_into_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert main(["init", "empty"]) == 0
    assert (tmp_path / "empty" / "Makefile").is_file()
