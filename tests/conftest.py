"""What every test may use: the repository's root, and the environment of a child process that finds its packages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

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
