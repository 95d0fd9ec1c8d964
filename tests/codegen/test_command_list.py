"""``mtcodegen list``, ``show`` and ``completion``."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess

import pytest

from mtcodegen.cli.main import COMMANDS, main
from tests.codegen.support import ZOO

OPS = """\
namespace: t
library: libk.so
ops:
- func: f(Tensor x, *, float scale=1.0) -> Tensor
  doc: |
    Scaled.

    In two paragraphs.
  tags: [pointwise]
  check: x.dim() > 0
  fake: {like: x}
  kernels:
  - {device: npu, symbol: f, source: f.cpp, block_dim: 8, args: [x, out, f32(scale)], dtypes: [float32]}
  - {device: [cpu, cuda], compute: x * scale, when: scale != 0}
  - {device: cpu, mindspore: Mul}
  backward:
    x: grad * scale
- func: f.two(Tensor x) -> Tensor
  kernels:
  - {python: 'm:f'}
- func: g(Tensor x) -> Tensor
  fake: {like: x}
  kernels:
  - {device: cpu, symbol: g, args: [x, out]}
  backward: not_differentiable
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ops.yaml").write_text(OPS)
    (tmp_path / "f.cpp").touch()
    return tmp_path


def test_list(project, capsys):
    assert main(["list", "ops.yaml"]) == 0
    assert capsys.readouterr().out == (
        "t::f      npu cpu cuda  gradient            ops.yaml:4\n"
        "t::f.two  any           through its parts   ops.yaml:18\n"
        "t::g      cpu           not differentiable  ops.yaml:21\n"
    )


def test_list_as_json(project, capsys):
    assert main(["list", "--format", "json", "ops.yaml"]) == 0
    first = json.loads(capsys.readouterr().out)[0]
    assert first == {
        "name": "t::f",
        "schema": "t::f(Tensor x, *, float scale=1.0) -> Tensor",
        "devices": ["npu", "cpu", "cuda"],
        "gradient": "gradient",
        "file": "ops.yaml",
        "line": 4,
    }


def test_how_each_runs_on_every_device(project, capsys):
    assert main(["list", "--status", "ops.yaml"]) == 0
    assert capsys.readouterr().out == (
        "          cpu        npu        cuda       mps        meta\n"
        "t::f      native     native     native     absent     native\n"
        "t::f.two  composite  composite  composite  composite  composite\n"
        "t::g      native     fallback   absent     absent     native\n"
    )
    assert main(["list", "--status", "--format", "json", "ops.yaml"]) == 0
    found = {entry["name"]: entry["status"]["npu"] for entry in json.loads(capsys.readouterr().out)}
    assert found == {"t::f": "native", "t::f.two": "composite", "t::g": "fallback"}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("", ["native", "fallback", "absent", "absent", "native"]),
        ("  fallback: cpu\n", ["native", "fallback", "fallback", "fallback", "native"]),
        ("  fallback: error\n", ["native", "absent", "absent", "absent", "native"]),
    ],
)
def test_what_runs_without_a_kernel(project, capsys, policy, expected):
    (project / "ops.yaml").write_text(OPS[: OPS.index("- func: f(")] + OPS[OPS.index("- func: g(") :] + policy)
    assert main(["list", "--status", "--format", "json", "ops.yaml"]) == 0
    assert list(json.loads(capsys.readouterr().out)[0]["status"].values()) == expected


def test_built_in_operators(project, capsys):
    assert main(["list", "--built-in", "ops.yaml"]) == 0
    shown = capsys.readouterr().out
    assert "t::g " in shown
    assert "aten::add.Tensor " in shown


