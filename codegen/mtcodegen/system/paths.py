"""Where the generator's data folders are: beside the package in a source tree, inside it in a wheel."""

from __future__ import annotations

import pathlib

__all__ = ["PACKAGE", "data_folder"]

PACKAGE = pathlib.Path(__file__).resolve().parents[1]


def data_folder(name: str) -> pathlib.Path:
    """The folder ``templates`` or ``ops_yaml``; FileNotFoundError where the installation lacks it."""
    for folder in (PACKAGE / name, PACKAGE.parents[1] / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"mtcodegen is installed without its folder `{name}`; looked beside and in {PACKAGE}")
