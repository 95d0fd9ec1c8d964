"""What every test may use: the repository's root, and the environment of a child process that finds its packages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
IMPORT_ROOTS = ("codegen", "runtime", "generated")


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """The repository's root folder."""
    return ROOT


@pytest.fixture
def child_env() -> dict[str, str]:
    """The environment for a fresh Python process, with the same packages in reach as this one has."""
    path = [str(ROOT / name) for name in IMPORT_ROOTS]
    inherited = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*path, inherited] if inherited else path)}
