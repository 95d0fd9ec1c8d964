"""The headers of kernels, compiled once; and sources of a library, compiled side by side."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from mindtorch_v2.npu import BuildError, acl, build

pytestmark = pytest.mark.skipif(not acl.library().simulated, reason="CANN compiles kernels for hardware")
KERNEL = '#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void NAME(GM_ADDR x) { BODY }\n'


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What the compiler is called with, in an empty cache."""
    monkeypatch.setenv("MINDTORCH_CACHE_DIR", str(tmp_path / "cache"))
    called: list[list[str]] = []
    run = build._run

    def record(name: str, command: Sequence[str]) -> str:
        called.append(list(command))
        return run(name, command)

    monkeypatch.setattr(build, "_run", record)
    return called


def write(folder: Path, name: str, body: str = "x[0] = 1;") -> Path:
    path = folder / f"{name}.cpp"
    path.write_text(KERNEL.replace("NAME", name).replace("BODY", body))
    return path


def dependencies(cache: Path) -> set[str]:
    """All files that the libraries of a cache were built from."""
    return {path for manifest in cache.glob("*.json") for path in json.loads(manifest.read_text())}


def precompiled(command: Sequence[str], source: Path) -> list[str]:
    """The precompiled headers that the compiler takes for a source, among those that it finds."""
    options = [word for word in command[: command.index("-x")] if not word.startswith("-iquote")]
    stub = source.with_suffix(".stub.cpp")
    stub.write_text("#include <mtsim_stub.h>\n")
    done = subprocess.run([*options, "-H", "-fsyntax-only", str(stub)], capture_output=True, text=True, check=True)
    return [line for line in done.stderr.splitlines() if line.startswith("! ")]


def test_headers_are_compiled_for_the_second_library(tmp_path: Path, commands: list[list[str]]) -> None:
    cache = tmp_path / "cache" / "kernels"
    taken = []
    for index, name in enumerate(("first", "second", "third")):
        commands.clear()
        source = write(tmp_path, name)
        library = build.build_ascendc(name, [source])
        assert library.is_file()
        compiled = [command for command in commands if "c++-header" in command]
        assert len(compiled) == (1 if index == 1 else 0)
        [made] = [command for command in commands if "-c" in command]
        taken.append(len(precompiled(made, source)))
        listed = dependencies(cache)
        assert str(source) in listed
        assert not [path for path in listed if path.endswith(".gch")]  # whose headers the recipe has
    assert taken == [0, 1, 1]
    assert len([*cache.glob("*/mtsim_stub.h.gch")]) == 1
    commands.clear()
    build.build_ascendc("third", [write(tmp_path, "third")])
    assert commands == []  # the library is there


def test_compiled_headers_serve_a_project_with_a_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDTORCH_CACHE_DIR", str(tmp_path / "cache"))
    host = tmp_path / "tiling.h"
    host.write_text(
        "BEGIN_TILING_DATA_DEF(Sizes)\nTILING_DATA_FIELD_DEF(uint32_t, n);\nEND_TILING_DATA_DEF;\n"
        "REGISTER_TILING_DATA_CLASS(Op, Sizes)\n"
    )
    run, taken = build._run, []

    def told(name: str, command: Sequence[str]) -> str:
        if "-c" in command:
            done = subprocess.run([*command, "-H", "-fsyntax-only"], capture_output=True, text=True, check=True)
            taken.append([line for line in done.stderr.splitlines() if line.startswith("! ")])
        return run(name, command)

    monkeypatch.setattr(build, "_run", told)
    for name in ("first", "second"):
        source = write(tmp_path, name, "GET_TILING_DATA(sizes, x); if (TILING_KEY_IS(1)) x[0] = sizes.n;")
        defines = {"DTYPE_X": "half", "TILING_KEY_VAR": 1}
        assert build.build_ascendc(name, [source, host], defines=defines).is_file()
    assert [len(one) for one in taken] == [0, 1]


def test_definitions_that_concern_the_headers_are_followed(tmp_path: Path, commands: list[list[str]]) -> None:
    body = "static_assert(AscendC::TOTAL_UB_SIZE == WANTED); x[0] = 1;"
    sizes = {"2201": "192 * 1024 - 256", "2002": "256 * 1024"}
    for round_ in range(2):
        for chip, size in sizes.items():
            source = write(tmp_path, f"k{chip}_{round_}", body.replace("WANTED", size))
            flags = [f"-D__NPU_ARCH__={chip}"]
            assert build.build_ascendc(source.stem, [source], flags=flags).is_file()
    assert len([command for command in commands if "c++-header" in command]) == 1


