"""``python -m mindtorch_v2 run script.py``: a script that imports ``torch``, run by this runtime."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

from . import drop_in


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mindtorch_v2",
        description="Runs programs written for PyTorch on mindtorch_v2, unchanged.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    run = commands.add_parser(
        "run",
        help="run a script whose `import torch` means mindtorch_v2",
        description="Runs a script, or a module, whose `import torch` means mindtorch_v2.",
        epilog="examples:\n"
        "  python -m mindtorch_v2 run train.py --epochs 3\n"
        "  python -m mindtorch_v2 run -m package.train --epochs 3\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="python -m mindtorch_v2 run [-h] (script.py | -m module) [argument ...]",
    )
    run.add_argument("-m", dest="as_module", action="store_true", help="what follows is a module, as for `python -m`")
    run.add_argument("program", help="a script's path, or with -m a module's name")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program finds in sys.argv")
    return parser


def main() -> int:
    """Runs the command line; returns the exit status (2 where a script cannot be read)."""
    options = _parser().parse_args()
    drop_in.install_as_torch()
    sys.argv = [options.program, *options.arguments]
    if options.as_module:
        sys.path.insert(0, "")
        runpy.run_module(options.program, run_name="__main__", alter_sys=True)
        return 0
    script = Path(options.program)
    if not script.is_file():
        print(f"error: there is no script {options.program}; a module is run with -m", file=sys.stderr)
        return 2
    sys.path[0] = str(script.resolve().parent)
    runpy.run_path(options.program, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
