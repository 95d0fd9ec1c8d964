"""``mtcodegen watch``: a real process, real changes, real signals."""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
import threading

import pytest

from mtcodegen.cli.main import main
from tests.codegen.test_golden import DOUBLE


class Watcher:
    """A running ``mtcodegen watch``, and the lines it says; ``on_interrupt`` is what it finds Ctrl-C set to.

    A child inherits which signals are ignored, and Ctrl-C is in a shell's background, where tests may run, too.
    """

    def __init__(self, folder, env, *words, on_interrupt=signal.SIG_DFL):
        command = [sys.executable, "-m", "mtcodegen", "watch", "--interval", "0.05", *words]
        inherited = signal.signal(signal.SIGINT, on_interrupt)
        try:
            self.process = subprocess.Popen(
                command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
        finally:
            signal.signal(signal.SIGINT, inherited)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def until(self, wanted):
        """The lines up to one that has ``wanted`` in it; fails after a minute without one."""
        said = []
        while not said or wanted not in said[-1]:
            said.append(self.lines.get(timeout=60))
        return said

    def stop(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.process.wait(60)


@pytest.fixture
def watch(tmp_path, child_env):
    (tmp_path / "ops.yaml").write_text(DOUBLE)
    started = []

    def start(*words, **options):
        started.append(Watcher(tmp_path, child_env, *words, **options))
        return started[-1]

    yield start
    for watcher in started:
        if watcher.process.poll() is None:
            watcher.process.kill()
            watcher.process.wait()
        watcher.process.stdout.close()


def test_generates_after_a_change_and_stops_cleanly(watch, tmp_path):
    watcher = watch("ops.yaml")
    said = watcher.until("watching for changes")
    assert "wrote generated/ops.py" in said
    (tmp_path / "ops.yaml").write_text(DOUBLE.replace("scale=1.0", "scale=1.5"))
    assert "wrote generated/ops.py" in watcher.until("watching for changes")
    assert "scale=1.5" in (tmp_path / "generated" / "ops.py").read_text()
    (tmp_path / "ops.yaml").write_text(DOUBLE.replace("grad * scale", "grad * sclae"))
    assert any("MT204" in line for line in watcher.until("watching for changes"))
    (tmp_path / "ops.yaml").unlink()  # as an editor does that writes a new file
    assert any("ops.yaml: no such file" in line for line in watcher.until("watching for changes"))
    (tmp_path / "ops.yaml").write_text(DOUBLE)
    assert "wrote generated/ops.py" in watcher.until("watching for changes")
    assert watcher.stop() == 0
    assert not [path for path in (tmp_path / "generated").iterdir() if path.suffix == ".tmp"]


def test_a_new_file_of_a_folder(watch, tmp_path):
    (tmp_path / "decl").mkdir()
    (tmp_path / "ops.yaml").rename(tmp_path / "decl" / "a.yaml")
    watcher = watch("decl", "-o", "out")
    watcher.until("watching for changes")
    (tmp_path / "decl" / "b.yaml").write_text(DOUBLE.replace("namespace: my", "namespace: other"))
    assert "wrote out/b.py" in watcher.until("watching for changes")
    assert watcher.stop() == 0


def test_the_project_of_a_file_elsewhere(watch, tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "ops.yaml").rename(tmp_path / "project" / "ops.yaml")
    watcher = watch("project/ops.yaml")
    watcher.until("watching for changes")
    entry = '[[tool.mtcodegen.generate]]\ninputs = ["ops.yaml"]\noutput = "out"\n'
    (tmp_path / "project" / "pyproject.toml").write_text(entry)
    assert "wrote project/out/ops.py" in watcher.until("watching for changes")
    assert watcher.stop() == 0


def test_sigterm_ends_it_as_ctrl_c_does(watch):
    watcher = watch("ops.yaml")
    watcher.until("watching for changes")
    watcher.process.send_signal(signal.SIGTERM)
    assert watcher.until("stopped")[-1] == "stopped"
    assert watcher.process.wait(60) == 0


def test_sigterm_ends_it_where_ctrl_c_is_ignored(watch, tmp_path):
    watcher = watch("ops.yaml", on_interrupt=signal.SIG_IGN)
    watcher.until("watching for changes")
    watcher.process.send_signal(signal.SIGINT)
    (tmp_path / "ops.yaml").write_text(DOUBLE.replace("scale=1.0", "scale=1.5"))
    assert "wrote generated/ops.py" in watcher.until("watching for changes")
    assert watcher.stop(signal.SIGTERM) == 0


def test_wrong_usage(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["watch", "nowhere.yaml"]) == 2
    assert main(["watch", "--interval", "0", "nowhere.yaml"]) == 2
    assert "argument --interval: 0 is not a number of seconds above 0" in capsys.readouterr().err
