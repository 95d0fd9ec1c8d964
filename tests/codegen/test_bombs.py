"""Files made to hurt: each gets its message, in bounded memory and time; what a system refuses is said in a line."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

MEMORY = 512 << 20  # bytes of address space; a run on a small file needs some 60 MiB
SECONDS = 120  # a hang is a failure, slowness is not
DEEP = 100_000
HEAD = "namespace: n\nops:\n- func: f(Tensor x) -> Tensor\n"
REST = "  fake: {like: x}\n  kernels: [{device: cpu, python: 'm:f'}]\n  backward: not_differentiable\n"
GOOD = HEAD + REST


def run(folder: Path, *words: str, limit: Callable[[], None] = lambda: None) -> tuple[int, str]:
    """A fresh process in ``folder``, under the limits: its exit status, and what it says of faults."""

    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        limit()

    command = [sys.executable, "-m", "mtcodegen", *words]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": SECONDS, "check": False}
    done = subprocess.run(command, cwd=folder, preexec_fn=limits, **options)  # type: ignore[call-overload]
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done.returncode, done.stderr.decode("utf-8", "backslashreplace")


def check(text: str) -> str:
    """An operator with one more key."""
    return f"{GOOD}  check: '{text}'\n"


TOO_DEEP = "error[MT202]: the expression is nested more than 60 levels deep"
BOMBS = {
    "aliases": (
        "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
        "1:4: error[MT104]: anchors are not supported: `&a`",
    ),
    "a cycle": ("&a [*a, *a]", "1:1: error[MT104]: anchors are not supported: `&a`"),
    "lists": ("[" * DEEP, "1:33: error[MT105]: nested more than 32 levels deep"),
    "mappings": ("{a: " * DEEP, "1:129: error[MT105]: nested more than 32 levels deep"),
    "block lists": ("- " * DEEP, "1:65: error[MT105]: nested more than 32 levels deep"),
    "keys of keys": ("? " * DEEP, "1:65: error[MT105]: nested more than 32 levels deep"),
    "a schema's brackets": (f"- func: n::f({'(' * DEEP}", "1:14: error[MT150]: expected the type of an argument"),
    "a schema's lists": (
        f"- func: n::f(Tensor{'[]' * DEEP} x) -> Tensor",
        "1:14: error[MT150]: a type has at most 8 suffixes",
    ),
    "an argument's default": (f"- func: n::f(int n={'9' * DEEP}) -> Tensor", "1:20: error[MT150]: `999"),
    "a formula": (
        check("x + " * DEEP + "x"),
        "7:10: error[MT202]: the expression has 400001 characters, more than 10000",
    ),
    "a formula's brackets": (check("(" * 4900 + "x" + ")" * 4900), f"7:71: {TOO_DEEP}"),
    "a formula's signs": (check("-" * 9_000 + "x"), f"7:71: {TOO_DEEP}"),
    "a formula's members": (check("x" + ".mT" * 3_000), f"7:11: {TOO_DEEP}"),
    "a formula's number": (check("x.dim() == " + "9" * 9_000), "7:22: error[MT226]: a number with too many digits"),
    "a huge exponent": (check("x.dim() == 1e999999999"), "7:22: error[MT226]: `1e999999999` does not fit in 64 bits"),
    "NUL": (b"ops:\0", "1:5: error[MT101]: a character that YAML does not allow: '\\x00'"),
    "no UTF-8": (GOOD.encode() + b"# \xff", " error[MT101]: is not UTF-8: byte 0xff on line 7"),
    "UTF-16": (GOOD.encode("utf-16"), " error[MT101]: is not UTF-8: byte 0xff on line 1"),
    "a tab": ("ops:\n\t- func: f", "2:1: error[MT101]: not YAML: found character that cannot start any token"),
    "an object": (
        "!!python/object/apply:os.system ['touch ran']",
        "1:1: error[MT104]: tags are not supported: `tag:yaml.org,2002:python/object/apply:os.system`",
    ),
    "a merge key": (HEAD + "  <<: {doc: x}\n", "4:3: error[MT110]: an operator has no key `<<`"),
    "a key twice": (HEAD + "  doc: a\n  doc: b\n", "5:3: error[MT102]: the key `doc` is given twice"),
    "an object's attribute": ("- func: n::__class__(Tensor x) -> Tensor\n", "1:12: error[MT122]: `__class__` is taken"),
    "one as an overload": (
        "- func: n::f.__dict__(Tensor x) -> Tensor\n",
        "1:9: error[MT150]: `__dict__` is not a legal",
    ),
    "one as a namespace": ("- func: __init__::f(Tensor x) -> Tensor\n", "1:9: error[MT122]: `__init__` is taken"),
    "one of a module": ("- func: __file__::f(Tensor x) -> Tensor\n", "1:9: error[MT122]: `__file__` is taken"),
    "one of an operator's object": (
        "- func: n::f.overloads(Tensor x) -> Tensor\n",
        "1:14: error[MT122]: `overloads` is taken, and cannot name an overload",
    ),
    "the runtime's own namespace": (
        "namespace: prim\nops:\n- func: f(Tensor x) -> Tensor\n",
        "1:12: error[MT122]: `prim` is taken, and cannot name a namespace",
    ),
    "no namespace": (
        "namespace: _\nops:\n- func: f_(Tensor(a!) x) -> Tensor(a!)\n",
        "1:12: error[MT122]: `_` is taken",
    ),
    "an operator twice": (GOOD + GOOD.partition("ops:\n")[2], "7:9: error[MT120]: n::f is declared twice"),
    "items": ("- x\n" * 200_000, "1:3: error[MT112]: an operator must be a mapping, not a string"),
    "entries": ("- func: 1\n" * 100_000, "1:9: error[MT112]: `func` must be a string, not an integer"),
    "keys": ("".join(f"k{i}: 1\n" for i in range(100_000)), "1:1: error[MT111]: a file needs the key `ops`"),
    "a path": (
        f"namespace: ../../x\nops:\n- func: f(Tensor x) -> Tensor\n{REST}",
        "1:12: error[MT114]: `namespace` cannot be `../../x`",
    ),
    "text": (b"x" * (17 << 20), " error[MT101]: cannot be read: it has 17 MiB, more than 16"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_gets_its_message(tmp_path: Path, bomb: str) -> None:
    text, expected = BOMBS[bomb]
    (tmp_path / "ops.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    status, shown = run(tmp_path, "ops.yaml")
    assert status == 1
    assert f"ops.yaml:{expected}" in shown
    assert len(shown) < 200_000
    assert [path.name for path in tmp_path.iterdir()] == ["ops.yaml"]


LONG = {
    "a word": f"{GOOD}  doc: {'w' * 4_000_000}\n",
    "words": f"{GOOD}  doc: {'word ' * 200_000}\n",
    "lines": f"{GOOD}  doc: |\n" + "    line\n" * 200_000,
    "quotes": f'{GOOD}  doc: "' + '\\"' * 100_000 + '"\n',
    "a version": f"{GOOD}  since: {'9' * DEEP}\n",
    "numbers": f"{GOOD}  examples: [{{args: {{x: [{'1, ' * 20_000}1]}}}}]\n",
    "a byte order mark": "\ufeff" + GOOD,
    "line ends": GOOD.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("what", LONG)
def test_long_is_no_fault(tmp_path: Path, what: str) -> None:
    (tmp_path / "ops.yaml").write_bytes(LONG[what].encode())
    assert run(tmp_path, "ops.yaml") == (0, "")
    compile((tmp_path / "generated/ops.py").read_bytes(), "ops.py", "exec")
    compile((tmp_path / "generated/ops.pyi").read_bytes(), "ops.pyi", "exec")


@pytest.mark.parametrize("mebibytes", [512, 396, 248, 174, 134])
def test_more_than_memory_holds_is_said(tmp_path: Path, mebibytes: int) -> None:
    """Where the last byte is taken depends on how many there are: at some places Python itself went round for ever."""
    (tmp_path / "ops.yaml").write_text("- {func: f}\n" * 1_200_000)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))

    assert run(tmp_path, "ops.yaml", limit=limit) == (2, "mtcodegen: there is not enough memory for these files\n")


def test_a_canary_lives(tmp_path: Path) -> None:
    """Wherever a text may stand, it is never run."""
    attack = "__import__('os').system('touch ran')"
    for key in ("doc", "check", "since", "deprecated", "tags", "autogen", "fake"):
        (tmp_path / "ops.yaml").write_text(f'{GOOD}  {key}: "{attack}"\n')
        run(tmp_path, "ops.yaml")
        run(tmp_path, "lint", "ops.yaml")
    assert not (tmp_path / "ran").exists()


# ---------------------------------------------------------------- files that are none


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a good file in it."""
    (tmp_path / "ops.yaml").write_text(GOOD)
    return tmp_path


