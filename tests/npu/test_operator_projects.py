"""Custom-operator projects: tiling from the host's declarations, keys, dtypes, and what the build is given."""

from __future__ import annotations

import importlib
import re
import struct

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import npu
from mtcodegen.cli.main import main
from tests.npu.conftest import simulator_only

pytestmark = simulator_only

HOST = """
#include "register/tilingdata_base.h"
#include "tiling/tiling_api.h"
namespace optiling {
const uint32_t MOST = 3;
BEGIN_TILING_DATA_DEF(Factors)
TILING_DATA_FIELD_DEF(double, first)
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(FactorsOp, Factors)
BEGIN_TILING_DATA_DEF(SpreadTiling)
  TILING_DATA_FIELD_DEF(uint8_t, kind);
  TILING_DATA_FIELD_DEF_ARR(int32_t, MOST, values);
  TILING_DATA_FIELD_DEF(bool, flag);
  TILING_DATA_FIELD_DEF_STRUCT(Factors, factors);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Spread, SpreadTiling)
}
"""
KERNEL = """
#include "kernel_operator.h"
#include "offset.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void spread(GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA(data, tiling);
  GlobalTensor<DTYPE_Y> yGm;
  yGm.SetGlobalBuffer((__gm__ DTYPE_Y*)y, 8);
  if (TILING_KEY_IS(2)) {
    yGm.SetValue(0, data.kind);
    for (int i = 0; i < 3; i++) yGm.SetValue(i + 1, data.values[i]);
    yGm.SetValue(4, data.flag ? 1 : 0);
    yGm.SetValue(5, data.factors.first);
    yGm.SetValue(6, OFFSET);
#if ORIG_DTYPE_Y == DT_FLOAT
    yGm.SetValue(7, SEVEN);
#endif
  }
}
"""
DEFINES = {"DTYPE_Y": "float", "ORIG_DTYPE_Y": "DT_FLOAT", "TILING_KEY_VAR": 2}


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("MINDTORCH_CACHE_DIR", str(tmp_path / "cache"))
    for folder in ("op_host", "op_kernel", "headers"):
        (tmp_path / folder).mkdir()
    (tmp_path / "op_host" / "spread.h").write_text(HOST)
    (tmp_path / "op_kernel" / "spread.cpp").write_text(KERNEL)
    (tmp_path / "headers" / "offset.h").write_text("#define OFFSET 42\n")
    return tmp_path


def load(project, **options):
    sources = [project / "op_kernel" / "spread.cpp", project / "op_host" / "spread.h"]
    return npu.ascendc_load("spread", sources, include=[project / "headers"], **options)


def run(project, library) -> list[float]:
    layout = npu.tiling_struct(project / "op_host" / "spread.h", "SpreadTiling")
    factors = npu.tiling_struct(project / "op_host" / "spread.h", "Factors")
    tiling = npu.upload(layout(kind=5, values=[-1, 2, -3], flag=True, factors=factors(first=0.25)))
    y = torch.zeros(8, device="npu")
    library.bind("spread", (npu.ptr, npu.ptr, npu.ptr))(1, y, None, tiling)
    return y.tolist()


def test_the_kernel_reads_what_python_packed(project):
    library = load(project, defines=DEFINES, flags=["-DSEVEN=7"])
    assert run(project, library) == [5, -1, 2, -3, 1, 0.25, 42, 7]


ENTRY = """
namespace: project
ops:
- func: spread(Tensor x, int[] values) -> Tensor
  fake: {like: x}
  kernels:
  - device: npu
    source: op_kernel/spread.cpp
    symbol: spread
    include: headers
    defines: {DTYPE_Y: float, ORIG_DTYPE_Y: DT_FLOAT, TILING_KEY_VAR: 2, SEVEN: 7}
    block_dim: 1
    tiling:
      from: op_host/spread.h
      class: SpreadTiling
      fields:
        flag: True
        values: ["values[0]", "x.dim()", -3]
        kind: 5
    args: [out, None, upload(tiling)]
  backward: not_implemented
"""


def test_a_declared_operator_gives_arrays_their_values(project, monkeypatch):
    host = project / "op_host" / "spread.h"
    alone = re.sub(r".*_STRUCT\(Factors.*\n|.*\(FactorsOp.*\n", "", host.read_text())
    host.write_text(alone)
    kernel = project / "op_kernel" / "spread.cpp"
    kernel.write_text(kernel.read_text().replace("data.factors.first", "0.25f"))
    (project / "spread_ops.yaml").write_text(ENTRY)
    assert main(["generate", str(project / "spread_ops.yaml"), "-o", str(project)]) == 0
    monkeypatch.syspath_prepend(str(project))
    spread = importlib.import_module("spread_ops").spread
    assert spread(torch.zeros(8, device="npu"), [-1, 9]).tolist() == [5, -1, 1, -3, 1, 0.25, 42, 7]


