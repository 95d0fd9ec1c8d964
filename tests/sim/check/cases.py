"""Wrong kernels beside their right forms, and the reports that the checker gives on the wrong ones.

``python -m tests.sim.check.cases`` writes the reports anew, into expected/ and docs/checker.md; with a case's name and
``wrong`` or ``right`` it prints that report.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch_v2.npu import build, paths
from tests.sim.ascendc.device import AsyncError, Device

HERE = Path(__file__).resolve().parent
KERNELS = HERE / "kernels"
EXPECTED = HERE / "expected"
ROOT = HERE.parents[2]
DOCUMENT = ROOT / "docs" / "checker.md"

_u8, _u32, _i32, _bool = ctypes.c_uint8, ctypes.c_uint32, ctypes.c_int32, ctypes.c_bool
_WITHOUT_AUTOSYNC = {"MINDTORCH_SIM_CHECK_AUTOSYNC": "0"}
_CHECKED = {"MINDTORCH_SIM_CHECK": "1"}
_LEAKS = {"MINDTORCH_SIM_CHECK_LEAKS": "1"}
_ELEMENTS = 1024  # floats in each of a kernel's arrays


@dataclass(frozen=True)
class Case:
    """A kernel that is wrong with some last argument and right with another.

    It gets ``arrays`` arrays before it, the last one of them unwritten where ``wrong`` is ``None``, and written where
    ``right`` is. ``environment`` is what the simulated NPU must find when its library is opened.
    """

    name: str
    source: str
    kernel: str
    wrong: Any
    right: Any
    blocks: int = 1
    arrays: int = 2
    environment: Mapping[str, str] = field(default_factory=dict)


CASES = (
    Case("past_buffer", "memory.cpp", "past_buffer", _u32(72), _u32(64)),
    Case("past_buffer_by_repeats", "memory.cpp", "past_buffer_by_repeats", _u8(8), _u8(4)),
    Case("past_declared_size", "memory.cpp", "past_declared", _u32(63), _u32(64)),
    Case("past_allocation", "memory.cpp", "past_allocation", _u32(976), _u32(960)),
    Case("past_index", "memory.cpp", "past_index", _u32(64), _u32(63)),
    Case("past_gather_offset", "memory.cpp", "gather_past", _u32(8), _u32(4)),
    Case("past_l1", "memory.cpp", "fractals_past", _u8(3), _u8(2)),
    Case("written_by_pointer", "memory.cpp", "writes_by_pointer", _u32(1024), _u32(1023)),
    # In a process of its own: how far it is from an allocation depends on what the process allocated before.
    Case("written_far_by_pointer", "memory.cpp", "writes_by_pointer", _u32(5000000), _u32(0), environment=_CHECKED),
    Case("read_by_pointer", "memory.cpp", "reads_by_pointer", _u32(1030), _u32(1023)),
    Case("struct_by_pointer", "memory.cpp", "copies_a_struct", _u32(341), _u32(340)),
    Case("no_pointer", "memory.cpp", "writes_to_nobody", _bool(False), _bool(True)),
    Case("misaligned", "memory.cpp", "misaligned", _u32(3), _u32(8)),
    Case("rounded_down", "memory.cpp", "rounded_down", _u32(63), _u32(64)),
    Case("uninitialised", "memory.cpp", "uninitialised", _u32(60), _u32(64)),
    Case("undefined_padding", "memory.cpp", "padded", _bool(False), _bool(True)),
    Case("compare_tail", "memory.cpp", "compare_tail", _u32(63), _u32(64)),
    Case("unwritten_global_memory", "memory.cpp", "copies", None, None),
    Case("addition_to_unwritten_global_memory", "memory.cpp", "adds_to", None, None),
    Case("freed", "queues.cpp", "life", _i32(1), _i32(0)),
    Case("queued", "queues.cpp", "life", _i32(2), _i32(0)),
    Case("freed_twice", "queues.cpp", "life", _i32(3), _i32(0)),
    Case("never_freed", "queues.cpp", "life", _i32(4), _i32(0), environment=_LEAKS),
    Case("left_in_queue", "queues.cpp", "life", _i32(5), _i32(0)),
    Case("budget", "queues.cpp", "budget", _u32(50000), _u32(32000), arrays=1),
    Case("too_many_buffers", "queues.cpp", "buffers", _i32(65), _i32(64), arrays=1),
    Case("too_many_events", "queues.cpp", "events", _i32(9), _i32(8), arrays=1),
    Case("too_many_queue_buffers", "queues.cpp", "queue_buffers", _u8(5), _u8(4), arrays=1),
    Case("flag_set_twice", "order.cpp", "flags", _i32(1), _i32(0), arrays=1),
    Case("flag_never_waited_for", "order.cpp", "flags", _i32(2), _i32(0), arrays=1),
    Case("flag_never_set", "order.cpp", "flags", _i32(3), _i32(0), arrays=1),
    Case("race_mte2_v", "order.cpp", "pipeline", _i32(1), _i32(0)),
    Case("race_v_s", "order.cpp", "pipeline", _i32(2), _i32(0), environment=_WITHOUT_AUTOSYNC),
    Case("race_s_mte3", "order.cpp", "pipeline", _i32(3), _i32(0), environment=_WITHOUT_AUTOSYNC),
    Case("race_mte3_mte2", "order.cpp", "pipeline", _i32(5), _i32(0)),
    Case("race_without_queue", "order.cpp", "without_queue", _bool(False), _bool(True)),
    Case("race_behind_queue", "order.cpp", "scalar_behind_queue", _bool(False), _bool(True)),
    Case("race_mte2_mte1", "order.cpp", "product", _i32(1), _i32(0)),
    Case("race_mte1_m", "order.cpp", "product", _i32(2), _i32(0)),
    Case("race_m_fix", "order.cpp", "product", _i32(3), _i32(0)),
    Case("race_of_writers", "order.cpp", "write_blocks", _u32(7), _u32(8), blocks=4, arrays=1),
    Case("race_with_additions", "order.cpp", "add_blocks", _bool(True), _bool(False), blocks=4, arrays=1),
    Case("race_of_neighbours", "order.cpp", "read_neighbour", _bool(False), _bool(True), blocks=4),
    Case("race_with_itself", "order.cpp", "read_back", _bool(False), _bool(True)),
    Case("race_of_cube_and_vector", "order.cpp", "hand_over", _bool(False), _bool(True)),
)


def run(device: Device, library: ctypes.CDLL, case: Case, *, wrong: bool) -> None:
    """Launches a case's kernel and waits for it. Raises ``AsyncError`` with what the checker found."""
    argument = case.wrong if wrong else case.right
    ones = np.ones(_ELEMENTS, np.float32)
    arrays = [device.upload(ones) for _ in range(case.arrays)]
    if argument is None and wrong:
        arrays[-1] = device.allocate(ones.nbytes)
    arguments = arrays if argument is None else [*arrays, argument]
    device.launch(getattr(library, f"aclrtlaunch_{case.kernel}"), case.blocks, *arguments)
    device.synchronize()


