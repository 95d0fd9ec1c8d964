"""``docs/conformance.md``: the tables of the last whole run."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence

from benchmarks.pytorch_tests.results import Outcome, ranked

__all__ = ["text"]

HEAD = """# PyTorch's own tests

`make conformance` fetches PyTorch's sources, runs its test files as they are with `import torch` meaning this runtime,
and writes this page. Nothing of them is kept here. Ten tests run in a process; what a crash or a hang leaves goes on in
another, so that it is one test's.
The tests are those of PyTorch {release} ({date}); a test applies if PyTorch {peer} passes it on the same
machine, and `benchmarks/pytorch_tests/exclusions.yaml` does not say that what it tests is none of this runtime's. The
tests over the database of operators are run by `python -m benchmarks.conformance`.

"""


def text(found: Sequence[Outcome], release: str, date: str, peer: str) -> str:
    """The page."""
    parts = [HEAD.format(release=release, date=date, peer=peer), _files(found), "\n## Tests that do not apply\n\n"]
    excluded = collections.Counter(reason for one in found for reason in one.excluded.values())
    parts.append(_table(("tests", "why"), [(str(count), why) for why, count in excluded.most_common()]))
    parts.append("\n## Tests that fail\n\n")
    rows = [(str(count), _code(why), f"`{example}`") for why, count, example in ranked(found)]
    parts.append(_table(("tests", "why", "one of them"), rows))
    return "".join(parts)


def _files(found: Sequence[Outcome]) -> str:
    rows = [
        (f"`{one.file}`", len(one.passing), one.applicable, f"{one.share:.1%}", len(one.excluded), one.peer_fails)
        for one in found
    ]
    passing, applicable = sum(len(one.passing) for one in found), sum(one.applicable for one in found)
    share = f"{passing / applicable:.1%}" if applicable else ""
    rest = sum(len(one.excluded) for one in found), sum(one.peer_fails for one in found)
    head = ("file", "passing", "applicable", "share", "excluded", "PyTorch skips or fails")
    return _table(head, [*rows, ("all", passing, applicable, share, *rest)])


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(str(cell) for cell in line)} |\n" for line in lines)


def _code(words: str) -> str:
    return words.replace("|", "\\|").replace("<", "&lt;")
