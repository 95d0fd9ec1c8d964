"""The caching allocator: what is counted, what is reused and when, and running out."""

from __future__ import annotations

import gc
import random
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mindtorch_v2 import _core, npu
from tests.npu.conftest import Gate, on, simulator_only, values

U8 = _core.dtypes["uint8"]


@pytest.fixture(autouse=True)
def empty():
    npu.synchronize()
    npu.empty_cache()


def test_counters():
    before = npu.memory_allocated()
    npu.reset_peak_memory_stats()
    tensors = [npu.alloc((1000,), U8, "npu") for _ in range(3)]
    assert npu.memory_allocated() == before + 3 * 1024
    del tensors
    assert npu.memory_allocated() == before
    assert npu.max_memory_allocated() == before + 3 * 1024
    assert npu.memory_reserved() >= before + 3 * 1024
    npu.empty_cache()
    assert npu.memory_reserved() == before


def test_npus_are_counted_apart():
    before = npu.memory_allocated(0), npu.memory_allocated(1)
    held = npu.alloc((4096,), U8, "npu:1")
    assert (npu.memory_allocated(0), npu.memory_allocated(1)) == (before[0], before[1] + 4096)
    del held


@pytest.mark.parametrize("nbytes", [1, 511, 512, 513, 5000, 10**6, 10**7 + 1])
def test_a_block_is_at_most_an_eighth_too_large(nbytes):
    before = npu.memory_allocated()
    held = npu.alloc((nbytes,), U8, "npu")
    size = npu.memory_allocated() - before
    assert nbytes <= size <= max(512 * -(-nbytes // 512), nbytes * 9 / 8)
    del held


def test_a_freed_block_is_reused():
    first = npu.alloc((1000,), U8, "npu")
    address = first.data_ptr()
    del first
    assert npu.alloc((900,), U8, "npu").data_ptr() == address


def test_a_block_is_not_reused_on_another_stream():
    first = npu.alloc((1000,), U8, "npu")
    address = first.data_ptr()
    del first
    with npu.stream(npu.Stream()):
        second = npu.alloc((1000,), U8, "npu")
    assert second.data_ptr() != address


def test_a_temporary_lives_until_its_stream_has_passed_it(gate, scale):
    """Its memory is handed out at once on its own stream, where whatever uses it next is queued behind."""
    ones = on("npu", np.ones(4, np.float32))
    with npu.stream(gate.stream):
        temporary, out = npu.alloc_like(ones), npu.alloc_like(ones)
        scale(1, ones, temporary, 7.0, 4)
        scale(1, temporary, out, 1.0, 4)
        address = temporary.data_ptr()
        del temporary
        reused = npu.alloc_like(ones)
        assert reused.data_ptr() == address
        scale(1, ones, reused, 0.0, 4)
    gate.open()
    gate.stream.synchronize()
    np.testing.assert_array_equal(values(out), [7, 7, 7, 7])


def test_a_block_used_on_another_stream_is_not_overwritten_before_that_stream_is_done(gate, scale):
    """The tensor belongs to the default stream; a held-up one reads it after it was freed and its memory reused."""
    x, ones = on("npu", np.full(4, 5, np.float32)), on("npu", np.ones(4, np.float32))
    address = x.data_ptr()
    with npu.stream(gate.stream):
        out = npu.alloc_like(x)
        scale(1, x, out, 1.0, 4)
    del x
    reused = npu.alloc_like(ones)
    assert reused.data_ptr() == address
    scale(1, ones, reused, 0.0, 4)
    gate.open()
    gate.stream.synchronize()
    np.testing.assert_array_equal(values(out), [5, 5, 5, 5])


def test_many_launches_keep_memory_flat(scale):
    x = on("npu", np.ones(100, np.float32))
    streams = [npu.Stream() for _ in range(4)]

    def burst():
        for i in range(400):
            with npu.stream(streams[i % 4]):
                out = npu.alloc_like(x)
                scale(1, x, out, 2.0, 100)
                del out
        for stream in streams:
            stream.synchronize()

    burst()
    reserved = npu.memory_reserved()
    burst()
    assert npu.memory_reserved() == reserved


OUT_OF_MEMORY = """
from mindtorch_v2 import _core, npu
half = npu.mem_get_info()[0] // 2
u8 = _core.dtypes["uint8"]
cached = [npu.alloc((half // 2,), u8, "npu") for _ in range(2)]
del cached
big = npu.alloc((half + half // 2,), u8, "npu")     # fits only once the cache is emptied
try:
    npu.alloc((half,), u8, "npu")
except npu.OutOfMemoryError as error:
    print(isinstance(error, RuntimeError), error.requested >= half, error.free < half, error.reserved > half)
    print(error)
"""


def test_running_out_empties_the_cache_then_says_what_there_is(child_env):
    done = subprocess.run(
        [sys.executable, "-c", OUT_OF_MEMORY], capture_output=True, text=True, env=child_env, check=False
    )
    assert done.stderr == ""
    flags, text = done.stdout.splitlines()
    assert flags == "True True True True"
    assert re.fullmatch(
        r"npu:0 is out of memory: tried to allocate [\d.]+ MiB, [\d.]+ MiB of [\d.]+ MiB are free; [\d.]+ MiB are "
        r"reserved here, [\d.]+ MiB of them in live tensors \(the cache was emptied\)",
        text,
    )


def test_an_empty_tensor_takes_no_memory():
    before = npu.memory_allocated()
    held = npu.alloc((0, 3), U8, "npu")
    assert (npu.memory_allocated(), held.data_ptr()) == (before, 0)


@simulator_only
def test_device_memory_faults_on_the_host(child_env):
    code = "import ctypes; from mindtorch_v2 import npu; ctypes.string_at(npu.upload(b'x').data_ptr(), 1)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=child_env, check=False)
    assert done.returncode < 0


def test_a_gate_on_each_npu(kernels):
    gates = [Gate(kernels, f"npu:{index}") for index in range(2)]
    assert not any(gate.stream.query() for gate in gates)
    for gate in gates:
        gate.open()
        gate.stream.synchronize()


# ---------------------------------------------------------------- counters
def test_stats_follow_what_is_allocated():
    npu.reset_peak_memory_stats()
    npu.reset_accumulated_memory_stats()
    before = npu.memory_stats()
    held = [npu.alloc((1000,), U8, "npu") for _ in range(3)]
    del held[1:]
    after = npu.memory_stats()

    def grown(name):
        return after[name] - before[name]

    for what in ("allocation", "active"):
        assert [grown(f"{what}.all.{m}") for m in ("current", "peak", "allocated", "freed")] == [1, 3, 3, 2]
    for what, size in (("allocated_bytes", 1024), ("active_bytes", 1024), ("requested_bytes", 1000)):
        metrics = [grown(f"{what}.all.{m}") for m in ("current", "peak", "allocated", "freed")]
        assert metrics == [size, 3 * size, 3 * size, 2 * size]
    assert [grown(f"segment.all.{m}") for m in ("current", "allocated", "freed")] == [3, 3, 0]
    assert grown("reserved_bytes.all.current") == 3 * 1024
    assert (grown("num_device_alloc"), grown("num_ooms")) == (3, 0)
    assert npu.max_memory_reserved() == npu.memory_reserved()
    npu.empty_cache()
    assert npu.memory_stats()["num_device_free"] == before["num_device_free"] + 2
    del held


def test_a_summary_to_read():
    held = npu.alloc((3 << 20,), U8, "npu")
    rows = [line.split("|") for line in npu.memory_summary().splitlines()]
    cells = {row[1].strip(): [cell.strip() for cell in row[2:-1]] for row in rows if len(row) == 7}
    assert cells["Metric"] == ["Cur Usage", "Peak Usage", "Tot Alloc", "Tot Freed"]
    assert cells["Allocated memory"][0] == f"{npu.memory_allocated() >> 20} MiB"
    assert set(cells) == {"Metric", "Allocated memory", "Requested memory", "Reserved memory", "Allocations",
                          "Reserved segments"}  # fmt: skip
    assert len(npu.memory_summary(abbreviated=True)) < len(npu.memory_summary())
    del held


def test_a_limit_for_the_process():
    total = npu.mem_get_info()[1]
    assert npu.get_per_process_memory_fraction() == 1.0
    npu.set_per_process_memory_fraction(0.25)
    try:
        cached = npu.alloc((total // 8,), U8, "npu")
        del cached
        fits = npu.alloc((total // 5,), U8, "npu")  # once the cache is emptied
        with pytest.raises(npu.OutOfMemoryError) as caught:
            npu.alloc((total // 10,), U8, "npu")
        assert str(caught.value).endswith(
            f"(the cache was emptied; the process may reserve {total / 4 / 2**20:.2f} MiB)"
        )
        assert npu.get_per_process_memory_fraction() == 0.25
        npu.alloc((total // 2,), U8, "npu:1")
        del fits
    finally:
        npu.set_per_process_memory_fraction(1.0)
    npu.alloc((total // 2,), U8, "npu")


@pytest.mark.parametrize(
    ("fraction", "kind", "expected"),
    [
        (1, TypeError, "Invalid type for fraction argument, must be `float`"),
        (1.5, ValueError, "Invalid fraction value: 1.5. Allowed range: 0~1"),
    ],
)
def test_a_limit_that_is_none(fraction, kind, expected):
    with pytest.raises(kind) as caught:
        npu.set_per_process_memory_fraction(fraction)
    assert str(caught.value) == expected


def test_record_stream(gate, scale):
    """As when a kernel gets the address another way: the tensor says itself which stream uses it."""
    x, ones = on("npu", np.full(4, 5, np.float32)), on("npu", np.ones(4, np.float32))
    out, address = npu.alloc_like(x), npu.tensor_ptr(x)
    with npu.stream(gate.stream):
        scale(1, address, out, 1.0, 4)
    x.record_stream(gate.stream)
    del x
    reused = npu.alloc_like(ones)
    assert reused.data_ptr() == address
    scale(1, ones, reused, 0.0, 4)
    gate.open()
    gate.stream.synchronize()
    np.testing.assert_array_equal(values(out), [5, 5, 5, 5])


def test_record_stream_is_no_change():
    """Which its schema says it is; in PyTorch nothing counts it either."""
    x = on("npu", [2.0, 3.0]).requires_grad_()
    y = x * x
    for tensor in (x, y):
        before = tensor._version, tensor.grad_fn
        assert tensor.record_stream(npu.current_stream()) is None
        assert (tensor._version, tensor.grad_fn) == before
    y.sum().backward()
    np.testing.assert_array_equal(values(x.grad), [4, 6])


def test_what_record_stream_refuses():
    with pytest.raises(TypeError, match=r"argument 's' .* must be npu.Stream, not int"):
        on("npu", [1.0]).record_stream(1)
    with pytest.raises(
        RuntimeError, match=r"expected a stream of npu:0, the tensor's device, got <npu.Stream device=npu:1"
    ):
        on("npu", [1.0]).record_stream(npu.default_stream(1))


# ---------------------------------------------------------------- blocks, heaps and the table of live blocks
@dataclass
class Block:
    address: int
    size: int
    stream: int
    pool: int
    guests: set[int] = field(default_factory=set)
    serial: int = 0


def block_size(nbytes):
    step = 512
    while nbytes > 16 * step:
        step *= 2
    return -(-nbytes // step) * step


SIDES: list[npu.Stream] = []
CAPTURED = 1  # the stream that captures are of
STREAMS = st.sampled_from([CAPTURED, 0, 2, 3])


class Rules(RuleBasedStateMachine):
    """The allocator beside a plain model of it: which block comes next, and what is counted."""

    def __init__(self):
        super().__init__()
        gc.collect()
        npu.synchronize()
        npu.empty_cache()
        while len(SIDES) < 3:
            SIDES.append(npu.Stream())
        self.streams = [npu.default_stream(), *SIDES]
        self.tensors, self.blocks = [], []
        self.free = defaultdict(list)  # (pool, stream, size): what is reused, the last one first
        self.postponed, self.graph, self.captured = [], None, []
        self.before, self.pools, self.serial = _core.npu_memory(0)[0], _core.npu_pools(0), 0

    @rule(nbytes=st.sampled_from([1, 512, 4097, 4600]) | st.integers(1, 10**5), at=STREAMS, count=st.integers(1, 3))
    def allocate(self, nbytes, at, count):
        for _ in range(count):
            self.takes_block(nbytes, at)

    def takes_block(self, nbytes, at):
        with npu.stream(self.streams[at]):
            tensor = npu.alloc((nbytes,), U8, "npu")
        size, pool = block_size(nbytes), self.graph.pool()[1] if self.graph and at == CAPTURED else 0
        address, lying = tensor.data_ptr(), self.free[pool, at, size]
        if lying:
            block = lying.pop()
            assert block.address == address
        else:
            block = Block(address, size, at, pool)
            assert address not in {known.address for known in self.known()}
        found, block.serial = _core.npu_allocation(address)
        assert found == pool
        assert block.serial > self.serial
        self.serial = block.serial
        self.tensors.append(tensor)
        self.blocks.append(block)

    @precondition(lambda self: self.tensors)
    @rule(data=st.data(), count=st.integers(1, 3))
    def release(self, data, count):
        for _ in range(min(count, len(self.tensors))):
            self.frees_block(data.draw(st.integers(0, len(self.tensors) - 1)))

    def frees_block(self, at):
        block = self.blocks.pop(at)
        self.tensors.pop(at)
        if block.guests and self.graph:
            self.postponed.append(block)
        else:
            self.lies_free(block)
        assert _core.npu_allocation(block.address) is None

    def lies_free(self, block):
        block.guests.clear()
        self.free[block.pool, block.stream, block.size].append(block)

    @precondition(lambda self: self.tensors)
    @rule(data=st.data(), stream=STREAMS)
    def use(self, data, stream):
        at = data.draw(st.integers(0, len(self.tensors) - 1))
        self.tensors[at].record_stream(self.streams[stream])
        if stream != self.blocks[at].stream:
            self.blocks[at].guests.add(stream)

    @precondition(lambda self: not self.graph)
    @rule()
    def empty_cache(self):
        npu.empty_cache()
        for key in [key for key in self.free if key[0] == 0]:
            del self.free[key]

    @precondition(lambda self: not self.graph)
    @rule()
    def begin_capture(self):
        self.graph = npu.NPUGraph()
        with npu.stream(self.streams[CAPTURED]):
            self.graph.capture_begin()

    @precondition(lambda self: self.graph)
    @rule()
    def end_capture(self):
        with npu.stream(self.streams[CAPTURED]):
            self.graph.capture_end()
        self.captured.append(self.graph)
        self.graph = None
        for block in self.postponed:
            self.lies_free(block)
        self.postponed = []

    @precondition(lambda self: self.captured)
    @rule()
    def reset(self):
        graph = self.captured.pop()
        pool = graph.pool()[1]
        graph.reset()
        for _, stream, size in [key for key in self.free if key[0] == pool]:
            self.free[0, stream, size] += self.free.pop((pool, stream, size))
        for block in self.known():
            block.pool = 0 if block.pool == pool else block.pool

    def known(self):
        return [*self.blocks, *self.postponed, *(block for lying in self.free.values() for block in lying)]

    @invariant()
    def is_counted(self):
        for block, tensor in zip(self.blocks, self.tensors, strict=True):
            assert tensor.data_ptr() == block.address
            assert _core.npu_allocation(block.address) == (block.pool, block.serial)
            assert _core.npu_allocation(block.address + 256) is None
        counted = {name: now[0] - self.before[name][0] for name, now in _core.npu_memory(0)[0].items()}
        held = sum(block.size for block in self.blocks)
        assert (counted["allocation"], counted["allocated_bytes"]) == (len(self.blocks), held)
        assert counted["requested_bytes"] == sum(tensor.numel() for tensor in self.tensors)
        known = self.known()
        assert (counted["segment"], counted["reserved_bytes"]) == (len(known), sum(block.size for block in known))
        pools = defaultdict(lambda: (0, 0))
        for block in known:
            allocated, reserved = pools[block.pool]
            lives = block.size if block in self.blocks or block in self.postponed else 0
            pools[block.pool] = allocated + lives, reserved + block.size
        pools.pop(0, None)
        assert _core.npu_pools(0) == {**self.pools, **pools}

    def teardown(self):
        if self.graph:
            self.end_capture()
        while self.captured:
            self.reset()
        for (_, at, size), lying in self.free.items():  # all that lies free is found again, in its order
            for _ in range(len(lying)):
                self.takes_block(size, at)
        while self.tensors:
            self.frees_block(0)
            self.is_counted()
        npu.synchronize()
        npu.empty_cache()


Rules.TestCase.settings = settings(max_examples=30, stateful_step_count=40, deadline=None)
TestRules = Rules.TestCase


def test_thousands_of_live_blocks_come_and_go_in_any_order():
    """The table of them grows, and what is taken out of it leaves no hole that hides another."""
    order, live, freed = random.Random(5), {}, set()
    for round_ in range(6):
        for _ in range(1500):
            tensor = npu.alloc((order.randrange(1, 5000),), U8, "npu")
            live[tensor.data_ptr()] = tensor
        freed = order.sample(sorted(live), len(live) * 2 // 3 if round_ < 5 else len(live))
        del tensor
        for address in freed:
            del live[address]
        assert all(_core.npu_allocation(address) is None for address in freed)
        assert all(_core.npu_allocation(address) is not None for address in live)


@pytest.mark.parametrize("nbytes", [1, 3000, 10**6])
def test_a_block_used_on_many_streams(nbytes):
    streams, tensor = [npu.Stream() for _ in range(20)], npu.alloc((nbytes,), U8, "npu")
    address = tensor.data_ptr()
    for stream in [*streams, *reversed(streams)]:
        tensor.record_stream(stream)
    del tensor
    again = npu.alloc((nbytes,), U8, "npu")
    assert again.data_ptr() == address
    del again


def blocks(count):
    """Tensors of a block each, with their addresses."""
    tensors = [npu.alloc((1000,), U8, "npu") for _ in range(count)]
    return tensors, [tensor.data_ptr() for tensor in tensors]


def free(tensors):
    while tensors:
        del tensors[0]


def test_a_pool_that_is_given_up_joins_what_lies_free():
    """Its free blocks are the next to be reused; those in use return to the same place."""
    before, graph = npu.memory_reserved(), npu.NPUGraph()
    with npu.stream(npu.Stream()):
        ordinary, oldest = blocks(2)
        free(ordinary)
        graph.capture_begin()
        (private, newer), (live, newest) = blocks(2), blocks(2)
        free(private)
        graph.capture_end()
        assert {_core.npu_allocation(address)[0] for address in newest} == {graph.pool()[1]}
        graph.reset()
        assert {_core.npu_allocation(address)[0] for address in newest} == {0}
        again, addresses = blocks(4)
        assert addresses == [*reversed(newer), *reversed(oldest)]
        live += again[2:]
        newest += addresses[2:]
        del again[2:]
        free(again)
        npu.empty_cache()
        assert npu.memory_reserved() == before + 4 * 1024
        with npu.stream(npu.Stream()):  # for which the allocator takes memory, maybe what it knew the others by
            others, _ = blocks(1)
        free(live)
        live, addresses = blocks(4)
        assert addresses == newest[::-1]
        free(live)
        free(others)
        npu.empty_cache()
    assert npu.memory_reserved() == before


def test_blocks_that_others_use_are_put_off_in_a_capture():
    """Until it ends, whereupon they are reused as those are that were freed then, in the order in which they were."""
    graph, second = npu.NPUGraph(), npu.NPUGraph()
    side, other, default = npu.Stream(), npu.Stream(), npu.default_stream()
    tensors, known = blocks(3)
    for tensor in tensors:
        tensor.record_stream(other)
    del tensor
    with npu.stream(side):
        graph.capture_begin()
        free(tensors)
        with npu.stream(default):
            between, addresses = blocks(3)
            assert not set(addresses) & set(known)
        graph.capture_end()
        with npu.stream(default):
            tensors, addresses = blocks(3)
            assert addresses == known[::-1]
        second.capture_begin()
        free(tensors)  # nobody else uses them any more
        with npu.stream(default):
            assert blocks(3)[1] == known
        second.capture_end()
    free(between)


def test_a_pool_is_given_up_while_its_blocks_are_put_off():
    graph, second = npu.NPUGraph(), npu.NPUGraph()
    with npu.stream(npu.Stream()):
        ordinary, _ = blocks(1)
        graph.capture_begin()
        private, addresses = blocks(1)
        graph.capture_end()
        private[0].record_stream(npu.Stream())
        second.capture_begin()
        free(private)
        graph.reset()
        second.capture_end()
        assert blocks(1)[1] == addresses
    free(ordinary)


STARVED = """
import _testcapi
from mindtorch_v2 import _core, npu
u8, streams = _core.dtypes["uint8"], [npu.Stream() for _ in range(40)]

def without_memory(call, *args):
    # The call, after it has failed once at each place where it asks for memory; how often it did.
    for failures in range(1000):
        before = told()
        _testcapi.set_nomemory(failures, failures + 1)
        try:
            return call(*args), failures
        except MemoryError:
            pass
        finally:
            _testcapi.remove_mem_hooks()
        npu.empty_cache()                  # takes what lies free, and so shows whether anything got lost
        assert told() == before, (told(), before)

def told():
    return {name: now[0] for name, now in _core.npu_memory(0)[0].items()}, npu.mem_get_info()

held, most = [], 0
for stream in streams:                     # each has a heap, and the table of live blocks grows
    _core.npu_swap_stream(0, stream.npu_stream)
    tensor, failures = without_memory(_core.alloc, (700,), u8, "npu")
    held.append(tensor)
    most = max(most, failures)
_core.npu_swap_stream(0, 0)
refused = [without_memory(_core.npu_record_stream, held[0], stream.npu_stream)[1] for stream in streams]
print(most > 3, sum(refused) > 3)
"""


@simulator_only
@pytest.mark.skipif(not find_spec("_testcapi"), reason="this Python came without it")
def test_no_memory_of_the_host(child_env):
    done = subprocess.run([sys.executable, "-c", STARVED], capture_output=True, text=True, env=child_env, check=False)
    assert (done.stdout, done.stderr) == ("True True\n", "")
