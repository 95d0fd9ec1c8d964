"""Which kernels a source defines, and with what parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from mindtorch_v2.npu.kernel_source import (
    Parameter,
    kernel_tasks,
    rewrite_launches,
    scan_kernels,
    uses_block_barrier,
)


def _names(source):
    return [kernel.qualname for kernel in scan_kernels(source, "k.cpp")]


def test_parameters_with_their_types():
    source = (
        "#include <x>\n\n"
        'extern "C" __global__ __aicore__ void\n'
        "scale(GM_ADDR x, __gm__ uint8_t *out, __gm__ Tiling* __restrict__ t, const float factor,\n"
        "      unsigned int n, Tiling<int, 4> tiling)\n"
        "{\n}\n"
    )
    (kernel,) = scan_kernels(source, "k.cpp")
    assert (kernel.name, kernel.path, kernel.line) == ("scale", "k.cpp", 3)
    assert kernel.parameters == (
        Parameter("GM_ADDR", "x"),
        Parameter("uint8_t*", "out"),
        Parameter("Tiling*", "t"),
        Parameter("float", "factor"),
        Parameter("unsigned int", "n"),
        Parameter("Tiling<int, 4>", "tiling"),
    )
    assert [parameter.is_pointer for parameter in kernel.parameters] == [True, True, True, False, False, False]


def test_linkage_is_not_needed_and_order_of_qualifiers_is_free():
    assert _names("__global__ __aicore__ void a(GM_ADDR x) {}") == ["a"]
    assert _names("__aicore__ __global__ inline void b() {}") == ["b"]
    assert _names('extern "C" { __global__ __aicore__ void c(void) { if (1) {} } }') == ["c"]


def test_namespaces():
    source = "namespace n::m { namespace { __global__ void a() {} } } struct S { int i; }; __global__ void b() {}"
    assert _names(source) == ["n::m::a", "b"]


def test_comments_strings_and_directives_are_not_code():
    source = """
    // __global__ void a() {}
    /* __global__ void b() {} */
    const char* text = "__global__ void c() {}";
    const char* raw = R"x(" __global__ void d() {} )x";
    #define KERNEL(name) \\
      __global__ void name() {}
    char brace = '{';
    __global__ /* here */ void e() {}
    """
    assert _names(source) == ["e"]


def test_declarations_and_templates_are_skipped():
    source = "__global__ void a(GM_ADDR x); template <typename T>\n__global__ void b(T x) {} __global__ void c() {}"
    assert _names(source) == ["c"]


def test_line_markers_of_preprocessed_text():
    source = (
        '# 1 "main.cpp"\nint x;\n# 40 "inc/k.h" 1\n\n__global__ void a() {}\n# 2 "main.cpp" 2\n__global__ void b() {}\n'
    )
    assert [(k.name, k.path, k.line) for k in scan_kernels(source, "main.cpp")] == [
        ("a", "inc/k.h", 41),
        ("b", "main.cpp", 2),
    ]


def test_launches_in_the_source_become_calls():
    source = """// a<<<1, 2, 3>>>(x)
void f() { n::scale<float><<<blocks,
  nullptr, stream>>>(x, 1 << 3, y >> 2); }
