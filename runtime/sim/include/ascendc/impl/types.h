// Qualifiers, scalar types and enumerations: what a kernel's source names before it computes anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

// __CCE_KT_TEST__ and ASCENDC_CPU_DEBUG stay undefined: what kernels guard with them is for CANN's CPU mode, and this is
// the chip's side. `<<<...>>>` is rewritten before a source is compiled.
// The architecture a kernel is compiled for is 910B's, unless the compiler's flags name another: 2002 (310P),
// 3002 (310B), 1001 (910A).
#ifndef __NPU_ARCH__
#define __NPU_ARCH__ 2201
#endif
#ifndef __CCE_AICORE__
#define __CCE_AICORE__ (__NPU_ARCH__ / 10)
#endif

// The kernel scanner keeps these visible in preprocessed text by defining them as themselves: it reads what a kernel runs on.
#ifndef __global__
#define __global__
#endif
#ifndef __cube__
#define __cube__
#define __vector__
#define __mix__(cube, vector)
#endif
#define __aicore__
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __schedmode__(mode)
#define __kfc_workspace__
#define __sync_alias__
#define __sync_out__
#define __in_pipe__(...)
#define __out_pipe__(...)
#define __inout_pipe__(...)
#ifndef __forceinline__
#define __forceinline__ __attribute__((always_inline))
#endif

#ifndef likely
#define likely(CONDITION) __builtin_expect(!!(CONDITION), 1)
#define unlikely(CONDITION) __builtin_expect(!!(CONDITION), 0)
#endif
// What the chip's compiler leaves out of a kernel: it has no place to print to.
#define ASSERT(...)
#define ASCENDC_ASSERT(...)
#define KERNEL_LOG(...)

#define GM_ADDR __gm__ uint8_t*
#define ASCEND_IS_AIV (!::mtsim::runs_cube())
#define ASCEND_IS_AIC (::mtsim::runs_cube())

// _Float16 in C++ came to x86 with g++ 12 and to aarch64 with g++ 13; __fp16 is the same format.
#if defined(__aarch64__) && !defined(__clang__) && __GNUC__ < 13
using half = __fp16;
#else
using half = _Float16;
#endif

/// Brain float: the upper half of a float, rounded to nearest even. Arithmetic happens in float.
struct bfloat16_t {
  uint16_t bits;

  bfloat16_t() = default;
  bfloat16_t(float value) : bits(round(value)) {}
  operator float() const {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }

  static uint16_t round(float value) {
    uint32_t wide;
    std::memcpy(&wide, &value, sizeof wide);
    const uint32_t nearest = (wide + 0x7FFFu + ((wide >> 16) & 1u)) >> 16;
    const uint32_t quiet_nan = (wide >> 16) | 0x40u;  // rounding up could carry a NaN into infinity
    return static_cast<uint16_t>((wide & 0x7FFFFFFFu) > 0x7F800000u ? quiet_nan : nearest);
  }
};
static_assert(sizeof(bfloat16_t) == 2 && std::is_trivially_copyable_v<bfloat16_t>);

// Names of the hardware's pipelines and events, as raw intrinsics take them.
enum pipe_t { PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_ALL, PIPE_MTE4, PIPE_MTE5, PIPE_V2,
    PIPE_FIX };
enum event_t { EVENT_ID0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 };

