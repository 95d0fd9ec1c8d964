"""The package is read at every start of the runtime, so it must not pull in half of the standard library."""

import subprocess
import sys
from pathlib import Path

import opschema

HEAVY = {"difflib", "json", "logging", "asyncio", "unittest", "argparse", "yaml", "numpy", "torch", "mtcodegen"}


def test_imports_nothing_heavy() -> None:
    root = Path(opschema.__file__).parents[1]
    code = f"import sys; sys.path.insert(0, {str(root)!r}); import opschema; print(*sys.modules)"
    output = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True).stdout
    assert not HEAVY & set(output.split())
