"""A content-addressed cache of built libraries, safe for processes that build at the same time.

What a full disk or a crash left of an entry is not trusted: a library has its digest beside it, and an entry that does
not agree with itself is built again.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .build_errors import BuildError

NO_SPACE_HINT = "free space there, or set MINDTORCH_CACHE_DIR to a folder that can be written and has some"
_WORKSPACE = "build-"  # how the names of folders begin where something is built, or removed
_DIGEST = "digest"  # beside a library: the digest of its contents
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.ENOTDIR, errno.EEXIST)

# Headers that belong to the compiler, whose version is part of every key.
_SYSTEM_HEADERS = ("/usr/include/", "/usr/lib/gcc/")


def cache_root() -> Path:
    """``$MINDTORCH_CACHE_DIR``, else ``$XDG_CACHE_HOME/mindtorch``, else ``~/.cache/mindtorch``."""
    explicit = os.environ.get("MINDTORCH_CACHE_DIR")
    if explicit:
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "mindtorch"


def digest(parts: Iterable[str | bytes]) -> str:
    """A hash of the parts and of where one ends and the next begins."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()[:32]


def cached(recipe: str, filename: str, build: Callable[[Path], Iterable[Path]]) -> Path:
    """The library built from ``recipe`` (a digest), from the cache where its dependencies have not changed.

    ``build(folder)`` writes ``filename`` into an empty folder and returns the files it read. What it raises
    leaves nothing behind. A damaged library or list of dependencies is as good as none. Of several processes that want
    the same library, one builds it. Raises ``BuildError`` where the cache cannot be written, as on a full disk.
    """
    root = cache_root() / "kernels"
    found = _look_up(root, recipe, filename)
    if found:
        return found
    with _told_as_build_error(root, filename):
        root.mkdir(parents=True, exist_ok=True)
        with _locked(root / f"{recipe}.lock"):
            found = _look_up(root, recipe, filename)  # another process may have built it meanwhile
            if found:
                return found
            _build(root, recipe, filename, build)
            found = _look_up(root, recipe, filename)
    if found is None:
        raise FileNotFoundError(f"a source of {filename} changed while it was built; build it again")
    return found


def is_first(recipe: str) -> bool:
    """Whether nobody has asked this of the recipe before; also where the cache cannot be written."""
    marker = cache_root() / "kernels" / f"{recipe}.lock"
    try:
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch(exist_ok=False)
    except FileExistsError:
        return False
    except OSError:
        pass
    return True


def keep_used(filename: str, limit: int, using: Path | None) -> None:
    """Of all that was built as ``filename``, keeps the ``limit`` that were used last; ``using`` is used now.

    A process that was about to read what goes finds it gone, as a whole; one that has it open keeps it. Where the cache
    cannot be written nothing goes.
    """
    root = cache_root() / "kernels"
    try:
        with _locked(root / f"{filename}.lock"):  # two processes that count at the same time would remove too many
            if using is not None and using.exists():  # no other process has removed it since
                now = time.time_ns()  # finer than what the file system notes by itself
                os.utime(using.parent, ns=(now, now))
            for product in _by_last_use(root, filename)[limit:]:
                with tempfile.TemporaryDirectory(prefix=_WORKSPACE, dir=root) as gone:
                    product.rename(Path(gone) / "product")
    except OSError:
        return


def _by_last_use(root: Path, filename: str) -> list[Path]:
    """The folders that hold a file of this name, the last used first; not those where it is being built."""
    folders = [path.parent for path in root.glob(f"*/{filename}") if not path.parent.name.startswith(_WORKSPACE)]
    return sorted(folders, key=lambda folder: folder.stat().st_mtime_ns, reverse=True)


def _build(root: Path, recipe: str, filename: str, build: Callable[[Path], Iterable[Path]]) -> None:
    workspace = Path(tempfile.mkdtemp(prefix=_WORKSPACE, dir=root))
    try:
        dependencies = sorted({str(path) for path in build(workspace) if _is_dependency(path, workspace)})
        (workspace / _DIGEST).write_text(digest([(workspace / filename).read_bytes()]))
        _publish(root, recipe, filename, workspace, dependencies)
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


@contextmanager
def _told_as_build_error(root: Path, filename: str) -> Iterator[None]:
    """Names the cache where it cannot be written."""
    try:
        yield
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        raise BuildError(f"{filename} cannot be built in the cache {root}: {error.strerror}; {NO_SPACE_HINT}") from None


def _look_up(root: Path, recipe: str, filename: str) -> Path | None:
    try:
        dependencies = json.loads((root / f"{recipe}.json").read_text())
        if not isinstance(dependencies, list) or not all(isinstance(path, str) for path in dependencies):
            return None
        product = root / _product(recipe, dependencies)
    except (OSError, ValueError):
        return None  # never built, a dependency is gone, or the list of them is damaged
    return product / filename if _is_whole(product, filename) else None


def _is_whole(product: Path, filename: str) -> bool:
    """Whether a library is as it was built: there is no use in loading what is left of one."""
    try:
        return (product / _DIGEST).read_text() == digest([(product / filename).read_bytes()])
    except (OSError, ValueError):
        return False


def _publish(root: Path, recipe: str, filename: str, workspace: Path, dependencies: list[str]) -> None:
    # The folder's name depends on the contents: a rebuilt library never has the path of one that is loaded.
    product = root / _product(recipe, dependencies)
    if not _is_whole(product, filename):
        with tempfile.TemporaryDirectory(prefix=_WORKSPACE, dir=root) as damaged:
            if product.exists():
                product.rename(Path(damaged) / "product")  # whoever has it open keeps it
            workspace.chmod(0o755)
            workspace.rename(product)
    manifest = root / f"{recipe}.json.new"  # not in the product, which may be removed at any time
    manifest.write_text(json.dumps(dependencies))
    manifest.replace(root / f"{recipe}.json")


def _product(recipe: str, dependencies: list[str]) -> str:
    return digest([recipe, *(part for path in dependencies for part in (path, Path(path).read_bytes()))])


def _is_dependency(path: Path, workspace: Path) -> bool:
    return not str(path).startswith(_SYSTEM_HEADERS) and workspace not in path.parents


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
