"""Generators: states that PyTorch and this library exchange, copies, threads, forks, other devices' sequences."""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch as pytorch
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch_v2 as ours
from tests.runtime.both import agree


def raw(tensor: Any) -> bytes:
    return bytes(tensor.numpy().tobytes())


def moved(tensor: Any, library: Any) -> Any:
    return library.from_numpy(tensor.numpy().copy())


STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "one normal": lambda t, g: t.empty(1).normal_(generator=g),
    "many normal": lambda t, g: t.empty(100).normal_(generator=g),
    "uniform": lambda t, g: t.empty(37, dtype=t.float64).uniform_(generator=g),
    "integers": lambda t, g: t.randint(0, 100, (11,), generator=g),
    "permutation": lambda t, g: t.randperm(9, generator=g),
}


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**64 - 1), st.lists(st.sampled_from(sorted(STEPS)), max_size=6), st.sampled_from(sorted(STEPS)))
def test_states_are_exchanged_with_pytorch(seed: int, before: list[str], after: str) -> None:
    mine, theirs = ours.Generator().manual_seed(seed), pytorch.Generator().manual_seed(seed)
    for name in before:
        STEPS[name](ours, mine)
        STEPS[name](pytorch, theirs)
    assert raw(mine.get_state()) == raw(theirs.get_state())
    there, here = pytorch.Generator(), ours.Generator()
    there.set_state(moved(mine.get_state(), pytorch))
    here.set_state(moved(theirs.get_state(), ours))
    assert here.initial_seed() == theirs.initial_seed()
    expected = raw(STEPS[after](pytorch, theirs))
    assert raw(STEPS[after](pytorch, there)) == raw(STEPS[after](ours, here)) == expected


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 47) | st.integers(5016, 5055), st.integers(0, 255), st.integers(0, 255))
def test_a_damaged_state_is_refused_or_taken_and_never_read_beyond(at: int, byte: int, next_byte: int) -> None:
    text = bytearray(raw(ours.Generator().get_state()))
    text[at], text[(at + 1) % len(text)] = byte, next_byte
    generator = ours.Generator()
    with contextlib.suppress(RuntimeError):
        generator.set_state(ours.tensor(list(text), dtype=ours.uint8))
    ours.rand(2000, generator=generator)


ALIKE: dict[str, Callable[[Any], Any]] = {
    "a device's name": lambda t: str(t.Generator("cpu:1").device),
    "its first seed": lambda t: t.Generator().initial_seed(),
    "a negative seed": lambda t: t.Generator().manual_seed(-3).initial_seed(),
    "seeds from text": lambda t: t.manual_seed("3").initial_seed(),
    "manual_seed returns itself": lambda t: (g := t.Generator()) is g.manual_seed(3),
    "the default is what manual_seed returns": lambda t: t.manual_seed(3) is t.default_generator,
    "seed is the seed": lambda t: (g := t.Generator()).seed() == g.initial_seed(),
    "names in torch.random": lambda t: sorted(
        set(dir(t.random)) & {"fork_rng", "get_rng_state", "seed", "manual_seed"}
    ),
    "numbers again": lambda t: numbers_again(t),
    "a fork": lambda t: forked(t),
    "a fork that is off": lambda t: forked(t, enabled=False),
    "clone_state": lambda t: of_copy(t, lambda g: g.clone_state()),
    "copies": lambda t: of_copy(t, copy.copy),
    "deep copies": lambda t: of_copy(t, copy.deepcopy),
    "pickles": lambda t: of_copy(t, lambda g: pickle.loads(pickle.dumps(g))),
}


def numbers_again(torch: Any) -> Any:
    torch.manual_seed(4)
    state = torch.get_rng_state()
    first = torch.randn(5)
    torch.set_rng_state(state)
    return first, torch.randn(5), torch.random.initial_seed()


def forked(torch: Any, enabled: bool = True) -> Any:
    torch.manual_seed(4)
    with torch.random.fork_rng(devices=[], enabled=enabled):
        torch.manual_seed(5)
        inside = torch.randn(2)
    return inside, torch.randn(2)


