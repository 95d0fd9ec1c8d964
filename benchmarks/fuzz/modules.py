"""Which modules of the package are searched: all that are public, but for those left out, each with its reason.

A module is public where no part of its dotted name begins with an underscore. They are found as files, so that a
process of PyTorch's need not import the package; what is added to it is searched from then on.
"""

from __future__ import annotations

import importlib.util
import pkgutil
from collections.abc import Iterator, Sequence

__all__ = ["LEFT_OUT_MODULES", "MODULES", "PRIVATE", "public_modules"]

# With what is below them.
_STEP_OF_BUILD = "a step of `npu.build`, whose functions are called"
LEFT_OUT_MODULES = {
    "distributed": "calls between processes, which wait for one another: tests/distributed runs two",
    "functional": "functions of the top level, under another of PyTorch's names",
    "fx": "graphs, which have PyTorch's names and their own structure: tests compare what they compute",
    "kernels": "kernels of built-in operators, called with arguments that the dispatcher has bound: see operators",
    "multiprocessing": "Python's own, and what starts processes",
    "nn.backward_hooks": "how modules call hooks: `nn.modules.module` and modules register them",
    "nn.hooks": "how modules call hooks: `nn.modules.module` and modules register them",
    "nn.parallel.distributed": "modules that processes train together: tests/distributed runs two",
    "npu.acl": "the functions of CANN's library, which take addresses",
    "npu.build_cache": _STEP_OF_BUILD,
    "npu.build_errors": _STEP_OF_BUILD,
    "npu.cann_build": _STEP_OF_BUILD,
    "npu.elf": _STEP_OF_BUILD,
    "npu.host_tiling": _STEP_OF_BUILD,
    "npu.kernel_source": _STEP_OF_BUILD,
    "npu.paths": _STEP_OF_BUILD,
    "utils.benchmark": "times, which differ from run to run: tests compare what is said of given ones",
    "utils.tensorboard": "what writes files: tests compare them with PyTorch's, where the package tensorboard is",
    "utils.weak": "dictionaries and references that hold what a call would have let go",
}
# Private by name, and used: what PyTorch's users import from modules that are private there, too; and the core.
PRIVATE = ("_core", "utils._python_dispatch", "utils._pytree")


def public_modules(library: str) -> list[str]:
    """The dotted names of a package's public modules, without its own; of the package itself it is the empty one."""
    spec = importlib.util.find_spec(library)
    return ["", *_modules_in(spec.submodule_search_locations or (), "")] if spec else []


def _modules_in(folders: Sequence[str], prefix: str) -> Iterator[str]:
    for module in pkgutil.iter_modules(folders):
        if not module.name.startswith("_"):
            yield prefix + module.name
            if module.ispkg:
                yield from _modules_in([f"{folder}/{module.name}" for folder in folders], f"{prefix}{module.name}.")


def _is_left_out(name: str) -> bool:
    return any(name == left or name.startswith(f"{left}.") for left in LEFT_OUT_MODULES)


MODULES = tuple(sorted({name for name in public_modules("mindtorch_v2") if not _is_left_out(name)} | set(PRIVATE)))
