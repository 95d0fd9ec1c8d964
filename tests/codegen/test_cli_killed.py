"""Killed at any moment, the output folder holds whole files only, and the next run mends the rest."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time

import pytest

from tests.codegen.test_golden import DOUBLE

FILES = 6


def _write(folder, scale):
    """Declarations whose modules are long enough to be written in several pieces."""
    entry = DOUBLE[DOUBLE.index("- func") :].replace("scale=1.0", f"scale={scale}")
    for i in range(FILES):
        entries = "".join(entry.replace("double", f"double{k}", 1) for k in range(20))
        (folder / f"f{i}.yaml").write_text(DOUBLE[: DOUBLE.index("- func")].replace("my", f"n{i}", 1) + entries)


def _generate(folder, env, delay=None):
    """Run to the end, or kill after a delay; returns how long it took."""
    command = [sys.executable, "-m", "mtcodegen", "decl", "-o", "out"]
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode in (0, -signal.SIGKILL)
    return time.perf_counter() - start


def _contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def _modules(folder):
    """Without what a kill between two names of one file left: whole, too, and hidden."""
    return {name: text for name, text in _contents(folder).items() if not name.startswith(".")}


@pytest.mark.slow
def test_killed_at_random_moments(tmp_path, child_env):
    (tmp_path / "decl").mkdir()
    whole = []
    for scale in (1.5, 2.5):
        _write(tmp_path / "decl", scale)
        took = _generate(tmp_path, child_env)
        whole.append(_contents(tmp_path / "out"))
    assert len(whole[0]) == 2 * FILES + 1
    chance = random.Random(0)
    for i in range(25):
        _write(tmp_path / "decl", (1.5, 2.5)[i % 2])
        _generate(tmp_path, child_env, took * chance.uniform(0.3, 1.1))
        for name, text in _contents(tmp_path / "out").items():
            assert any(text in state.values() for state in whole), f"{name} is half a file, run {i}"
    _write(tmp_path / "decl", 1.5)
    _generate(tmp_path, child_env)
    assert _modules(tmp_path / "out") == whole[0]


PROGRAM = """
import os, signal, sys
from mtcodegen.cli.main import main

# A signal that the process sends itself at its n-th system call of a kind is a kill at exactly that moment.
left = int(sys.argv[1])

def hook(event, args):
    global left
    if event in ("open", "os.rename", "os.link", "os.remove", "os.chmod", "os.mkdir", "tempfile.mkstemp"):
        if any("out" in str(arg) for arg in args) or isinstance(args[0], int):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(hook)
sys.exit(main(["decl", "-o", "out"]))
"""


def test_killed_before_each_step_of_writing(tmp_path, child_env):
    (tmp_path / "decl").mkdir()
    (tmp_path / "decl" / "a.yaml").write_text(DOUBLE)
    command = [sys.executable, "-m", "mtcodegen", "decl", "-o", "out"]
    subprocess.run(command, cwd=tmp_path, env=child_env, check=True, stdout=subprocess.DEVNULL)
    old = _contents(tmp_path / "out")
    (tmp_path / "decl" / "a.yaml").write_text(DOUBLE.replace("scale=1.0", "scale=1.5"))
    subprocess.run(command, cwd=tmp_path, env=child_env, check=True, stdout=subprocess.DEVNULL)
    new = _contents(tmp_path / "out")
    assert old != new
    for step in range(1, 100):
        for name, text in old.items():
            (tmp_path / "out" / name).write_bytes(text)
        killed = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(step)],
            cwd=tmp_path,
            env=child_env,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        for name, text in _contents(tmp_path / "out").items():
            assert text in (*old.values(), *new.values()), f"{name} is half a file, step {step}"
        if killed.returncode == 0:
            break
    assert step > 8  # it was killed in between
    assert killed.returncode == 0
    assert _modules(tmp_path / "out") == new