def of_copy(torch: Any, copied: Callable[[Any], Any]) -> Any:
    generator = torch.Generator().manual_seed(6)
    torch.randn(3, generator=generator)
    other = copied(generator)
    numbers = torch.randn(3, generator=other), torch.randn(3, generator=generator), torch.randn(1, generator=other)
    return other is generator, other.initial_seed(), numbers


@pytest.mark.parametrize("name", ALIKE)
def test_generators_are_as_pytorchs(name: str) -> None:
    agree(ALIKE[name])


ERRORS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "no state": ("expected a torch.ByteTensor, but got int", lambda t: t.Generator().set_state(3)),
    "a state of floats": ("RNG state must be a torch.ByteTensor", lambda t: t.Generator().set_state(t.zeros(5056))),
    "a short state": ("state size to be 3", lambda t: t.Generator().set_state(t.zeros(3, dtype=t.uint8))),
    "a state with gaps": ("contiguous", lambda t: t.Generator().set_state(t.get_rng_state()[::2])),
    "zeros": ("Invalid mt19937 state", lambda t: t.Generator().set_state(t.zeros(5056, dtype=t.uint8))),
    "an offset": ("CPU Generator does not use offset", lambda t: t.Generator().get_offset()),
    "another offset": ("CPU Generator does not use offset", lambda t: t.Generator().set_offset(4)),
    "a shared state": ("graphsafe_get_state is not supported", lambda t: t.Generator().graphsafe_get_state()),
    "a state to share": ("graphsafe_set_state is not", lambda t: t.Generator().graphsafe_set_state(t.Generator())),
    "no seed": ("manual_seed expected", lambda t: t.Generator().manual_seed(1.5)),
    "a large seed": ("Overflow when unpacking long", lambda t: t.manual_seed(2**64)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    quoted, case = ERRORS[name]
    agree(case, quoted)


def test_threads_share_a_generator_and_no_number() -> None:
    generator = ours.Generator().manual_seed(1)
    drawn: list[Any] = []

    def draw() -> None:
        for _ in range(20):
            drawn.append(ours.rand(200_000, generator=generator))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = ours.rand(80 * 200_000, generator=ours.Generator().manual_seed(1)).reshape(80, 200_000)
    expected = {raw(row) for row in whole}
    assert {raw(row) for row in drawn} == expected


def test_other_threads_run_while_one_waits_for_a_generator() -> None:
    generator = ours.Generator()
    count = 0
    done = threading.Event()

    def draw() -> None:
        ours.empty(6_000_000, dtype=ours.float64).normal_(generator=generator)

    threads = [threading.Thread(target=draw) for _ in range(2)]

    def watch() -> None:
        nonlocal count
        while not done.is_set():
            count += 1
            time.sleep(0.001)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    watcher.join()
    assert count > 20


def test_a_forked_child_draws_though_a_thread_drew_at_the_fork() -> None:
    code = """
import os, threading, time
import mindtorch_v2 as torch
x = torch.empty(20_000_000, dtype=torch.float64)
thread = threading.Thread(target=x.normal_)
thread.start()
time.sleep(0.05)
child = os.fork()
if child == 0:
    torch.manual_seed(3)
    same = torch.equal(torch.rand(5), torch.rand(5, generator=torch.Generator().manual_seed(3)))
    os._exit(0 if same else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
thread.join()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)


def test_a_forked_child_draws_the_same_numbers() -> None:
    ours.manual_seed(8)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, raw(ours.rand(4)))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 16) == raw(ours.rand(4))
    os.close(reader)
    os.close(writer)


def test_a_signal_handler_that_draws_meanwhile_is_told_so() -> None:
    code = """
import signal
import mindtorch_v2 as torch
said = []
def handler(*_):
    try:
        torch.rand(2)
    except RuntimeError as error:
        said.append(str(error))
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.2)
x = torch.empty(30_000_000, dtype=torch.float64)
while not said:
    x.normal_()
