"""Ten thousand launches on eight streams, tied by events: none is lost, none overtakes, and nothing is left behind."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np

from mindtorch_v2 import _core, npu
from tests.npu.conftest import on, values

LAUNCHES, STREAMS = 10_000, 8


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def chain(bump, counter, streams):
    """Each launch on the next stream, which waits for the launch before; every tenth has memory of its own."""
    event = npu.Event()
    for i in range(LAUNCHES):
        stream = streams[i % len(streams)]
        stream.wait_event(event)
        with npu.stream(stream):
            bump(1, counter)
            if i % 10 == 0:
                temporary = npu.alloc_like(counter)
                bump(1, temporary)
                del temporary
        event = stream.record_event()
    event.synchronize()


def test_ten_thousand_launches_on_eight_streams(kernels):
    bump = kernels.bind("bump", (npu.ptr,))
    counter = on("npu", np.zeros(1, np.int32))
    streams = [npu.Stream() for _ in range(STREAMS)]
    chain(bump, counter, streams)  # the queues and caches have their size now
    npu.synchronize()
    before, device, host = npu.memory_stats(), npu.mem_get_info(), resident()
    chain(bump, counter, streams)
    npu.synchronize()
    assert values(counter)[0] == 2 * LAUNCHES
    after = npu.memory_stats()
    for what in ("allocation", "segment", "reserved_bytes"):
        assert after[f"{what}.all.current"] == before[f"{what}.all.current"]
    assert npu.mem_get_info() == device
    assert resident() - host < 64 * LAUNCHES  # an event or a queued task that stays takes more


def test_threads_wait_for_each_others_streams(kernels):
    """Hosts that sleep and devices that sleep: each of them is woken by another."""
    bump = kernels.bind("bump", (npu.ptr,))
    counters = [on("npu", np.zeros(1, np.int32)) for _ in range(4)]

    def work(counter):
        first, second = npu.Stream(), npu.Stream()
        for _ in range(500):
            with npu.stream(first):
                bump(1, counter)
            second.wait_stream(first)
            with npu.stream(second):
                bump(1, counter)
            first.wait_stream(second)
            second.synchronize()

    threads = [threading.Thread(target=work, args=(counter,)) for counter in counters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [values(counter)[0] for counter in counters] == [1000] * 4
    assert not _core.npu_recording()