"""
    assert rewrite_launches(source, "/k.cpp", "queue") == (
        '#line 1 "/k.cpp"\n// a<<<1, 2, 3>>>(x)\n'
        "void f() { ::mtsim::on_stream<n::scale<float>>(queue, blocks,\n"
        "  nullptr, stream)(x, 1 << 3, y >> 2); }\n"
    )
    macro = "#define GO(K, T) \\\n  K##_##T<<<1, nullptr, s>>>(x)\n#if A <<<1, 2, 3>>>\n"
    assert rewrite_launches(macro, "/k.cpp", "queue") == (
        '#line 1 "/k.cpp"\n#define GO(K, T) \\\n  ::mtsim::on_stream<K##_##T>(queue, 1, nullptr, s)(x)\n'
        "#if A <<<1, 2, 3>>>\n"
    )
    assert rewrite_launches("int x = 1 << 2 >> 1;", "/k.cpp", "queue") is None


@pytest.mark.parametrize(
    ("body", "together"),
    [
        ("SyncAll();", True),
        ("SyncAll<false>();", True),
        ("IBWait(flags, ub, 0, 1);", True),
        ("CrossCoreSetFlag<0, PIPE_MTE3>(2);", True),
        ("AscendC::CrossCoreSetFlag< 0x0 , PIPE_MTE3>(2);", True),
        ("constexpr uint8_t ALL = 0; CrossCoreSetFlag<ALL, PIPE_MTE3>(2);", True),
        ("constexpr uint8_t PAIR = 0x2; CrossCoreSetFlag<PAIR, PIPE_FIX>(2);", False),
        ("CrossCoreSetFlag<2, PIPE_FIX>(2);", False),
        ("CrossCoreWaitFlag(2); // SyncAll", False),
    ],
)
def test_blocks_that_wait_for_each_other(body, together):
    assert uses_block_barrier(f"void k() {{ {body} }}", "k.cpp", []) is together


def test_waits_in_the_librarys_own_headers_do_not_count():
    source = '# 1 "/lib/sync.h"\nSyncAll();\n# 5 "k.cpp"\nint x;\n'
    assert not uses_block_barrier(source, "k.cpp", [Path("/lib")])
    assert uses_block_barrier(source, "k.cpp", [Path("/other")])


AIC, AIV = "if (::mtsim::runs_cube())", "if (!::mtsim::runs_cube())"
MMAD = "void f() { Mmad(c, a, b, p); }\n"


@pytest.mark.parametrize(
    ("source", "task"),
    [
        ("__global__ void k() {}", None),
        ("__global__ __mix__(1, 2) void k() {}", "MIX_AIC_1_2"),
        ('extern "C" __mix__(1,1) __global__ void k() {}', "MIX_AIC_1_1"),
        ("__global__ __mix__(1, 0) void k() {}", "MIX_AIC_1_0"),
        ("__global__ __mix__(0, 1) void k() {}", "MIX_AIV_1_0"),
        ("template <int n> __global__ __cube__ void k() {}", "AIC_ONLY"),
        ("__global__ __vector__ void k() {}", "AIV_ONLY"),
        ("__global__ void k() { x(); ::mtsim::declare_task(KERNEL_TYPE_AIC_ONLY); }", "AIC_ONLY"),
        (
            "__global__ void k() { ::mtsim::declare_task(KERNEL_TYPE_AIV_ONLY);"
            " if (2 == (1)) ::mtsim::declare_task(KERNEL_TYPE_AIC_ONLY);"
            " if (2 == (0x2UL)) ::mtsim::declare_task(KERNEL_TYPE_MIX_AIC_1_1); }",
            "MIX_AIC_1_1",
        ),
        ("__global__ void k() { if (n) { declare(KERNEL_TYPE_AIC_ONLY); } }", None),
        (MMAD + f"__global__ void k() {{ {AIC} f(); {AIV} g(); }}", "MIX_AIC_1_2"),
        (MMAD + f"__global__ void k() {{ {AIC} f(); else g(); }}", "MIX_AIC_1_2"),
        (MMAD + f"__global__ void k() {{ {AIV} {{ return; }} f(); }}", "AIC_ONLY"),
        (MMAD + "__global__ void k() { if (g_coreType == AscendC::AIV) return; f(); }", "AIC_ONLY"),
        (MMAD + f"__global__ void k() {{ {AIC} return; g(); }}", None),
        (f"__global__ void k() {{ {AIC} f(); {AIV} g(); }}", None),
    ],
)
def test_what_a_kernel_runs_on(source, task):
    tasks = kernel_tasks(source, "k.cpp", [Path("/simulator")])
    assert tasks == ({} if task is None else {"k": f"KERNEL_TYPE_{task}"})


def test_what_a_kernel_in_a_namespace_runs_on():
    source = "namespace a { inline namespace b { __global__ __cube__ void k() {} } __global__ __cube__ void m() {} }"
    assert kernel_tasks(source, "k.cpp", []) == {"a::b::k": "KERNEL_TYPE_AIC_ONLY", "a::m": "KERNEL_TYPE_AIC_ONLY"}


@pytest.mark.parametrize(
    ("call", "waits"),
    [
        ("ffts_cross_core_sync(PIPE_FIX, AscendC::GetffstMsg(0x0, 12));", True),
        ("ffts_cross_core_sync(PIPE_FIX, AscendC::GetffstMsg(2, 12));", False),
        ("const int all = 0; ffts_cross_core_sync(PIPE_FIX, GetffstMsg(all, 12));", True),
        ("ffts_cross_core_sync(PIPE_MTE3, config);", True),
    ],
)
def test_raw_flags_between_all_blocks(call, waits):
    assert uses_block_barrier(f"void f() {{ {call} }}", "k.cpp", []) is waits
