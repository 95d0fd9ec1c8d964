"""``torch.futures`` beside PyTorch's: results, errors, callbacks, threads."""

from __future__ import annotations

import importlib
import pickle
import threading
from typing import Any

import pytest

from tests.runtime.both import agree, agree_or_raise


def futures(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.futures")


def said(future: Any) -> Any:
    """What it gives: its result, or the first line of its error."""
    try:
        return future.wait()
    except (RuntimeError, ValueError, KeyError) as error:
        return type(error).__name__, str(error).partition("\n")[0]


def test_callbacks_in_their_order() -> None:
    def case(torch: Any) -> Any:
        seen: list[Any] = []
        one = futures(torch).Future()
        one.add_done_callback(lambda done: seen.append(("first", done.value())))
        two = one.then(lambda done: seen.append("second") or done.value() + len(seen))
        three = two.then(lambda done: seen.append("third") or done.value() * 2)
        one.add_done_callback(lambda done: seen.append("fourth"))
        states = [one.done(), two.done(), three.done()]
        one.set_result(5)
        one.add_done_callback(lambda done: seen.append("late"))
        four = one.then(lambda done: done.value() + 100)
        return states, seen, [said(future) for future in (one, two, three, four)]

    agree(case)


def test_errors_travel() -> None:
    def case(torch: Any) -> Any:
        one = futures(torch).Future()
        two = one.then(lambda done: done.value())
        three = two.then(lambda done: 5)
        four = one.then(lambda: 1)
        one.set_exception(ValueError("oh"))
        return (
            [said(future) for future in (one, two, three)],
            [f.done() for f in (one, two, three, four)],
            said(four)[0],
        )

    agree(case)


def test_what_a_callback_raises_alone(capfd: pytest.CaptureFixture[str]) -> None:
    """It is shown, and the future has its result."""

    def case(torch: Any) -> Any:
        one = futures(torch).Future()
        one.add_done_callback(lambda done: 1 // 0)
        one.set_result(3)
        shown = capfd.readouterr()
        assert "Got the following error when running the callback: ZeroDivisionError" in shown.err + shown.out
        return one.wait()

    agree(case)


def test_what_is_refused() -> None:
    def twice(torch: Any) -> Any:
        one = futures(torch).Future()
        one.set_result(1)
        one.set_result(2)

    agree_or_raise(twice)
    agree_or_raise(lambda torch: futures(torch).Future().set_exception(3))
    for library in ("mindtorch_v2", "torch"):
        parts = importlib.import_module(f"{library}.futures")
        one = parts.Future()
        for wrong in (lambda one=one: one.then(3), lambda one=one: one.add_done_callback(3)):
            with pytest.raises(TypeError):
                wrong()
        with pytest.raises(TypeError):
            parts.collect_all([3])
        with pytest.raises(RuntimeError, match=r"Can not pickle torch\.futures\.Future"):
            pickle.dumps(one)
        with pytest.raises(RuntimeError):
            one.value()


@pytest.mark.parametrize("errors", [(), (0,), (1,), (1, 0), (2, 0, 1)])
def test_all_of_several(errors: tuple[int, ...]) -> None:
    """It is done when all are, and its error is that of the first that has one."""

    def case(torch: Any) -> Any:
        several = [futures(torch).Future() for _ in range(3)]
        every, states = futures(torch).collect_all(several), []
        for at in (*errors, *(at for at in range(3) if at not in errors)):
            several[at].set_exception(KeyError(at)) if at in errors else several[at].set_result(at)
            states.append(every.done())
        whole = said(every)
        return states, whole if errors else [one.value() for one in whole], futures(torch).wait_all([])

    agree(case)


def test_threads_wait() -> None:
    def case(torch: Any) -> Any:
        first, second = futures(torch).Future(), futures(torch).Future()
        found: list[Any] = []
        threads = [threading.Thread(target=lambda: found.append(first.wait() + second.wait())) for _ in range(4)]
        threads += [threading.Thread(target=one.set_result, args=(at,)) for at, one in enumerate((first, second), 1)]
        for thread in threads:
            thread.start()
        total = futures(torch).wait_all([first, second])
        for thread in threads:
            thread.join()
        return found, total

    agree(case)
