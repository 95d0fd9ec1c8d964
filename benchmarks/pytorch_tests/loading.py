"""Where a file of PyTorch's tests finds ``torch``, and the tools that tests are written with.

``torch`` is this runtime (`mindtorch_v2.install_as_torch`), or PyTorch itself, the peer. PyTorch's own tools for tests
(``torch.testing._internal`` and the comparison that its TestCase is made of) come from its sources for both, so that
both run the same tests. The database of operators is left empty: ``benchmarks.conformance`` runs it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from benchmarks.pytorch_tests import absent

__all__ = ["install", "load"]

TOOLS = "torch.testing._internal"
OURS = f"{TOOLS}.optests"  # a tool for operators' authors, which this runtime has itself
COMPARISON = ("torch.testing._comparison",)
# What stands for files that PyTorch's build writes, and for the database of operators.
WRITTEN = {
    f"{TOOLS}.common_methods_invocations": """
import torch
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, DecorateInfo, OpInfo, ReductionOpInfo, SampleInput
from torch.testing._internal.opinfo.core import SpectralFuncInfo, UnaryUfuncInfo
op_db = ops_and_refs = python_ref_db = unary_ufuncs = binary_ufuncs = reduction_ops = []
foreach_binary_op_db = foreach_other_op_db = foreach_pointwise_op_db = foreach_reduce_op_db = foreach_unary_op_db = []
""",
    f"{TOOLS}.generated": "__path__ = []",
    f"{TOOLS}.generated.annotated_fn_args": "annotated_args = {}",
}
# What is added to a tool: over an empty database no tests are made, which it takes for a mistake; beside another
# vendor's device it takes the name of the only device that tests are for letter by letter, and makes none either.
ADDED = {
    f"{TOOLS}.common_device_type": """
def _for_operators(self, test, generic_cls, device_cls, made=ops._parametrize_test):
    self.op_list = list(self.op_list)
    return made(self, test, generic_cls, device_cls) if self.op_list else iter(())
ops._parametrize_test = _for_operators
is_privateuse1_backend_available = lambda: False
""",
}
# What PyTorch's tools tell the owners of its machines; an operator that is not here, with which they compare others;
# C++ tracebacks, which they note.
HERE = {
    "torch._logging": "__path__ = []",
    "torch._logging.scribe": "def open_source_signpost(**told): pass",
    "torch._higher_order_ops": "__path__ = []",
    "torch._higher_order_ops.cond": "cond_op = object()",
    "torch._utils_internal": """
import os
IS_FBSOURCE, TEST_MASTER_ADDR, TEST_MASTER_PORT = False, "127.0.0.1", 29500
def get_file_path_2(*parts): return os.path.join(*parts)
def get_writable_path(path): return path
""",
    "torch._C._profiler": "def gather_traceback(**kinds): pass\ndef symbolize_tracebacks(found): return []",
}


class _Source(Loader):
    """Runs a module's source, forgivingly."""

    def __init__(self, source: str, path: str) -> None:
        self.source, self.path = source, path

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = self.path
        tool = module.__name__.startswith("torch.")
        text = f"{self.source}\n{ADDED.get(module.__name__, '')}"
        absent.run(absent.forgiving(text, self.path, tool), module)


class _Tools(MetaPathFinder):
    """Finds the tools of tests in PyTorch's sources."""

    def __init__(self, sources: Path, here: bool) -> None:
        self.sources, self.here = sources, here
        self.written = WRITTEN
        self.refused = ("torchgen", "torchvision") if here else ()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name in self.written:
            text = self.written[name]
            return _spec(name, text, f"<{name}>", package="__path__" in text)
        if self.here and name.startswith(OURS):
            return None
        if name == TOOLS or name.startswith(f"{TOOLS}.") or name in COMPARISON:
            return _found(name, self.sources)
        if name.partition(".")[0] in self.refused:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


class _Beside(MetaPathFinder):
    """Finds other files of tests, where nothing else is found."""

    def __init__(self, *folders: Path) -> None:
        self.folders = folders

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        found = (_found(name, folder) for folder in self.folders)
        return next((spec for spec in found if spec), None)


def _found(name: str, folder: Path) -> ModuleSpec | None:
    place = folder.joinpath(*name.split("."))
    if (package := place / "__init__.py").is_file():
        return _spec(name, package.read_text(), str(package), package=True)
    file = place.with_suffix(".py")
    if file.is_file():
        return _spec(name, file.read_text(), str(file))
    return _spec(name, "", str(place / "folder"), package=True) if place.is_dir() else None


def _spec(name: str, text: str, origin: str, package: bool = False) -> ModuleSpec:
    spec = ModuleSpec(name, _Source(text, origin), origin=origin, is_package=package)
    if package:
        spec.submodule_search_locations = [str(Path(origin).parent)]
    return spec


def install(sources: Path, file: str, here: bool) -> None:
    """Makes ``import torch`` mean this runtime, or PyTorch, and tools those of the sources, in this process."""
    if here:
        importlib.import_module("mindtorch_v2").install_as_torch()
        importlib.import_module("torch.testing")
    else:
        importlib.import_module("torch.testing")
        for name in [one for one in sys.modules if one in COMPARISON or one.startswith(TOOLS)]:
            del sys.modules[name]
    sys.meta_path.insert(0, _Tools(sources, here))
    for name in HERE if here else ():
        module = importlib.util.module_from_spec(_spec(name, HERE[name], f"<{name}>", package="__path__" in HERE[name]))
        sys.modules[name] = module
        absent.run(absent.forgiving(HERE[name], f"<{name}>", tool=True), module)
    sys.meta_path.append(_Beside((sources / "test" / file).parent, sources / "test"))


def load(sources: Path, file: str) -> ModuleType:
    """A file of tests, imported under its own name."""
    path = sources / "test" / file
    spec = _spec(path.stem, path.read_text(), str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    assert spec.loader is not None
    spec.loader.exec_module(module)
    return module
