"""Work in two processes: the same results in the same order, whatever becomes of the child."""

from __future__ import annotations

import os
import signal

import pytest

from mtcodegen.system.parallel import in_two_processes


def test_every_other_item_is_the_childs() -> None:
    here = os.getpid()
    assert in_two_processes(lambda item: (item * item, os.getpid() == here), range(5)) == [
        (0, True), (1, False), (4, True), (9, False), (16, True),
    ]  # fmt: skip
    assert in_two_processes(len, []) == []
    assert in_two_processes(len, ["one"]) == [3]


def test_large_results() -> None:
    assert in_two_processes(lambda item: str(item) * 5_000_000, [1, 2]) == ["1" * 5_000_000, "2" * 5_000_000]


@pytest.mark.parametrize("end", ["killed", "unpicklable", "raised"])
def test_what_the_child_cannot_do_is_done_here(end: str) -> None:
    here = os.getpid()

    def work(item: int) -> object:
        if os.getpid() != here:
            if end == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            elif end == "raised":
                raise ValueError
            return lambda: item
        return item

    assert in_two_processes(work, [1, 2, 3]) == [1, 2, 3]


def test_an_error_here_is_raised_and_leaves_no_child() -> None:
    here = os.getpid()

    def work(item: int) -> str:
        if os.getpid() == here:
            raise ValueError("here")
        return "x" * 1_000_000  # more than a pipe holds

    with pytest.raises(ValueError, match="here"):
        in_two_processes(work, [1, 2])
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