namespace AscendC {

using ::bfloat16_t;
using ::half;

enum class TPosition : uint8_t {
  GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC, LCM = VECCALC, SPM, SHM = SPM, TSCM, C2PIPE2GM, MAX
};
using QuePosition = TPosition;

enum class HardEvent : uint8_t {
  MTE2_MTE1, MTE1_MTE2, MTE1_M, M_MTE1, MTE2_V, V_MTE2, MTE3_V, V_MTE3, M_V, V_M, V_V, MTE3_MTE1, MTE1_MTE3, MTE1_V,
  MTE2_M, M_MTE2, V_MTE1, M_FIX, FIX_M, MTE3_MTE2, MTE2_MTE3, S_V, V_S, S_MTE2, MTE2_S, S_MTE3, MTE3_S, MTE2_FIX,
  FIX_MTE2, FIX_S, M_S, FIX_MTE3, MTE1_FIX, FIX_MTE1, FIX_FIX, MAX
};

enum class RoundMode { CAST_NONE, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC, CAST_ODD };
enum class CMPMODE { LT, GT, EQ, LE, GE, NE };
enum class SELMODE { VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class MaskMode : uint8_t { NORMAL, COUNTER };
enum class ReduceOrder { ORDER_VALUE_INDEX, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };
enum class CacheMode { CACHE_MODE_DISABLE, CACHE_MODE_NORMAL, CACHE_MODE_LAST, CACHE_MODE_PERSISTENT };

/// Two elements to a byte, the lower half first. An element alone has no address: tensors count them in halves.
struct int4b_t {
  uint8_t pair;
};

constexpr uint32_t ONE_BLK_SIZE = 32;
constexpr uint32_t DEFAULT_C0_SIZE = 32;
constexpr uint32_t ONE_REPEAT_BYTE_SIZE = 256;
constexpr uint32_t DEFAULT_BLOCK_SIZE = 256;
constexpr uint32_t BLOCK_CUBE = 16;
constexpr int32_t DEFAULT_BLK_NUM = 8;
constexpr int32_t DEFAULT_BLK_STRIDE = 1;
constexpr int32_t DEFAULT_REPEAT_STRIDE = 8;
constexpr uint32_t MASK_PLACEHOLDER = 0;
/// What InitBuffer can give out, see chip.h.
#if __NPU_ARCH__ == 2201
constexpr uint32_t TOTAL_UB_SIZE = 192 * 1024 - 256;
#elif __NPU_ARCH__ == 3002
constexpr uint32_t TOTAL_UB_SIZE = 248 * 1024;
#else
constexpr uint32_t TOTAL_UB_SIZE = 256 * 1024;
#endif

/// Strides of one operand's 32-byte blocks, within a repeat and from repeat to repeat.
struct UnaryRepeatParams {
  UnaryRepeatParams() = default;
  UnaryRepeatParams(uint16_t dstBlk, uint16_t srcBlk, uint8_t dstRep, uint8_t srcRep)
      : dstBlkStride(dstBlk), srcBlkStride(srcBlk), dstRepStride(dstRep), srcRepStride(srcRep) {}
  uint32_t blockNumber = DEFAULT_BLK_NUM;
  uint16_t dstBlkStride = 1;
  uint16_t srcBlkStride = 1;
  uint8_t dstRepStride = 8;
  uint8_t srcRepStride = 8;
  bool repeatStrideMode = false;
  bool strideSizeMode = false;
  bool halfBlock = false;
};

struct BinaryRepeatParams {
  BinaryRepeatParams() = default;
  BinaryRepeatParams(uint8_t dstBlk, uint8_t src0Blk, uint8_t src1Blk, uint8_t dstRep, uint8_t src0Rep, uint8_t src1Rep)
      : dstBlkStride(dstBlk), src0BlkStride(src0Blk), src1BlkStride(src1Blk),
        dstRepStride(dstRep), src0RepStride(src0Rep), src1RepStride(src1Rep) {}
  uint32_t blockNumber = DEFAULT_BLK_NUM;
  uint8_t dstBlkStride = 1;
  uint8_t src0BlkStride = 1;
  uint8_t src1BlkStride = 1;
  uint8_t dstRepStride = 8;
  uint8_t src0RepStride = 8;
  uint8_t src1RepStride = 8;
  bool repeatStrideMode = false;
  bool strideSizeMode = false;
};

inline float ToFloat(bfloat16_t value) { return value; }
inline bfloat16_t ToBfloat16(float value) { return bfloat16_t(value); }

}  // namespace AscendC

namespace mtsim {

/// `T`, but not deduced: a scalar operand takes the type its tensor has.
template <typename T>
struct Identity {
  using type = T;
};
template <typename T>
using Scalar = typename Identity<T>::type;

template <typename T, typename... Allowed>
constexpr bool one_of = (std::is_same_v<T, Allowed> || ...);

constexpr uint32_t kBlock = AscendC::ONE_BLK_SIZE;
constexpr uint32_t kRepeat = AscendC::ONE_REPEAT_BYTE_SIZE;

template <typename T>
constexpr uint32_t kBits = 8 * sizeof(T);
template <>
inline constexpr uint32_t kBits<AscendC::int4b_t> = 4;

/// Whether tensors of T carry a layout, see layout.h: instructions would go by it.
template <typename T>
inline constexpr bool has_layout = false;

/// The bytes that elements take, and the elements that fit bytes.
template <typename T>
constexpr uint64_t bytes_for(uint64_t count) {
  return count * kBits<T> / 8;
}
template <typename T>
constexpr uint64_t count_in(uint64_t bytes) {
  return bytes * 8 / kBits<T>;
}

constexpr uint64_t align_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }
constexpr uint64_t align_down(uint64_t bytes, uint64_t unit) { return bytes / unit * unit; }

}  // namespace mtsim
