"""What every test may use: the repository's root, and the environment of a child process that finds its packages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.needs import missing

# No example has a deadline: nothing here depends on how fast the machine is. The CI draws the same examples for the
# same code, so that a red run is about the change; elsewhere they are new ones each time.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

ROOT = Path(__file__).resolve().parents[1]

# Child processes run in folders of their own: what PYTHONPATH names has to be found from there too.
if os.environ.get("PYTHONPATH"):
    entries = os.environ["PYTHONPATH"].split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(str(Path(entry).resolve()) for entry in entries if entry)


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """The repository's root folder."""
    return ROOT


@pytest.fixture
def child_env() -> dict[str, str]:
    """The environment for a fresh Python process, with the same packages in reach as this one has."""
    return dict(os.environ)


class FolderScheduling(LoadScopeScheduling):
    """Keeps the tests of a folder of tests/ in one process, in their order, where several processes run them."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0].split("/")[1]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FolderScheduling:
    """How xdist hands out the tests: its own ways know files and marks, not folders."""
    return FolderScheduling(config, log)


# Files that take minutes by themselves: begun first, so that at the end no process is idle while another one builds.
LONGEST = ("test_packaging.py", "test_aarch64.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files of tests/ come first."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


LEFT_OUT = pytest.StashKey[dict[str, set[Path]]]()  # files by what they want


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out a file that needs what is not there."""
    if not (collection_path.name.startswith("test_") and collection_path.suffix == ".py"):
        return None
    absent = ", ".join(sorted(missing(collection_path)))
    if not absent:
        return None
    config.stash.setdefault(LEFT_OUT, {}).setdefault(absent, set()).add(collection_path)
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how many files were left out, and for want of what."""
    for absent, paths in sorted(config.stash.get(LEFT_OUT, {}).items()):
        terminalreporter.write_line(f"LEFT OUT [{len(paths)}] without {absent}")
