"""Where the generator's data folders are: beside the package in a source tree, inside it in a wheel."""

from __future__ import annotations

import pathlib

__all__ = ["data_folder"]

_PACKAGE = pathlib.Path(__file__).resolve().parent


def data_folder(name: str) -> pathlib.Path:
    """The folder ``templates`` or ``ops_yaml``; FileNotFoundError where the installation lacks it."""
    for folder in (_PACKAGE / name, _PACKAGE.parents[1] / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"mtcodegen is installed without its folder `{name}`; looked beside and in {_PACKAGE}")
