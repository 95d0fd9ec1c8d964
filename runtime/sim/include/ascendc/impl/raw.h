// Raw intrinsics: instructions on addresses, below the tensors. Lanes come from the mask registers, as on the chip,
// and strides are in 32-byte blocks.
#pragma once

#include "accumulate.h"
#include "cast.h"
#include "copy.h"
#include "unified.h"
#include "gather.h"
#include "reduce.h"
#include "vector.h"

namespace mtsim {

/// Device memory by address.
template <typename T>
GlobalTensor<T> global_at(const T* address) {
  GlobalTensor<T> tensor;
  tensor.SetGlobalBuffer(const_cast<T*>(address));
  return tensor;
}

inline AscendC::DataCopyParams bursts(uint16_t count, uint16_t length, uint16_t src_gap, uint16_t dst_gap) {
  return {count, length, src_gap, dst_gap};
}

}  // namespace mtsim

/// The address `offset` bytes into the unified buffer.
inline __ubuf__ uint8_t* get_imm(uint64_t offset) { return mtsim::core().memory(mtsim::kUnified) + offset; }

inline void copy_gm_to_ubuf(__ubuf__ void* dst, __gm__ const void* src, uint8_t, uint16_t nBurst, uint16_t lenBurst,
                            uint16_t srcStride, uint16_t dstStride) {
  AscendC::DataCopy(mtsim::unified(static_cast<const uint16_t*>(dst), "copy_gm_to_ubuf", "dst"),
                    mtsim::global_at(static_cast<const uint16_t*>(src)),
                    mtsim::bursts(nBurst, lenBurst, srcStride, dstStride));
}
/// Atomic addition needs the element's type, which a void pointer has not: SetAtomic* and typed copies go together.
template <typename T>
void copy_ubuf_to_gm(__gm__ T* dst, __ubuf__ const void* src, uint8_t, uint16_t nBurst, uint16_t lenBurst,
                     uint16_t srcStride, uint16_t dstStride) {
  using Element = std::conditional_t<std::is_void_v<T>, uint16_t, T>;
  AscendC::DataCopy(mtsim::global_at(reinterpret_cast<Element*>(dst)),
                    mtsim::unified(static_cast<const Element*>(src), "copy_ubuf_to_gm", "src"),
                    mtsim::bursts(nBurst, lenBurst, srcStride, dstStride));
}
inline void copy_ubuf_to_ubuf(__ubuf__ void* dst, __ubuf__ const void* src, uint8_t, uint16_t nBurst,
                              uint16_t lenBurst, uint16_t srcStride, uint16_t dstStride) {
  AscendC::DataCopy(mtsim::unified(static_cast<const uint16_t*>(dst), "copy_ubuf_to_ubuf", "dst"),
                    mtsim::unified(static_cast<const uint16_t*>(src), "copy_ubuf_to_ubuf", "src"),
                    mtsim::bursts(nBurst, lenBurst, srcStride, dstStride));
}

