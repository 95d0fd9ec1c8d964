"""``python -m mindtorch_v2.distributed.run --nproc-per-node 2 script.py``: starts a script in several processes.

They are started by ``mpirun``, which ends all where one is killed, or fails, and says which. Each finds its number in
RANK and LOCAL_RANK and how many there are in WORLD_SIZE, as of ``torchrun``.
"""

from __future__ import annotations

import argparse
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Sequence

__all__ = ["command", "main"]

_CHILD = "--one-of-several"  # what mpirun is given: this module again, once for each process
_FROM_MPI = {  # what scripts read -> what Open MPI says
    "RANK": "OMPI_COMM_WORLD_RANK",
    "WORLD_SIZE": "OMPI_COMM_WORLD_SIZE",
    "LOCAL_RANK": "OMPI_COMM_WORLD_LOCAL_RANK",
    "LOCAL_WORLD_SIZE": "OMPI_COMM_WORLD_LOCAL_SIZE",
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mindtorch_v2.distributed.run",
        description="Runs a script in several processes, which mpirun starts; all end where one fails.",
        epilog="example: python -m mindtorch_v2.distributed.run --nproc-per-node 2 train.py --epochs 3",
    )
    parser.add_argument("--nproc-per-node", "--nproc_per_node", type=int, default=1, metavar="N", help="default: 1")
    parser.add_argument("--nnodes", type=int, default=1, metavar="N", help="machines, with --hosts (default: 1)")
    parser.add_argument("--hosts", metavar="A,B", help="their names, as mpirun takes them; they see the same files")
    parser.add_argument("-m", "--module", action="store_true", help="the script is a module's name")
    parser.add_argument("--standalone", action="store_true", help="on this machine, as always without --hosts")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser


def command(options: argparse.Namespace, mpirun: str) -> list[str]:
    """What is run."""
    each, whole = options.nproc_per_node, options.nproc_per_node * options.nnodes
    where = ["--host", ",".join(f"{name}:{each}" for name in options.hosts.split(","))] if options.hosts else []
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    kind = "module" if options.module else "script"
    child = [sys.executable, "-m", "mindtorch_v2.distributed.run", _CHILD, kind, options.script, *options.arguments]
    return [mpirun, *root, *where, "--oversubscribe", "-n", str(whole), *child]


def _one_of_several(kind: str, script: str, arguments: Sequence[str]) -> None:
    """Runs the script in a process that mpirun started."""
    for name, source in _FROM_MPI.items():
        if source in os.environ:
            os.environ[name] = os.environ[source]
    sys.argv = [script, *arguments]
    try:
        if kind == "module":
            sys.path.insert(0, "")
            runpy.run_module(script, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.dirname(os.path.abspath(script))  # noqa: PTH100, PTH120  (a word, not a path to read)
            runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if end.code not in (None, 0) and int(os.environ.get("WORLD_SIZE", "1")) > 1:
            # Others may wait for this process: who exits with a status has failed, and an error ends all.
            raise RuntimeError(f"{script} ended with exit status {end.code}") from end
        raise


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; the exit status is mpirun's, 1 unless all processes ended well."""
    given = [*(sys.argv[1:] if arguments is None else arguments)]
    if given[:1] == [_CHILD]:
        _one_of_several(given[1], given[2], given[3:])
        return 0
    parser = _parser()
    options = parser.parse_args(given)
    if options.nproc_per_node < 1 or options.nnodes < 1:
        parser.error("--nproc-per-node and --nnodes: expected 1 or more")
    if options.nnodes > 1 and not options.hosts:
        parser.error("--nnodes: the machines' names are needed, too: --hosts a,b")
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        parser.error("mpirun was not found; Debian: apt-get install openmpi-bin")
    environment = {**os.environ}
    if options.nproc_per_node > 1:
        environment.setdefault("OMP_NUM_THREADS", "1")  # processes share the processors; more threads are asked for
    return subprocess.run(command(options, mpirun), env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
