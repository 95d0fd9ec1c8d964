"""The README's tutorial, run as a reader would: files written, commands and Python run, outputs compared."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"\A(?:#|//) file: (\S+)\n")
# A failed `mtcodegen` is shown, too: its diagnostics go to the terminal with its output.
TERMINAL = "exec 2>&1\n"


@dataclass(frozen=True)
class Block:
    """A fenced block of the tutorial."""

    language: str
    text: str


def section(text: str, title: str) -> list[Block]:
    """The fenced blocks below a heading of the second level."""
    body = re.split(r"^## ", text, flags=re.MULTILINE)
    (found,) = [part for part in body if part.startswith(f"{title}\n")]
    return [Block(*match.groups()) for match in BLOCK.finditer(found)]


def perform(block: Block, folder: Path, env: dict[str, str]) -> str:
    """Writes a file, or runs a block and returns what it prints."""
    if named := FILE.match(block.text):
        (folder / named[1]).write_text(block.text)
        return ""
    command = (
        [sys.executable, "-c", block.text] if block.language == "python" else ["bash", "-c", TERMINAL + block.text]
    )
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert block.language != "python" or done.returncode == 0, done.stderr
    return done.stdout


def test_the_tutorial_does_what_it_says(repo_root: Path, tmp_path: Path, child_env: dict[str, str]) -> None:
    command = tmp_path / "bin/mtcodegen"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m mtcodegen "$@"\n')
    command.chmod(0o755)
    env = {**child_env, "PATH": f"{command.parent}:{child_env['PATH']}"}
    blocks = section((repo_root / "README.md").read_text(), "Five minutes")
    assert {block.language for block in blocks} == {"yaml", "c", "sh", "python", "text"}
    folder = tmp_path / "tutorial"
    folder.mkdir()
    printed = ""
    for block in blocks:
        if block.language == "text":
            assert printed.strip() == block.text.strip()
        else:
            printed = perform(block, folder, env)


def test_the_make_targets_it_names_exist(repo_root: Path) -> None:
    named = set(re.findall(r"\bmake ([a-z]+)\b", (repo_root / "README.md").read_text()))
    defined = set(re.findall(r"^([a-z]+):", (repo_root / "Makefile").read_text(), re.MULTILINE))
    assert named
    assert named <= defined
