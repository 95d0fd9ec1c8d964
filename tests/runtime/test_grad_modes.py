"""Modes above generator functions: they hold while the body runs, however it is resumed or ended."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import mindtorch_v2
from tests.runtime.both import agree

MODES = {
    "no_grad()": lambda torch: torch.no_grad(),
    "no_grad": lambda torch: torch.no_grad,
    "enable_grad()": lambda torch: torch.enable_grad(),
    "set_grad_enabled(False)": lambda torch: torch.set_grad_enabled(False),
    "set_grad_enabled(True)": lambda torch: torch.set_grad_enabled(True),
    "inference_mode()": lambda torch: torch.inference_mode(),
    "inference_mode": lambda torch: torch.inference_mode,
    "inference_mode(False)": lambda torch: torch.inference_mode(False),
    "dual_level()": lambda torch: torch.autograd.forward_ad.dual_level(),
}


class Run:
    """A decorated generator, and what is on whenever its body or its consumer runs."""

    def __init__(self, torch: Any, mode: Any) -> None:
        self.torch, self.log = torch, []
        self.generate = mode(self._body)

    def _body(self) -> Iterator[Any]:
        self.note("start")
        try:
            self.note((yield 1))
            yield 2
        except ValueError as error:
            self.note(str(error))
            yield 3
        finally:
            self.note("end")
        return "returned"

    def note(self, event: Any) -> None:
        self.log.append((event, self.torch.is_grad_enabled(), self.torch.is_inference_mode_enabled()))


def close(run: Run, generator: Any) -> None:
    next(generator)
    generator.close()


def close_before_the_start(run: Run, generator: Any) -> None:
    generator.close()


def drop(run: Run, generator: Any) -> None:
    next(generator)
    del generator


def send_to_the_end(run: Run, generator: Any) -> None:
    next(generator)
    run.note("between")
    generator.send("sent")
    run.note("between")
    try:
        next(generator)
    except StopIteration as stop:
        run.note(stop.value)


def throw_what_it_handles(run: Run, generator: Any) -> None:
    next(generator)
    run.note(generator.throw(ValueError("thrown")))
    generator.close()


def throw_what_it_does_not(run: Run, generator: Any) -> None:
    next(generator)
    try:
        generator.throw(KeyError("thrown"))
    except KeyError:
        run.note("raised")


WAYS = [close, close_before_the_start, drop, send_to_the_end, throw_what_it_handles, throw_what_it_does_not]


@pytest.mark.parametrize("outside", [True, False])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", MODES)
def test_a_generator(mode: str, way: Any, outside: bool) -> None:
    def case(torch: Any) -> Any:
        run = Run(torch, MODES[mode](torch))
        with torch.set_grad_enabled(outside):
            way(run, run.generate())
            run.note("after")
        return run.log

    agree(case)


def test_a_generator_that_ignores_its_end() -> None:
    def case(torch: Any) -> Any:
        @torch.no_grad()
        def generate() -> Iterator[Any]:
            try:
                yield 1
            except GeneratorExit:
                yield 2

        generator: Any = generate()
        next(generator)
        generator.close()

    agree(case, "generator ignored GeneratorExit")


def test_inference_mode_off_turns_grad_on() -> None:
    def case(torch: Any) -> Any:
        with torch.no_grad():
            with torch.inference_mode(False):
                inside = torch.is_grad_enabled()
            return inside, torch.is_grad_enabled()

    agree(case)


def test_threads_share_a_decorated_function() -> None:
    """Two calls at once, the first to begin ending first: each thread gets back what it had."""
    torch = mindtorch_v2
    both_inside, first_left = threading.Barrier(2), threading.Event()
    seen: dict[bool, bool] = {}

    @torch.inference_mode()
    def inside(grad: bool) -> None:
        both_inside.wait(60)
        if not grad:
            first_left.wait(60)

    def call(grad: bool) -> None:
        with torch.set_grad_enabled(grad):
            inside(grad)
            seen[grad] = torch.is_grad_enabled()
        first_left.set()

    threads = [threading.Thread(target=call, args=(grad,)) for grad in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {True: True, False: False}


def test_no_function_is_decorated_by_none() -> None:
    agree(lambda torch: type(torch.enable_grad(None)).__name__)


def test_multithreading_is_a_setting_of_the_thread() -> None:
    def seen(t: Any) -> Any:
        states = [t.autograd.is_multithreading_enabled()]
        with t.autograd.set_multithreading_enabled(False):
            states.append(t.autograd.is_multithreading_enabled())
            other = threading.Thread(target=lambda: states.append(t.autograd.is_multithreading_enabled()))
            other.start()
            other.join()
        states.append(t.autograd.is_multithreading_enabled())

        @t.autograd.set_multithreading_enabled(False)
        def inside() -> bool:
            return t.autograd.is_multithreading_enabled()

        states += [t.autograd.is_multithreading_enabled(), inside()]
        t.autograd.set_multithreading_enabled(True)
        return [*states, t.autograd.is_multithreading_enabled()]

    agree(seen)
