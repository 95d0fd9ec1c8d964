"""Where the simulated NPU lies: beside the installed package, or in a source tree."""

from __future__ import annotations

import os
from pathlib import Path

from .. import _core

_LIBRARY = "libascendcl_sim.so"
# Compiled files and headers are installed beside the compiled core, which in an editable install is not where the
# Python sources are.
_PACKAGE = Path(_core.__file__).resolve().parent


def library_dirs() -> list[Path]:
    """Folders that may hold the project's shared libraries, best first; they need not exist."""
    return [_PACKAGE / "lib"]


def simulator_library() -> Path:
    """The simulated NPU's ACL library.

    ``MINDTORCH_SIM_LIBRARY`` names another one. Raises ``FileNotFoundError`` with the places that were searched.
    """
    override = os.environ.get("MINDTORCH_SIM_LIBRARY")
    candidates = [Path(override)] if override else [folder / _LIBRARY for folder in library_dirs()]
    for candidate in candidates:
        if candidate.is_file():
            return candidate.resolve()
    searched = ", ".join(str(candidate) for candidate in candidates)
    raise FileNotFoundError(
        f"the simulated NPU's library was not found; searched {searched}; "
        "build the project, or set MINDTORCH_SIM_LIBRARY to its path"
    )


def simulator_includes() -> list[Path]:
    """Include folders of the simulator: its own headers, then the AscendC ones.

    Raises ``FileNotFoundError`` where the package carries none.
    """
    # In a source tree the folder beside the package holds copies, which may be older than the sources.
    roots = [_source_tree() / "runtime" / "sim" / "include", _PACKAGE / "include" / "sim"]
    for root in roots:
        if (root / "mtsim.h").is_file():
            return [root, root / "ascendc"]
    raise FileNotFoundError(f"the simulated NPU's headers were not found; searched {', '.join(map(str, roots))}")


def kernel_includes() -> list[Path]:
    """The include folder for C and C++ kernels of the host (``mindtorch_kernel.h``), where there is one."""
    candidates = [_source_tree() / "runtime" / "kernels" / "include", _PACKAGE / "include"]
    return [folder for folder in candidates if (folder / "mindtorch_kernel.h").is_file()][:1]


def kernel_sources() -> Path:
    """The folder of the built-in operators' AscendC sources."""
    source = _source_tree() / "runtime" / "kernels" / "npu"
    return source if source.is_dir() else _PACKAGE / "kernels_npu"


def _source_tree() -> Path:
    return _PACKAGE.parent.parent
