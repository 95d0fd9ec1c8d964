"""The build cache where it cannot be written: what is said, and that no broken entry stays behind."""

from __future__ import annotations

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