def test_inputs_that_are_no_files(folder: Path) -> None:
    os.mkfifo(folder / "pipe.yaml")
    (folder / "loop.yaml").symlink_to("loop.yaml")
    (folder / "dangling.yaml").symlink_to("nowhere")
    long = "x" * 300 + ".yaml"
    said = {
        "pipe.yaml": (1, "pipe.yaml: error[MT101]: cannot be read: it is not a regular file\n1 error\n"),
        "/dev/zero": (1, "/dev/zero: error[MT101]: cannot be read: it is not a regular file\n1 error\n"),
        "dangling.yaml": (2, "mtcodegen: dangling.yaml: no such file\n"),
        "loop.yaml": (2, "mtcodegen: loop.yaml: Too many levels of symbolic links\n"),
        long: (2, f"mtcodegen: {long}: File name too long\n"),
    }
    for name, expected in said.items():
        for command in ("generate", "check", "lint", "fmt", "list"):
            status, shown = run(folder, command, name)
            assert (status, shown) == expected, (command, name)


def test_outputs_that_are_no_files(folder: Path) -> None:
    (folder / "file").touch()
    (folder / "loop").symlink_to("loop")
    (folder / "dir/ops.py").mkdir(parents=True)
    (folder / "piped").mkdir()
    os.mkfifo(folder / "piped/ops.py")
    one = "{0}/ops.{2}: error[MT503]: cannot be written: {1}\n   = choose another folder with -o\n"
    written = f"{one.replace('{2}', 'py')}{one.replace('{2}', 'pyi')}2 errors\n"
    said = {
        "file": (1, written.format("file", "file is not a folder")),
        "file/below": (1, written.format("file/below", "file/below is not a folder")),
        "dir": (1, "dir/ops.py: error[MT503]: cannot be read: Is a directory\n1 error\n"),
        "piped": (1, "piped/ops.py: error[MT503]: cannot be read: it is not a regular file\n1 error\n"),
        "loop": (2, "mtcodegen: loop: a loop of symbolic links\n"),
        "loop/below": (2, "mtcodegen: loop/below: a loop of symbolic links\n"),
    }
    for name, expected in said.items():
        assert run(folder, "ops.yaml", "-o", name) == expected
        assert run(folder, "check", "ops.yaml", "-o", name)[0] == expected[0]


