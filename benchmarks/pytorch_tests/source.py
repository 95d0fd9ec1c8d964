"""PyTorch's sources, as far as its tests need them: fetched once, kept in the user's cache folder, never here.

Debian's source package of PyTorch has the tests, and ``apt-get`` checks its signature; no root is needed for it.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import tarfile
from pathlib import Path

__all__ = ["RELEASE", "cache", "date", "folder"]

RELEASE = "2.6.0"
SUITE = "trixie"
TOP = f"pytorch-v{RELEASE}"
PARTS = (f"{TOP}/test/", f"{TOP}/torch/testing/")
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def cache() -> Path:
    """The folder for what is fetched and found."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "mindtorch-conformance"


def folder() -> Path:
    """The folder with ``test/`` and ``torch/testing/``, fetched where it is not there yet.

    Raises RuntimeError where ``apt-get`` cannot bring the package.
    """
    place = cache() / "src" / TOP
    done = place / ".complete"
    if not done.exists():
        _unpack(_archive(), place.parent)
        done.touch()
    return place


def date() -> str:
    """The day of the newest test file: when this source was made."""
    newest = max(path.stat().st_mtime for path in (folder() / "test").glob("test_*.py"))
    return datetime.datetime.fromtimestamp(newest, datetime.timezone.utc).date().isoformat()


def _archive() -> Path:
    """The source package's archive."""
    downloads = cache() / "deb"
    for found in sorted(downloads.glob("pytorch_*.orig.tar.xz")):
        return found
    lists, archives = cache() / "lists", cache() / "cache"
    for made in (downloads, lists / "partial", archives / "archives" / "partial"):
        made.mkdir(parents=True, exist_ok=True)
    sites = _apt("indextargets", "--format", "$(SITE)", "Created-By: Packages").split()
    if not sites:
        raise RuntimeError("apt has no package lists: PyTorch's tests come with Debian's source package")
    sources = cache() / "sources.list"
    sources.write_text(f"deb-src [signed-by={KEYS}] {sites[0]} {SUITE} main\n")
    options = [f"Dir::Etc::sourcelist={sources}", "Dir::Etc::sourceparts=-", f"Dir::State::lists={lists}"]
    options.append(f"Dir::Cache={archives}")
    flags = [flag for option in options for flag in ("-o", option)]
    _apt("-q", *flags, "update")
    _apt("-q", *flags, "source", "--download-only", "pytorch", cwd=downloads)
    return next(iter(downloads.glob("pytorch_*.orig.tar.xz")))


def _apt(*arguments: str, cwd: Path | None = None) -> str:
    try:
        ran = subprocess.run(["apt-get", *arguments], cwd=cwd, capture_output=True, text=True, timeout=900)
    except FileNotFoundError:
        raise RuntimeError("there is no apt-get: PyTorch's tests come with Debian's source package") from None
    if ran.returncode:
        raise RuntimeError(f"apt-get {' '.join(arguments)} failed:\n{ran.stderr[-2000:]}")
    return ran.stdout


def _unpack(archive: Path, place: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as whole:
        for member in whole:
            if member.name.startswith(PARTS) and (member.isfile() or member.isdir()):
                whole.extract(member, place, filter="data")