assert "draws random numbers already" in said[0], said
torch.rand(2)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


# ---------------------------------------------------------------- other devices
def philox(counter: int, key: int) -> list[int]:
    """Four words by the paper's definition, in Python's integers."""
    c = [counter >> 32 * i & 0xFFFFFFFF for i in range(4)]
    k = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [k[0] + 0x9E3779B9 & 0xFFFFFFFF, k[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return c


def test_the_definition_of_philox_gives_its_authors_numbers() -> None:
    every = (1 << 128) - 1
    assert philox(0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox(every, every >> 64) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    pi = 0x03707344_13198A2E_85A308D3_243F6A88
    assert philox(pi, 0x299F31D0_A4093822) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 1000), st.integers(1, 900))
def test_an_npus_numbers_are_those_of_philox(seed: int, blocks: int, count: int) -> None:
    generator = ours.Generator("npu").manual_seed(seed)
    generator.set_offset(4 * blocks)
    drawn = ours.empty(count, dtype=ours.int32, device="npu").random_(generator=generator)
    words = [word for i in range(-(-count // 4)) for word in philox(blocks + i, seed)][:count]
    assert drawn.cpu().tolist() == [word % 2**31 for word in words]
    assert generator.get_offset() == 4 * (blocks + -(-count // 4))


def test_an_npus_generator_is_its_own() -> None:
    ours.manual_seed(3)
    state = ours.get_rng_state()
    first = ours.randn(5, device="npu")
    assert raw(ours.get_rng_state()) == raw(state)
    ours.manual_seed(3)
    assert ours.randn(5, device="npu").tolist() == first.tolist()
    dropped = ours.nn.functional.dropout(ours.ones(1000, device="npu"), 0.25)
    assert 600 < (dropped != 0).sum().item() < 900
    assert raw(ours.get_rng_state()) == raw(state)
    with pytest.raises(RuntimeError, match="Expected a 'npu' device type for generator but found 'cpu'"):
        ours.empty(3, device="npu").normal_(generator=ours.Generator())
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'npu'"):
        ours.empty(3).normal_(generator=ours.Generator("npu"))


def test_an_npus_sequence_is_kept_copied_and_shared() -> None:
    generator = ours.Generator("npu").manual_seed(5)
    ours.rand(10, device="npu", generator=generator)
    saved = generator.get_state()
    assert raw(saved) == (5).to_bytes(8, "little") + (12).to_bytes(8, "little")
    shared = generator.graphsafe_get_state()
    copied = pickle.loads(pickle.dumps(generator))
    first = ours.rand(3, device="npu", generator=generator).tolist()
    assert shared.get_offset() == generator.get_offset() == 16
    assert ours.rand(3, device="npu", generator=copied).tolist() == first
    generator.set_state(saved)
    assert ours.rand(3, device="npu", generator=shared).tolist() == first
    with pytest.raises(RuntimeError, match="multiple of 4"):
        generator.set_offset(3)


def test_fork_rng_keeps_an_npus_sequence() -> None:
    ours.manual_seed(9)
    first = ours.rand(3, device="npu").tolist()
    ours.manual_seed(9)
    with ours.random.fork_rng():
        ours.manual_seed(10)
        ours.rand(7, device="npu")
    assert ours.rand(3, device="npu").tolist() == first


def test_npus_have_seeds_of_their_own() -> None:
    ours.manual_seed(1)
    ours.npu.manual_seed(5)
    assert (ours.npu.initial_seed(), ours.initial_seed()) == (5, 1)
    state = ours.npu.get_rng_state()
    first = ours.rand(3, device="npu").tolist()
    ours.npu.set_rng_state(state)
    assert ours.rand(3, device="npu").tolist() == first
    states = ours.npu.get_rng_state_all()
    ours.npu.seed_all()
    ours.npu.set_rng_state_all(states)
    ours.npu.manual_seed_all(5)
    assert ours.rand(3, device="npu").tolist() == first
    ours.npu.seed()
    assert ours.npu.initial_seed() != 5