def test_links_are_replaced_and_never_written_through(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "mine.py").write_text("mine\n")
    (folder / "out/ops.py").symlink_to("../mine.py")
    status, shown = run(folder, "ops.yaml", "-o", "out")
    assert status == 1
    assert "out/ops.py: error[MT504]: was not generated by mtcodegen, and is not overwritten" in shown
    assert (folder / "mine.py").read_text() == "mine\n"
    generated = "# Generated by mtcodegen from ops.yaml. Do not edit\n"
    (folder / "mine.py").write_text(generated)
    assert run(folder, "ops.yaml", "-o", "out") == (0, "")
    assert not (folder / "out/ops.py").is_symlink()
    assert (folder / "mine.py").read_text() == generated


def as_anybody() -> None:
    """Give up what lets root read and write whatever the modes say."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH; for others than root nothing changes
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def test_a_folder_that_may_not_be_written(folder: Path) -> None:
    (folder / "out").mkdir(0o555)
    said = "".join(
        f"out/{name}: error[MT503]: cannot be written: Permission denied\n" for name in ("ops.py", "ops.pyi")
    )
    assert run(folder, "ops.yaml", "-o", "out", limit=as_anybody) == (1, f"{said}2 errors\n")
    assert list((folder / "out").iterdir()) == []


def test_a_file_that_may_not_be_read(folder: Path) -> None:
    (folder / "ops.yaml").chmod(0)
    said = "ops.yaml: error[MT101]: cannot be read: Permission denied\n1 error\n"
    assert run(folder, "ops.yaml", limit=as_anybody) == (1, said)


def test_a_full_disk(folder: Path) -> None:
    """A file that may not grow past some bytes ends as one on a full disk does."""

    assert run(folder, "ops.yaml", "-o", "whole") == (0, "")
    smaller, larger = sorted((folder / "whole").iterdir(), key=lambda path: path.stat().st_size)
    most = larger.stat().st_size - 1

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    status, shown = run(folder, "ops.yaml", "-o", "out", limit=small)
    assert (status, shown) == (1, f"out/{larger.name}: error[MT503]: cannot be written: File too large\n1 error\n")
    assert [(path.name, path.read_text()) for path in (folder / "out").iterdir()] == [
        (smaller.name, smaller.read_text())
    ]
    assert run(folder, "ops.yaml", "-o", "out") == (0, "")
    assert run(folder, "check", "ops.yaml", "-o", "out") == (0, "")


def test_standard_output_on_a_full_disk_or_closed(folder: Path) -> None:
    def full() -> None:
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)

    assert run(folder, "ops.yaml", "-o", "out", limit=full) == (2, "mtcodegen: No space left on device\n")
    assert run(folder, "ops.yaml", "-o", "out2", limit=lambda: os.close(1)) == (0, "")
    assert sorted(path.name for path in (folder / "out2").iterdir()) == ["ops.py", "ops.pyi"]