def test_the_layout_is_that_of_c(project):
    layout = npu.tiling_struct(project / "op_host" / "spread.h", "SpreadTiling")
    packed = layout(kind=5, values=(1, 2, 3), flag=False, factors=struct.pack("d", 1.5))
    assert packed == struct.pack("<B3x3i?7xd", 5, 1, 2, 3, False, 1.5)


def test_a_kernel_that_asks_for_another_key_is_a_fault(project):
    library = load(project, defines={k: v for k, v in DEFINES.items() if k != "TILING_KEY_VAR"}, flags=["-DSEVEN=7"])
    with pytest.raises(RuntimeError, match=r"asks TILING_KEY_IS\(2\) and was built without a key: define"):
        run(project, library)


def test_a_key_that_is_given_and_not_asked_for_is_the_users_choice(project):
    library = load(project, defines={**DEFINES, "TILING_KEY_VAR": 0}, flags=["-DSEVEN=7"])
    assert run(project, library) == [0] * 8


def test_the_kernels_and_their_types(project):
    library = load(project, defines=DEFINES, flags=["-DSEVEN=7"])
    assert library.kernels() == {"spread": ("ptr", "ptr", "ptr")}


def test_options_are_part_of_what_is_cached(project):
    first = load(project, defines=DEFINES, flags=["-DSEVEN=7"])
    second = load(project, defines=DEFINES, flags=["-DSEVEN=8"])
    assert [run(project, library)[7] for library in (first, second)] == [7, 8]


def test_values_that_do_not_fit_the_struct(project):
    layout = npu.tiling_struct(project / "op_host" / "spread.h", "SpreadTiling")
    given = {"kind": 5, "values": [1, 2, 3], "flag": True, "factors": bytes(8)}
    with pytest.raises(TypeError, match="struct field 'values': expected 3 values, got 2"):
        layout(**{**given, "values": [1, 2]})
    with pytest.raises(OverflowError, match=r"struct field 'values\[1\]'"):
        layout(**{**given, "values": [1, 2**40, 3]})
    with pytest.raises(TypeError, match="struct field 'factors': expected the 8 bytes of a struct"):
        layout(**{**given, "factors": 1.5})
    with pytest.raises(npu.BuildError, match="declares no tiling struct 'Nothing'; it declares Factors, SpreadTiling"):
        npu.tiling_struct(project / "op_host" / "spread.h", "Nothing")


@pytest.mark.parametrize(
    ("old", "new", "defines", "message"),
    [
        ("", "", {}, "DTYPE_Y is a definition that an operator project's build gives: defines: {DTYPE_Y: half}"),
        ('"offset.h"', '"kernel_none.h"', DEFINES, "if kernel_none.h is one of CANN's headers, the simulated NPU has"),
        (
            "OFFSET",
            "AscendC::Conv3D(1)",
            DEFINES,
            "the simulated NPU's headers have no AscendC::Conv3D;",
        ),
    ],
)
def test_what_is_missing_is_told(project, old, new, defines, message):
    path = project / "op_kernel" / "spread.cpp"
    path.write_text(path.read_text().replace(old, new) if old else path.read_text())
    with pytest.raises(npu.BuildError) as error:
        load(project, defines=defines, flags=["-DSEVEN=7"])
    assert message in str(error.value)


def test_a_struct_of_a_name_that_ascendc_has_is_told(tmp_path):
    source = tmp_path / "named.cpp"
    source.write_text(
        '#include "kernel_operator.h"\nusing namespace AscendC;\nstruct Shape { int rows; };\n'
        'extern "C" __global__ __aicore__ void named(GM_ADDR x, Shape shape) {}\n'
    )
    with pytest.raises(npu.BuildError, match="help: Shape is one of AscendC's names, too: give yours another"):
        npu.ascendc_load("named", source)