def test_show(project, capsys):
    assert main(["show", "t::f", "ops.yaml"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(
        "t::f(Tensor x, *, float scale=1.0) -> Tensor\n"
        "  declared at ops.yaml:4\n"
        "\n"
        "  Scaled.\n"
        "\n"
        "  In two paragraphs.\n"
        "\n"
        "  checks\n"
        "    x.dim() > 0\n"
        "\n"
        "  fake\n"
        "    {like: x}\n"
        "\n"
        "  kernels\n"
        "    npu: f of f.cpp (float32)\n"
        "    cpu cuda: x * scale (when scale != 0)\n"
        "    cpu: MindSpore Mul\n"
        "\n"
        "  gradient\n"
        "    x: grad * scale\n"
        "\n"
        "  tags\n"
        "    pointwise\n"
        "\n"
        "t::f.two(Tensor x) -> Tensor\n"
    )


@pytest.mark.parametrize(("name", "found"), [("f", 2), ("f.two", 1), ("t::f", 2), ("t::f.two", 1), ("g", 1)])
def test_show_by_any_name(project, capsys, name, found):
    assert main(["show", name, "ops.yaml", "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == found


def test_show_all_forms_of_an_entry(capsys):
    assert main(["list", "--format", "json", str(ZOO)]) == 0
    for item in json.loads(capsys.readouterr().out):
        assert main(["show", item["name"], str(ZOO)]) == 0
        assert item["schema"] in capsys.readouterr().out


def test_show_what_there_is_not(project, capsys):
    assert main(["show", "t::ff", "ops.yaml"]) == 2
    assert "there is no operator t::ff in these files; did you mean `t::f`?" in capsys.readouterr().err


def test_faults_are_reported_beside_what_can_be_read(project, capsys):
    (project / "ops.yaml").write_text(OPS.replace("grad * scale", "grad * sclae"))
    assert main(["list", "ops.yaml"]) == 1
    output = capsys.readouterr()
    assert "t::g" in output.out
    assert "MT204" in output.err


# ---------------------------------------------------------------- completion

COMPLETE = """\
source "$1"
shift
COMP_WORDS=(mtcodegen "$@")
COMP_CWORD=$#
_mtcodegen
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def bash_script(tmp_path_factory):
    path = tmp_path_factory.mktemp("completion") / "mtcodegen.bash"
    done = subprocess.run(["bash", "--version"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("no bash")
    return path


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["br"], ["breaking"]),
        (["op"], ["ops.yaml"]),
        (["my"], ["my ops.yaml"]),
        (["lint", "--f"], ["--fix", "--format"]),
        (["check", "--format", ""], ["text", "json", "github", "sarif"]),
        (["check", "--format", "s"], ["sarif"]),
        (["list", "--format", ""], ["text", "json"]),
        (["check", "--format", "=", "s"], ["sarif"]),  # as bash splits --format=s
        (["check", "--format", "="], ["text", "json", "github", "sarif"]),
        (["fmt", "o"], [""]),  # bash itself completes files
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["ops.yaml", "--tar"], ["--target"]),
        (["ops.yaml", "--target", "mind"], ["mindtorch", "mindspore"]),
        (["explain", "MT80"], [f"MT80{i}" for i in range(1, 10)]),
        (["completion", "z"], ["zsh"]),
    ],
)
def test_bash_completes(project, capsys, bash_script, words, wanted):
    assert main(["completion", "bash"]) == 0
    bash_script.write_text(capsys.readouterr().out)
    (project / "my ops.yaml").write_text("")
    done = subprocess.run(
        ["bash", "-c", COMPLETE, "bash", str(bash_script), *words], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == wanted
    assert done.stderr == ""


# What the terminal shows of these as they are typed is not what they print.
PRINT = "mtcodegen() { printf '<%s>' \"$@\" end; }; PS1='rea''dy: '; "
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], f"{PRINT}source ./_mtcodegen"),
    "zsh": (["zsh", "-f", "-i"], f"{PRINT}fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D"),
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("typed", "wanted"),
    [("che\t", "<check>"), ("check my\t", "<check><my ops.yaml>"), ("check --format=s\t", "<check><--format=sarif>")],
)
def test_the_first_tab_in_a_shell(project, capsys, shell, typed, wanted):
    command, prepare = SHELLS[shell]
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    assert main(["completion", shell]) == 0
    (project / "_mtcodegen").write_text(capsys.readouterr().out)
    (project / "my ops.yaml").write_text("")
    parent, child = pty.openpty()
    env = {**os.environ, "TERM": "dumb", "HOME": str(project)}
    process = subprocess.Popen(command, stdin=child, stdout=child, stderr=child, env=env, start_new_session=True)
    os.close(child)
    try:
        os.write(parent, f"{prepare}\n".encode())
        assert "ready: " in _shown(parent, "ready: ")
        os.write(parent, f"mtcodegen {typed}\n".encode())
        assert f"{wanted}<end>" in _shown(parent, "<end>")
    finally:
        process.kill()
        process.wait()
        os.close(parent)


def _shown(terminal, last):
    """What a terminal shows, up to ``last`` or until nothing has come for a while."""
    shown = ""
    while last not in shown and select.select([terminal], [], [], 20)[0]:
        shown += os.read(terminal, 4096).decode()
    return shown


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_know_every_command(capsys, shell):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for command in COMMANDS:
        assert command in script
    for line in script.splitlines() if shell == "fish" else []:
        assert line.replace("\\'", "").count("'") % 2 == 0, line
    assert "sarif" in script


def test_a_shell_that_there_is_not(capsys):
    assert main(["completion", "tcsh"]) == 2
    assert "invalid choice" in capsys.readouterr().err
