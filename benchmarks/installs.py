"""Packages that are no dependencies of ours, each set in a folder of its own below ``build/``."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["environment_with", "installed", "our_numpy"]

ROOT = Path(__file__).resolve().parents[1]


def our_numpy() -> str:
    """What asks pip for the NumPy that everything here was built for."""
    return f"numpy=={importlib.metadata.version('numpy')}"


def installed(folder: str, mark: str, *steps: list[str]) -> Path:
    """``build/<folder>``, where pip installed what each step asks for, one after the other; once for a ``mark``."""
    where = ROOT / "build" / folder
    done = where / f".installed{mark}"
    if not done.exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(where), "--upgrade"]
        for step in steps:
            subprocess.run([*command, *step], check=True)
        done.touch()
    return where


def environment_with(folder: Path, **more: str) -> dict[str, Any]:
    """This process's environment, for one that finds the packages of the folder first."""
    paths = [str(folder), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **more}