def test_a_library_is_built_where_headers_cannot_be_compiled(
    tmp_path: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = build._run

    def refuse(name: str, command: Sequence[str]) -> str:
        if "c++-header" in command:
            raise BuildError("No space left on device")
        return run(name, command)

    monkeypatch.setattr(build, "_run", refuse)
    for name in ("first", "second"):
        assert build.build_ascendc(name, [write(tmp_path, name)]).is_file()


def test_sources_are_compiled_side_by_side(tmp_path: Path, commands: list[list[str]]) -> None:
    sources = [write(tmp_path, f"k{index}") for index in range(4)]
    library = build.build_ascendc("several", sources)
    [link] = [command for command in commands if "-shared" in command]
    assert [Path(word).name for word in link if word.endswith(".o")] == [f"stub{index}.o" for index in range(4)]
    assert library.is_file()
    assert {str(source) for source in sources} <= dependencies(tmp_path / "cache" / "kernels")
    broken = [write(tmp_path, f"b{index}", "return 1;" if index in (1, 2) else "x[0] = 1;") for index in range(4)]
    for _ in range(3):
        with pytest.raises(BuildError, match=r"b1\.cpp:2:"):
            build.build_ascendc("broken", broken)


def headers_of(cache: Path) -> set[str]:
    """The folders of compiled headers."""
    return {path.parent.name for path in cache.glob("kernels/*/mtsim_stub.h.gch")}


@pytest.fixture
def small_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers compiled to little: what is counted is how many there are."""
    run = build._run

    def little(name: str, command: Sequence[str]) -> str:
        if "c++-header" in command:
            Path(command[command.index("-o") + 1]).write_text(" ".join(command))
            return ""
        return run(name, command)

    monkeypatch.setattr(build, "_run", little)


def precompile(optimisation: int) -> Path | None:
    """Asks for headers compiled with flags of their own."""
    return build._precompiled(["g++", *build._ASCENDC_FLAGS, f"-falign-loops={optimisation}"], "of today")


@pytest.mark.usefixtures("commands", "small_headers")
def test_the_headers_that_were_used_last_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDTORCH_PRECOMPILED_HEADERS", "2")
    cache = tmp_path / "cache"
    for flag in (1, 2, 3):
        assert precompile(flag) is None
    made = {flag: path for flag in (1, 2, 1) if (path := precompile(flag))}
    assert headers_of(cache) == {path.parent.name for path in made.values()}
    third = precompile(3)
    assert third is not None
    assert headers_of(cache) == {made[1].parent.name, third.parent.name}  # 2 was not used for longest
    again = precompile(2)
    assert again == made[2]
    assert headers_of(cache) == {third.parent.name, again.parent.name}
    assert not list(cache.glob("kernels/build-*"))


@pytest.mark.usefixtures("commands", "small_headers")
def test_no_headers_stay_where_none_are_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    precompile(1)
    assert precompile(1) is not None
    monkeypatch.setenv("MINDTORCH_PRECOMPILED_HEADERS", "0")
    assert precompile(1) is None
    assert headers_of(tmp_path / "cache") == set()
    monkeypatch.setenv("MINDTORCH_PRECOMPILED_HEADERS", "many")
    with pytest.raises(BuildError, match="MINDTORCH_PRECOMPILED_HEADERS: expected a number"):
        precompile(1)


def test_headers_that_go_while_they_are_wanted_are_read(
    tmp_path: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    build.build_ascendc("first", [write(tmp_path, "first")])
    run = build._run

    def evict(name: str, command: Sequence[str]) -> str:
        if "-c" in command:
            build.build_cache.keep_used("mtsim_stub.h.gch", 0, None)
        return run(name, command)

    monkeypatch.setattr(build, "_run", evict)
    assert build.build_ascendc("second", [write(tmp_path, "second")]).is_file()
    assert headers_of(tmp_path / "cache") == set()


_MANY = """
import sys
from pathlib import Path
from mindtorch_v2.npu import build
def run(name, command):
    if "c++-header" in command:
        Path(command[command.index("-o") + 1]).write_text(" ".join(command))
    return ""
build._run = run
for round in range(20):
    for flag in (1, 2, 3, int(sys.argv[1])):
        build._precompiled(["g++", *build._ASCENDC_FLAGS, f"-falign-loops={flag}"], "of today")
"""


def test_processes_may_evict_at_the_same_time(tmp_path: Path) -> None:
    environment = {**os.environ, "MINDTORCH_CACHE_DIR": str(tmp_path), "MINDTORCH_PRECOMPILED_HEADERS": "2"}
    running = [
        subprocess.Popen([sys.executable, "-c", _MANY, str(flag)], env=environment, stderr=subprocess.PIPE, text=True)
        for flag in (4, 5, 6)
    ]
    for process in running:
        said = process.communicate(timeout=120)[1]
        assert process.returncode == 0, said
    assert len(headers_of(tmp_path)) == 2
    assert not list(tmp_path.glob("kernels/build-*"))
