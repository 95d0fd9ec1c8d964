"""SARIF, colour and progress: what programs read, and what people see on a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import jsonschema
import pytest

from mtcodegen.cli.main import main
from tests.codegen.test_golden import DOUBLE

# What SARIF 2.1.0 (OASIS, section 3) says of the objects that are used here; no other property is allowed.
REGION = {
    "type": "object",
    "properties": {name: {"type": "integer", "minimum": 1} for name in ("startLine", "startColumn", "endColumn")},
    "required": ["startLine"],
    "additionalProperties": False,
}
TEXT = {"type": "object", "properties": {"text": {"type": "string", "minLength": 1}}, "required": ["text"]}


def _object(required, **properties):
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


PLACE = _object(
    ["artifactLocation"],
    artifactLocation=_object([], uri={"type": "string", "pattern": r"^[^\s\\]+$"}),
    region=REGION,
)
SARIF = _object(
    ["$schema", "version", "runs"],
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"const": "2.1.0"},
    runs={
        "type": "array",
        "items": _object(
            ["tool", "results"],
            tool=_object(
                ["driver"],
                driver=_object(
                    ["name"],
                    name={"type": "string"},
                    rules={
                        "type": "array",
                        "uniqueItems": True,
                        "items": _object(["id"], id={"type": "string"}, shortDescription=TEXT, fullDescription=TEXT),
                    },
                ),
            ),
            columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            results={
                "type": "array",
                "items": _object(
                    ["message"],
                    ruleId={"type": "string"},
                    ruleIndex={"type": "integer", "minimum": 0},
                    level={"enum": ["none", "note", "warning", "error"]},
                    message=TEXT,
                    locations={"type": "array", "items": _object([], physicalLocation=PLACE)},
                    relatedLocations={
                        "type": "array",
                        "uniqueItems": True,
                        "items": _object(
                            ["id", "message"],
                            id={"type": "integer", "minimum": 0},
                            physicalLocation=PLACE,
                            message=TEXT,
                        ),
                    },
                ),
            },
        ),
    },
)


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ops.yaml").write_text(DOUBLE)
    return tmp_path


def sarif(capsys, *words):
    capsys.readouterr()
    code = main([*words, "--format", "sarif"])
    log = json.loads(capsys.readouterr().out)
    jsonschema.validate(log, SARIF)
    return code, log["runs"][0]


def test_sarif_of_nothing(project, capsys):
    assert main(["ops.yaml"]) == 0
    code, run = sarif(capsys, "check", "ops.yaml")
    assert (code, run["results"], run["tool"]["driver"]["rules"]) == (0, [], [])


def test_sarif_says_where(project, capsys):
    (project / "a b.yaml").write_text(DOUBLE.replace("grad * scale", "grad * sclae"))
    code, run = sarif(capsys, "generate", "a b.yaml")
    assert code == 1
    found = {result["ruleId"]: result for result in run["results"]}
    assert set(found) == {"MT204", "MT501"}
    place = found["MT204"]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b.yaml"
    assert place["region"] == {"startLine": 9, "startColumn": 24, "endColumn": 29}
    assert "region" not in found["MT501"]["locations"][0]["physicalLocation"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_sarif_of_a_name_that_is_no_text(project, capsys):
    name = os.fsdecode(b"\xff.yaml")
    (project / name).write_text(DOUBLE.replace("grad * scale", "grad * sclae"))
    run = sarif(capsys, "generate", name)[1]
    places = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]]
    assert set(places) == {"%FF.yaml"}


def test_sarif_of_warnings_and_stale_files(project, capsys):
    code, run = sarif(capsys, "lint", "ops.yaml")
    assert (code, {result["level"] for result in run["results"]}) == (1, {"warning"})
    code, run = sarif(capsys, "check", "ops.yaml")
    assert (code, {result["ruleId"] for result in run["results"]}) == (1, {"MT510"})


def test_sarif_counts_code_points(project, capsys):
    text = DOUBLE.replace("grad * scale", "grad * (1 if '\U0001f642' == sclae else 2)")
    (project / "ops.yaml").write_text(text)
    code, run = sarif(capsys, "generate", "ops.yaml")
    assert (code, run["columnKind"]) == (1, "unicodeCodePoints")
    (line,) = [line for line in text.splitlines() if "sclae" in line]
    region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert region["startColumn"] == line.index("sclae") + 1


# ---------------------------------------------------------------- both places of a duplicate


@pytest.fixture
def twice(project):
    """An operator that two files declare."""
    (project / "more.yaml").write_text(f"# the same\n{DOUBLE}")
    return "generate", "ops.yaml", "more.yaml"


def _spot(text):
    number, line = next((i, line) for i, line in enumerate(text.splitlines(), start=1) if "func:" in line)
    name = line.split("func: ")[1].partition("(")[0]
    return number, line.index("func:") + 7, len(name)


def test_sarif_has_both(twice, capsys):
    code, run = sarif(capsys, *twice)
    (result,) = run["results"]
    (other,) = result["relatedLocations"]
    line, column, length = _spot(DOUBLE)
    assert (code, result["ruleId"]) == (1, "MT120")
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "more.yaml"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == line + 1
    assert other["physicalLocation"] == {
        "artifactLocation": {"uri": "ops.yaml"},
        "region": {"startLine": line, "startColumn": column, "endColumn": column + length},
    }
    assert other["message"] == {"text": "first declared here"}


def test_json_has_both(twice, capsys):
    assert main([*twice, "--format", "json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    line, column, length = _spot(DOUBLE)
    assert (found["file"], found["line"]) == ("more.yaml", line + 1)
    assert found["related"] == [
        {"file": "ops.yaml", "line": line, "column": column, "length": length, "message": "first declared here"}
    ]


def test_github_has_both(twice, capsys):
    assert main([*twice, "--format", "github"]) == 1
    error, notice = capsys.readouterr().out.splitlines()
    line, column, length = _spot(DOUBLE)
    assert error.startswith(f"::error file=more.yaml,line={line + 1},col={column},")
    assert f"(first declared at ops.yaml:{line}:{column}; " in error
    assert notice == (
        f"::notice file=ops.yaml,line={line},col={column},endColumn={column + length},title=MT120"
        f"::first declared here (see more.yaml:{line + 1}:{column})"
    )


# ---------------------------------------------------------------- terminals

ESCAPE = re.compile(r"\x1b\[[0-9;]*[mK]")


def on_terminal(words, env, cwd, columns=0):
    """What is shown by the command when its standard error is a terminal."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "mtcodegen", *words], stderr=child, stdout=subprocess.DEVNULL, env=env, cwd=cwd
    )
    os.close(child)
    shown = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:  # the other end was closed
            break
        if not part:
            break
        shown += part
    os.close(parent)
    process.wait()
    return shown.decode()