// Bursts of bytes: gaps are in bytes in global memory and in blocks in local memory, padding in elements.
#define MTSIM_RAW_ALIGNED_IN(RAW, ELEMENT)                                                                            \
  inline void RAW(__ubuf__ void* dst, __gm__ const void* src, uint8_t, uint16_t nBurst, uint32_t lenBurst,            \
                  uint8_t leftPadding, uint8_t rightPadding, uint32_t srcGap, uint32_t dstGap) {                      \
    AscendC::DataCopyPad(mtsim::unified(static_cast<const ELEMENT*>(dst), #RAW, "dst"),                               \
                         mtsim::global_at(static_cast<const ELEMENT*>(src)),                                          \
                         AscendC::DataCopyExtParams(nBurst, lenBurst, srcGap, dstGap, 0),                             \
                         AscendC::DataCopyPadExtParams<ELEMENT>(false, leftPadding, rightPadding, 0));                \
  }
#define MTSIM_RAW_ALIGNED_OUT(RAW, ELEMENT)                                                                           \
  inline void RAW(__gm__ void* dst, __ubuf__ const void* src, uint8_t, uint16_t nBurst, uint32_t lenBurst, uint8_t,   \
                  uint8_t, uint32_t srcGap, uint32_t dstGap) {                                                        \
    AscendC::DataCopyPad(mtsim::global_at(static_cast<const ELEMENT*>(dst)),                                          \
                         mtsim::unified(static_cast<const ELEMENT*>(src), #RAW, "src"),                               \
                         AscendC::DataCopyExtParams(nBurst, lenBurst, srcGap, dstGap, 0));                            \
  }
MTSIM_RAW_ALIGNED_IN(copy_gm_to_ubuf_align_b8, uint8_t)
MTSIM_RAW_ALIGNED_IN(copy_gm_to_ubuf_align_b16, uint16_t)
MTSIM_RAW_ALIGNED_IN(copy_gm_to_ubuf_align_b32, uint32_t)
MTSIM_RAW_ALIGNED_OUT(copy_ubuf_to_gm_align_b8, uint8_t)
MTSIM_RAW_ALIGNED_OUT(copy_ubuf_to_gm_align_b16, uint16_t)
MTSIM_RAW_ALIGNED_OUT(copy_ubuf_to_gm_align_b32, uint32_t)
#undef MTSIM_RAW_ALIGNED_OUT
#undef MTSIM_RAW_ALIGNED_IN

// The intrinsic on the left is the instruction on the right.
#define MTSIM_RAW_UNARY(RAW, NAME)                                                                                    \
  template <typename T>                                                                                               \
  void RAW(__ubuf__ T* dst, __ubuf__ T* src, uint8_t repeat, uint16_t dstBlock, uint16_t srcBlock, uint8_t dstRepeat, \
           uint8_t srcRepeat) {                                                                                       \
    AscendC::NAME<T, false>(mtsim::unified(dst, #RAW, "dst"), mtsim::unified(src, #RAW, "src"), uint64_t{0}, repeat,  \
                            AscendC::UnaryRepeatParams(dstBlock, srcBlock, dstRepeat, srcRepeat));                    \
  }
#define MTSIM_RAW_SCALAR(RAW, NAME)                                                                                   \
  template <typename T>                                                                                               \
  void RAW(__ubuf__ T* dst, __ubuf__ T* src, mtsim::Scalar<T> scalar, uint8_t repeat, uint16_t dstBlock,              \
           uint16_t srcBlock, uint8_t dstRepeat, uint8_t srcRepeat) {                                                 \
    AscendC::NAME<T, false>(mtsim::unified(dst, #RAW, "dst"), mtsim::unified(src, #RAW, "src"), scalar, uint64_t{0},  \
                            repeat, AscendC::UnaryRepeatParams(dstBlock, srcBlock, dstRepeat, srcRepeat));            \
  }
#define MTSIM_RAW_BINARY(RAW, NAME)                                                                                   \
  template <typename T>                                                                                               \
  void RAW(__ubuf__ T* dst, __ubuf__ T* src0, __ubuf__ T* src1, uint8_t repeat, uint8_t dstBlock, uint8_t src0Block,  \
           uint8_t src1Block, uint8_t dstRepeat, uint8_t src0Repeat, uint8_t src1Repeat) {                            \
    AscendC::NAME<T, false>(mtsim::unified(dst, #RAW, "dst"), mtsim::unified(src0, #RAW, "src0"),                     \
                            mtsim::unified(src1, #RAW, "src1"), uint64_t{0}, repeat,                                  \
                            AscendC::BinaryRepeatParams(dstBlock, src0Block, src1Block, dstRepeat, src0Repeat,        \
                                                        src1Repeat));                                                 \
  }
MTSIM_RAW_UNARY(vabs, Abs)
MTSIM_RAW_UNARY(vexp, Exp)
MTSIM_RAW_UNARY(vln, Ln)
MTSIM_RAW_UNARY(vsqrt, Sqrt)
MTSIM_RAW_UNARY(vrsqrt, Rsqrt)
MTSIM_RAW_UNARY(vrec, Reciprocal)
MTSIM_RAW_UNARY(vrelu, Relu)
MTSIM_RAW_UNARY(vnot, Not)
MTSIM_RAW_SCALAR(vadds, Adds)
MTSIM_RAW_SCALAR(vmuls, Muls)
MTSIM_RAW_SCALAR(vmaxs, Maxs)
MTSIM_RAW_SCALAR(vmins, Mins)
MTSIM_RAW_BINARY(vadd, Add)
MTSIM_RAW_BINARY(vsub, Sub)
MTSIM_RAW_BINARY(vmul, Mul)
MTSIM_RAW_BINARY(vdiv, Div)
MTSIM_RAW_BINARY(vmax, Max)
MTSIM_RAW_BINARY(vmin, Min)
MTSIM_RAW_BINARY(vand, And)
MTSIM_RAW_BINARY(vor, Or)
#undef MTSIM_RAW_BINARY
#undef MTSIM_RAW_SCALAR
#undef MTSIM_RAW_UNARY

template <typename T>
void vaxpy(__ubuf__ T* dst, __ubuf__ T* src, mtsim::Scalar<T> scalar, uint8_t repeat, uint16_t dstBlock,
           uint16_t srcBlock, uint8_t dstRepeat, uint8_t srcRepeat) {
  AscendC::Axpy<T, T, false>(mtsim::unified(dst, "vaxpy", "dst"), mtsim::unified(src, "vaxpy", "src"), scalar,
                             uint64_t{0}, repeat,
                             AscendC::UnaryRepeatParams(dstBlock, srcBlock, dstRepeat, srcRepeat));
}

/// One sum a repeat. The mode that adds into a register has no result in memory.
template <typename T>
void vcadd(__ubuf__ T* dst, __ubuf__ T* src, uint8_t repeat, uint16_t dstRepeat, uint16_t srcBlock, uint16_t srcRepeat,
           bool mode = false) {
  if (mode) mtsim::fault(mtsim::kVectorCoreException, "vcadd: the mode that keeps the sum in a register is not simulated");
  AscendC::WholeReduceSum<T, false>(mtsim::unified(dst, "vcadd", "dst"), mtsim::unified(src, "vcadd", "src"), 0, repeat,
                                    dstRepeat, srcBlock, srcRepeat);
}
enum Order_t { VALUE_INDEX, INDEX_VALUE, ONLY_VALUE, ONLY_INDEX };
// The best of a repeat, and something of each block of 32 bytes.
#define MTSIM_RAW_BEST(RAW, NAME)                                                                                     \
  template <typename T>                                                                                               \
  void RAW(__ubuf__ T* dst, __ubuf__ T* src, uint8_t repeat, uint16_t dstRepeat, uint16_t srcBlock,                   \
           uint16_t srcRepeat, Order_t order = VALUE_INDEX) {                                                         \
    AscendC::NAME<T, false>(mtsim::unified(dst, #RAW, "dst"), mtsim::unified(src, #RAW, "src"), 0, repeat, dstRepeat, \
                            srcBlock, srcRepeat, static_cast<AscendC::ReduceOrder>(order));                           \
  }
#define MTSIM_RAW_BLOCKS(RAW, NAME)                                                                                   \
  template <typename T>                                                                                               \
  void RAW(__ubuf__ T* dst, __ubuf__ T* src, uint8_t repeat, uint16_t dstRepeat, uint16_t srcBlock,                   \
           uint16_t srcRepeat) {                                                                                      \
    AscendC::NAME<T, false>(mtsim::unified(dst, #RAW, "dst"), mtsim::unified(src, #RAW, "src"), repeat, 0, dstRepeat, \
                            srcBlock, srcRepeat);                                                                     \
  }
MTSIM_RAW_BEST(vcmax, WholeReduceMax)
MTSIM_RAW_BEST(vcmin, WholeReduceMin)
MTSIM_RAW_BLOCKS(vcgadd, BlockReduceSum)
MTSIM_RAW_BLOCKS(vcgmax, BlockReduceMax)
MTSIM_RAW_BLOCKS(vcgmin, BlockReduceMin)
#undef MTSIM_RAW_BLOCKS
#undef MTSIM_RAW_BEST

template <typename T>
void vbrcb(__ubuf__ T* dst, __ubuf__ T* src, uint16_t dstBlock, uint16_t dstRepeat, uint8_t repeat) {
  AscendC::Brcb(mtsim::unified(dst, "vbrcb", "dst"), mtsim::unified(src, "vbrcb", "src"), repeat,
                AscendC::BrcbRepeatParams(dstBlock, dstRepeat));
}

template <typename T>
void vector_dup(__ubuf__ T* dst, mtsim::Scalar<T> value, uint8_t repeat, uint16_t dstBlock, uint16_t,
                uint8_t dstRepeat, uint8_t) {
  AscendC::Duplicate<T, false>(mtsim::unified(dst, "vector_dup", "dst"), value, uint64_t{0}, repeat, dstBlock,
                               dstRepeat);
}

#define MTSIM_RAW_CAST(RAW, D, S, MODE)                                                                               \
  inline void RAW(__ubuf__ D* dst, __ubuf__ S* src, uint8_t repeat, uint16_t dstBlock, uint16_t srcBlock,             \
                  uint8_t dstRepeat, uint8_t srcRepeat) {                                                             \
    AscendC::Cast<D, S, false>(mtsim::unified(dst, #RAW, "dst"), mtsim::unified(src, #RAW, "src"),                    \
                               AscendC::RoundMode::MODE, uint64_t{0}, repeat,                                         \
                               AscendC::UnaryRepeatParams(dstBlock, srcBlock, dstRepeat, srcRepeat));                 \
  }
MTSIM_RAW_CAST(vconv_f162f32, float, half, CAST_NONE)
MTSIM_RAW_CAST(vconv_bf162f32, float, bfloat16_t, CAST_NONE)
MTSIM_RAW_CAST(vconv_f322f16, half, float, CAST_NONE)
MTSIM_RAW_CAST(vconv_f322f16r, half, float, CAST_RINT)
MTSIM_RAW_CAST(vconv_f322bf16r, bfloat16_t, float, CAST_RINT)
MTSIM_RAW_CAST(vconv_f322s32r, int32_t, float, CAST_RINT)
MTSIM_RAW_CAST(vconv_f322s32f, int32_t, float, CAST_FLOOR)
MTSIM_RAW_CAST(vconv_f322s32c, int32_t, float, CAST_CEIL)
MTSIM_RAW_CAST(vconv_f322s32z, int32_t, float, CAST_TRUNC)
MTSIM_RAW_CAST(vconv_s322f32, float, int32_t, CAST_NONE)
#undef MTSIM_RAW_CAST

inline void set_mask_norm() { AscendC::SetMaskNorm(); }
inline void set_mask_count() { AscendC::SetMaskCount(); }
inline void set_vector_mask(uint64_t high, uint64_t low) { AscendC::SetVectorMask<half>(high, low); }
inline void set_atomic_none() { AscendC::SetAtomicNone(); }
inline void set_atomic_f32() {}  // the copy's own type says what is added
inline void set_atomic_f16() {}
inline void set_atomic_s32() {}
inline void set_atomic_add() { AscendC::SetAtomicAdd<float>(); }
inline void set_atomic_max() { AscendC::SetAtomicMax<float>(); }
inline void set_atomic_min() { AscendC::SetAtomicMin<float>(); }
