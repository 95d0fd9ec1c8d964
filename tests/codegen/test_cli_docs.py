"""What the documentation says of the command line is what the command line does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from mtcodegen.cli.main import COMMANDS, command_parser, main
from mtcodegen.cli.reference import markdown
from mtcodegen.findings.codes import Code

ROOT = Path(__file__).parents[2]
CI = (ROOT / "docs" / "ci.md").read_text()
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())


def parse(line: str) -> None:
    """Parse a command line as documentation shows it; SystemExit where it is wrong."""
    words = shlex.split(re.split(r" [|>&]+ | < ", line)[0], comments=True)
    assert words[0] == "mtcodegen"
    name = words[1] if len(words) > 1 and words[1] in COMMANDS else "generate"
    command_parser(name).parse_args([word for word in words[1:] if word != name])


def test_cli_md_is_up_to_date():
    assert (ROOT / "docs" / "cli.md").read_text() == markdown()


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_that_parse(command, capsys):
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    examples = re.findall(
        r"^  (?:eval \"\$\()?(mtcodegen.*?)(?:\)\")?   ", shown.partition("examples:")[2], re.MULTILINE
    )
    assert examples
    for line in examples:
        parse(line)


def test_the_examples_are_checked_at_all():
    with pytest.raises(SystemExit):
        parse("mtcodegen check --nonsense")


def test_ci_md():
    documents = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", CI, re.DOTALL)]
    assert any("jobs" in document for document in documents)
    lines = re.findall(r"(?:run: |^ *)(mtcodegen .*)$", CI, re.MULTILINE)
    assert len(lines) > 4
    for line in lines:
        parse(re.sub(r"\$\{\{.*?\}\}", "ref", line))
    for hook in HOOKS:
        assert hook["id"] in CI


@pytest.mark.parametrize("hook", HOOKS, ids=[hook["id"] for hook in HOOKS])
def test_a_hook_is_a_command(hook):
    assert {"id", "name", "entry", "language", "description"} <= set(hook)
    parse(f"{hook['entry']} ops.yaml" if hook.get("pass_filenames", True) else hook["entry"])


def test_codes_are_explained(capsys):
    assert main(["explain", "MT100", "mt805"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"MT100: {Code.MT100.title}\n")
    assert " ".join(shown.split()).endswith(f"{Code.MT805.text} `mtcodegen lint --fix` {Code.MT805.fix}.")


def test_a_command_that_is_misspelt(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["chekc"]) == 2
    assert capsys.readouterr().err == "mtcodegen: chekc: no such command or file; did you mean `check`?\n"
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("mtcodegen ")