@pytest.fixture
def terminal(child_env):
    env = {**child_env, "TERM": "xterm"}
    env.pop("NO_COLOR", None)
    return env


def test_colour_on_a_terminal_only(project, terminal):
    (project / "ops.yaml").write_text(DOUBLE.replace("grad * scale", "grad * sclae"))
    assert "\x1b[1;31m" in on_terminal(["ops.yaml"], terminal, project)
    for change in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        shown = on_terminal(["ops.yaml"], {**terminal, **change}, project)
        assert "MT204" in shown
        assert not ESCAPE.search(shown)
    command = [sys.executable, "-m", "mtcodegen", "ops.yaml"]
    result = subprocess.run(command, capture_output=True, text=True, env=terminal, cwd=project, check=False)
    assert "MT204" in result.stderr
    assert not ESCAPE.search(result.stderr)


def test_progress_of_long_work_on_a_terminal_only(project, terminal):
    (project / "decl").mkdir()
    for i in range(4):
        (project / "decl" / f"f{i}.yaml").write_text(DOUBLE.replace("namespace: my", f"namespace: n{i}"))
    shown = on_terminal(["decl", "-o", "out"], terminal, project)
    assert "\r\x1b[Kreading decl/f3.yaml" in shown
    assert shown.endswith("\r\x1b[K")  # wiped
    narrow = on_terminal(["decl", "-o", "another"], terminal, project, 12)
    assert {len(line) for line in narrow.split("\r\x1b[K")} == {0, 11}  # a longer one would leave a line behind
    assert on_terminal(["ops.yaml"], terminal, project) == ""  # one file is no long work
    command = [sys.executable, "-m", "mtcodegen", "decl", "-o", "out2"]
    result = subprocess.run(command, capture_output=True, text=True, env=terminal, cwd=project, check=True)
    assert result.stderr == ""
