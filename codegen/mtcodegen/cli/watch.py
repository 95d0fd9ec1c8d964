"""``mtcodegen watch``: generate again whenever a file changes."""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import signal
import sys
import time
from collections.abc import Iterator

from mtcodegen.cli import generate
from mtcodegen.project.inputs import find_jobs
from mtcodegen.project.pyproject import UsageError

__all__ = ["DESCRIPTION", "EXAMPLES", "configure", "run"]

DESCRIPTION = """\
Generate, then again whenever one of the files, or pyproject.toml, changes, until Ctrl-C or SIGTERM, which end it with
exit status 0. Changes that follow each other quickly, as when an editor saves many files, are one."""
EXAMPLES = (("mtcodegen watch", "all that pyproject.toml lists"), ("mtcodegen watch ops.yaml", "one file"))

Snapshot = dict[pathlib.Path, tuple[int, int, int]]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    generate.configure(parser)
    parser.add_argument(
        "--interval", type=_seconds, default=0.3, metavar="SECONDS", help="between looks (default: 0.3)"
    )


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 3600:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds above 0")
    return value


def run(options: argparse.Namespace) -> int:
    """Watch until Ctrl-C or SIGTERM, which are no failures."""
    find_jobs(options.files, options.output, options.target)  # a usage error ends it at once
    try:
        with _interrupted_by(signal.SIGTERM):
            while True:
                before = _snapshot(options)
                _generate(options)
                _say("watching for changes; Ctrl-C stops")
                _wait_for_change(options, before)
    except KeyboardInterrupt:
        _say("\nstopped")
        return 0


@contextlib.contextmanager
def _interrupted_by(number: signal.Signals) -> Iterator[None]:
    """Take a signal for Ctrl-C, which a shell withholds from the jobs in its background."""
    before = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def _generate(options: argparse.Namespace) -> None:
    try:
        generate.run(options)
    except UsageError as error:  # may pass: an editor is replacing a file, or has written half of pyproject.toml
        sys.stderr.write(f"mtcodegen: {error}\n")
    sys.stdout.flush()


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _wait_for_change(options: argparse.Namespace, before: Snapshot) -> None:
    """Return when the files differ from ``before``, and have stood still for a moment."""
    while (now := _snapshot(options)) == before:
        time.sleep(options.interval)
    while True:
        time.sleep(options.interval / 2)
        later = _snapshot(options)
        if later == now:
            return
        now = later


def _snapshot(options: argparse.Namespace) -> Snapshot:
    """The state of every file that the output depends on."""
    try:
        found = find_jobs(options.files, options.output, options.target)
    except UsageError:
        found = []
    paths = [item.path for job in found for item in job.inputs]
    beside = {pathlib.Path.cwd(), *(path.resolve().parent for path in paths)}
    folders = {above for folder in beside for above in (folder, *folder.parents)}
    result: Snapshot = {}
    for path in [*paths, *(folder / "pyproject.toml" for folder in folders)]:
        try:
            state = path.stat()
        except OSError:
            continue
        result[path] = (state.st_mtime_ns, state.st_size, state.st_ino)
    return result
