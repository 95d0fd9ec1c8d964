"""What the simulated NPU's headers cannot compile is refused with a reason, and C++17 is a language for kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from mindtorch_v2.npu import build

KERNEL = """#include "kernel_operator.h"
using namespace AscendC;
{before}
extern "C" __global__ __aicore__ void only(GM_ADDR x) {{ {body} }}
"""
BY_KIND = "struct Op {{ template <int32_t KIND = g_coreType> __aicore__ inline void operator()(GM_ADDR x); {} }};"


def built(folder: Path, *, before: str = "", body: str = "", flags: tuple[str, ...] = ()) -> Path:
    source = folder / "only.cpp"
    source.write_text(KERNEL.format(before=before, body=body))
    return build.build_ascendc("only", [source], flags=flags)


@pytest.mark.parametrize(
    ("before", "body", "said"),
    [
        (BY_KIND.format(""), "Op op; op(x);", "help: the kind of core is known when the kernel runs"),
        (
            BY_KIND.format("template <> __aicore__ inline void operator()<AscendC::AIC>(GM_ADDR x) {}"),
            "Op op; op(x);",
            "help: the kind of core is known when the kernel runs",
        ),
        (
            "struct Op { template <int N> void run() {} template <> void run<3>() {} };",
            "Op op; op.run<3>();",
            "help: g\\+\\+ knows members that are specialised in their class from version 14 on",
        ),
        (
            "",
            "auto trait = MakeTensorTrait<float, TPosition::VECIN>(MakeLayout(MakeShape(4, 4), MakeStride(4, 1)));"
            "LocalTensor<decltype(trait)> a, b; DataCopy(a, b, 16);",
            "instructions over tensors with a layout are not simulated, see docs/ascendc.md",
        ),
    ],
)
def test_a_reason_is_given(tmp_path, before, body, said):
    with pytest.raises(build.BuildError, match=said):
        built(tmp_path, before=before, body=body)


def test_seventeen_is_a_language(tmp_path):
    assert built(tmp_path, flags=("-std=c++17",)).is_file()