def test_a_kernel_without_its_host_is_told_where_the_struct_comes_from(project):
    with pytest.raises(npu.BuildError, match="help: GET_TILING_DATA reads the struct that the operator's host side"):
        npu.ascendc_load("spread", project / "op_kernel" / "spread.cpp", include=[project / "headers"], defines=DEFINES)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "TILING_DATA_FIELD_DEF_STRUCT(Factors, factors);",
            "",
            "the host's files register several tiling structs: say which by GET_TILING_DATA_WITH_STRUCT",
        ),
        ("REGISTER_TILING_DATA_CLASS(", "// (", "the host's files register no tiling struct"),
    ],
)
def test_a_host_that_does_not_say_which_struct(project, old, new, message):
    host = project / "op_host" / "spread.h"
    host.write_text(host.read_text().replace(old, new))
    with pytest.raises(npu.BuildError) as error:
        load(project, defines=DEFINES, flags=["-DSEVEN=7"])
    assert message in str(error.value)
    assert "beside the kernel" not in str(error.value)  # where it stands already


def test_a_kernel_registers_the_struct_of_its_host(project):
    path = project / "op_kernel" / "spread.cpp"
    for name in ("SpreadTiling", "Factors"):
        path.write_text(KERNEL.replace("GET_TILING_DATA", f"REGISTER_TILING_DEFAULT({name});\n  GET_TILING_DATA"))
        if name == "SpreadTiling":
            assert run(project, load(project, defines=DEFINES, flags=["-DSEVEN=7"]))[:4] == [5, -1, 2, -3]
            continue
        with pytest.raises(npu.BuildError, match="the host registers another tiling struct than the kernel"):
            load(project, defines=DEFINES, flags=["-DSEVEN=7"])


def test_a_host_that_cannot_be_read_is_told_with_its_line(project):
    (project / "op_host" / "spread.h").write_text(HOST.replace("MOST,", "LEAST,"))
    with pytest.raises(npu.BuildError, match=r"spread\.h:12: the length 'LEAST' is not a number"):
        load(project, defines=DEFINES)


FUSED_HOST = """
#include "spread.h"
namespace optiling {
BEGIN_TILING_DATA_DEF(FusedTiling)
  TILING_DATA_FIELD_DEF(uint8_t, first);
  TILING_DATA_FIELD_DEF_STRUCT(SoftMaxTiling, softmax);
  TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, product);
  TILING_DATA_FIELD_DEF_STRUCT(LayerNormTiling, norm);
  TILING_DATA_FIELD_DEF(uint8_t, last);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Fused, FusedTiling)
BEGIN_TILING_DATA_DEF(OuterTiling)
  TILING_DATA_FIELD_DEF_STRUCT(Factors, factors);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Outer_7, OuterTiling)
}
"""
FUSED_KERNEL = """
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void fused(GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(FusedTiling, data, tiling);
  GET_TILING_DATA_PTR_WITH_STRUCT(FusedTiling, pointer, tiling);
  COPY_TILING_WITH_STRUCT(FusedTiling, pointer, copy);
  SoftMaxTiling softmax = data.softmax;
  const AscendC::tiling::LayerNormTiling& norm = data.norm;
  const int32_t values[] = {data.first, (int32_t)softmax.srcK, data.product.N, (int32_t)norm.hLength, data.last,
                            pointer->last, copy->product.M, TILING_KEY_LIST(3, 4)};
  for (int i = 0; i < 8; i++) ((__gm__ int32_t*)y)[i] = values[i];
}
"""


def test_structs_of_cann_and_of_other_files(project):
    """Those of CANN's tiling functions are words of 4 bytes, as bytes."""
    (project / "op_host" / "fused.h").write_text(FUSED_HOST)
    (project / "op_kernel" / "fused.cpp").write_text(FUSED_KERNEL)
    sources = [
        project / "op_kernel" / "fused.cpp",
        *(project / "op_host" / f"{name}.h" for name in ("spread", "fused")),
    ]
    library = npu.ascendc_load("fused", sources, defines={"TILING_KEY_VAR": 4})
    words = {
        name: struct.pack(f"{count}i", *range(count))
        for name, count in (("softmax", 16), ("product", 50), ("norm", 26))
    }
    layout = npu.tiling_struct(project / "op_host" / "fused.h", "FusedTiling")
    y = torch.zeros(8, device="npu", dtype=torch.int32)
    library.bind("fused", (npu.ptr, npu.ptr, npu.ptr))(1, y, None, npu.upload(layout(first=9, last=8, **words)))
    assert y.tolist() == [9, 1, 2, 2, 8, 8, 1, 1]


def test_a_macro_needs_a_name(project):
    with pytest.raises(npu.BuildError, match="'1X' cannot be the name of a macro"):
        load(project, defines={"1X": 1})