def report(case: Case, *, wrong: bool) -> str:
    """What the checker finds in a case's kernel, as ``text`` of it: empty where it finds nothing.

    A case with an environment runs in a process that starts with it.
    """
    if case.environment:
        command = [sys.executable, "-m", "tests.sim.check.cases", case.name, "wrong" if wrong else "right"]
        environment = {**os.environ, **case.environment}
        return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return _report_here(case, wrong=wrong)


def _report_here(case: Case, *, wrong: bool) -> str:
    device = Device(paths.simulator_library())
    try:
        run(device, checked_library(case.source), case, wrong=wrong)
    except AsyncError as error:
        return text(error)
    finally:
        device.free_all()
    return ""


@functools.cache
def checked_library(source: str) -> ctypes.CDLL:
    """One of the sources in kernels/, built for the checker."""
    before = os.environ.get("MINDTORCH_SIM_CHECK")
    os.environ["MINDTORCH_SIM_CHECK"] = "1"
    try:
        return ctypes.CDLL(str(build.build_ascendc(Path(source).stem, [KERNELS / source])))
    finally:
        if before is None:
            del os.environ["MINDTORCH_SIM_CHECK"]
        else:
            os.environ["MINDTORCH_SIM_CHECK"] = before


def text(error: AsyncError) -> str:
    """The error's code and the checker's text, without what differs from run to run: folders and addresses."""
    said = error.message[error.message.index("MINDTORCH_SIM_CHECK") :]
    return f"{error.code}: " + re.sub(r"0x[0-9a-f]+", "0x...", said).replace(f"{KERNELS}/", "") + "\n"


def with_examples(document: str) -> str:
    """The document with the text of every example between ``<!-- example: NAME -->`` and the end of its block."""

    def example(match: re.Match[str]) -> str:
        text = (EXPECTED / f"{match['name']}.txt").read_text().partition(": ")[2]
        return f"<!-- example: {match['name']} -->\n```text\n{text}```\n"

    return re.sub(r"<!-- example: (?P<name>\w+) -->\n(?:```text\n.*?```\n)?", example, document, flags=re.DOTALL)


def _write() -> None:
    EXPECTED.mkdir(exist_ok=True)
    for case in CASES:
        found = report(case, wrong=True)
        if not found:
            raise SystemExit(f"{case.name}: the checker found nothing")
        (EXPECTED / f"{case.name}.txt").write_text(found)
    DOCUMENT.write_text(with_examples(DOCUMENT.read_text()))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        (chosen,) = (case for case in CASES if case.name == sys.argv[1])
        print(_report_here(chosen, wrong=sys.argv[2] == "wrong"), end="")
    else:
        _write()
