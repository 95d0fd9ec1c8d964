"""The build cache where it cannot be written: what is said, and that no broken entry stays behind."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import sys

import pytest

from mindtorch_v2.npu import BuildError, build, build_cache

# Builds with a limit on the size of files, as a disk that fills up, then without one. Output goes to a pipe.
LIMITED = """
import ctypes, resource, sys
from pathlib import Path
from mindtorch_v2.npu import BuildError, build, build_cache
source, limit, cache = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
try:
    build.build_native("full", [source])
    print("built")
except BuildError as error:
    print("told" if build_cache.NO_SPACE_HINT in str(error) else error)
print(sorted({path.suffix for path in (cache / "kernels").iterdir()}))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(ctypes.CDLL(str(build.build_native("full", [source]))).seven())
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MINDTORCH_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("limit", [0, 1000, 12_000, 200_000])
def test_a_full_disk_leaves_no_broken_entry(limit, tmp_path, cache, child_env):
    source = tmp_path / "big.c"
    source.write_text("const int data[100000] = {1};\nint seven(void) { return 7; }\n")
    command = [sys.executable, "-c", LIMITED, source, str(limit), cache]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=child_env)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["told", "['.lock']", "7"]


ON_TMPFS = """
from pathlib import Path
import sys
from mindtorch_v2.npu import BuildError, build, build_cache
source, cache = Path(sys.argv[1]), Path(sys.argv[2])
try:
    build.build_native("full", [source])
    print("built")
except BuildError as error:
    print("told" if build_cache.NO_SPACE_HINT in str(error) else error)
print(sorted({path.suffix for path in (cache / "kernels").iterdir()}))
source.write_text("int seven(void) { return 7; }")
print(build.build_native("full", [source]).is_file())
"""


def test_a_file_system_without_space(tmp_path, cache, child_env):
    """A real one, of 100 KiB, in a mount namespace of the child's own."""
    mount = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if shutil.which("unshare") is None or subprocess.run([*mount, "mount -t tmpfs t /mnt"], check=False).returncode:
        pytest.skip("this process may not mount a file system")
    source = tmp_path / "big.c"
    source.write_text("const int data[100000] = {1};\n")
    cache.mkdir()
    script = f'mount -t tmpfs -o size=100k t "{cache}" && exec "$0" "$@"'
    command = [*mount, script, sys.executable, "-c", ON_TMPFS, source, cache]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=child_env)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["told", "['.lock']", "True"]


PUBLISH = """
import resource, sys
from pathlib import Path
from mindtorch_v2.npu import BuildError, build_cache
dependency = Path(sys.argv[1])

def build(folder):
    (folder / "lib.so").write_text("good")
    return [dependency]

resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
try:
    build_cache.cached("recipe", "lib.so", build)
except BuildError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(build_cache.cached("recipe", "lib.so", build).read_text())
"""


def test_a_disk_that_is_full_when_all_is_built(tmp_path, cache, child_env):
    """The library fits, the list of what it depends on does not."""
    dependency = tmp_path / ("d" * 150)
    dependency.write_text("")
    command = [sys.executable, "-c", PUBLISH, dependency]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=child_env)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"lib.so cannot be built in the cache {cache}/kernels: File too large; free space there, or set "
        "MINDTORCH_CACHE_DIR to a folder that can be written and has some",
        "good",
    ]


def test_a_cache_that_is_no_folder(tmp_path, cache):
    cache.write_text("")
    (tmp_path / "a.c").write_text("int f(void) { return 1; }\n")
    with pytest.raises(BuildError) as caught:
        build.build_native("k", [tmp_path / "a.c"])
    assert str(caught.value) == (
        f"libk.so cannot be built in the cache {cache}/kernels: Not a directory; {build_cache.NO_SPACE_HINT}"
    )


# ---------------------------------------------------------------- damage
DAMAGE = {
    "empty list": lambda manifest, library: manifest.write_bytes(b""),
    "cut list": lambda manifest, library: manifest.write_bytes(manifest.read_bytes()[:-3]),
    "list of something else": lambda manifest, library: manifest.write_text("[1]"),
    "no list": lambda manifest, library: manifest.write_text('{"a": 1}'),
    "list that is no text": lambda manifest, library: manifest.write_bytes(b"\xff\xfe["),
    "no library": lambda manifest, library: library.unlink(),
    "empty library": lambda manifest, library: library.write_bytes(b""),
    "cut library": lambda manifest, library: library.write_bytes(library.read_bytes()[:5000]),
    "library of zeros": lambda manifest, library: library.write_bytes(bytes(len(library.read_bytes()))),
    "one bit": lambda manifest, library: library.write_bytes(library.read_bytes()[:-1] + b"\x01"),
    "no digest": lambda manifest, library: (library.parent / "digest").unlink(),
    "both": lambda manifest, library: (manifest.write_bytes(b""), library.write_bytes(b"")),
}


@pytest.fixture
def entry(tmp_path, cache):
    """Builds ``libk.so`` with a build that counts, and gives (what builds again, list of dependencies, library)."""
    source = tmp_path / "a.c"
    source.write_text("int seven(void) { return 7; }\n")
    built = build.build_native("k", [source])
    (manifest,) = (cache / "kernels").glob("*.json")
    return lambda: build.build_native("k", [source]), manifest, built


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_entry_is_built_again(name, entry):
    rebuild, manifest, library = entry
    DAMAGE[name](manifest, library)
    again = rebuild()
    assert ctypes.CDLL(str(again)).seven() == 7
    before = again.stat()
    assert rebuild().stat() == before  # and is found from then on
    assert not list(manifest.parent.glob("build-*"))


REPAIR = """
import ctypes, sys
from pathlib import Path
from mindtorch_v2.npu import build_cache
source, log = Path(sys.argv[1]), Path(sys.argv[2])

def build(folder):
    with log.open("a") as file:
        file.write("built\\n")
    (folder / "lib.so").write_text("good")
    return [source]

sys.stdin.read()
print(build_cache.cached("recipe", "lib.so", build).read_text())
"""


@pytest.mark.parametrize("damage", ["list", "library"])
def test_several_processes_repair_an_entry_once(damage, tmp_path, cache, child_env):
    source, log = tmp_path / "a.c", tmp_path / "log"
    source.write_text("")
    command = [sys.executable, "-c", REPAIR, source, log]
    subprocess.run(command, input="", text=True, capture_output=True, check=True, env=child_env)
    (damaged,) = (cache / "kernels").glob("*.json" if damage == "list" else "*/lib.so")
    damaged.write_text("")
    log.unlink()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    processes = [subprocess.Popen(command, text=True, env=child_env, **pipes) for _ in range(4)]
    for process in processes:
        process.stdin.close()
    assert [process.stdout.read() for process in processes] == ["good\n"] * 4
    assert [process.wait() for process in processes] == [0] * 4
    assert log.read_text() == "built\n"
    for process in processes:
        process.stdout.close()


def test_a_dependency_that_became_a_folder(tmp_path, entry):
    rebuild, manifest, _ = entry
    (tmp_path / "folder").mkdir()
    manifest.write_text(json.dumps([str(tmp_path / "folder")]))
    assert ctypes.CDLL(str(rebuild())).seven() == 7
