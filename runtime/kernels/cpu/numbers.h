// Elements of any dtype that has an order, as numbers: halves are computed with as float32, and each result is rounded.
#pragma once

#include "half.h"
#include "tensor.h"

namespace mt {

template <class T>
MT_INLINE T number(T v) {
  return v;
}
MT_INLINE float number(Float16 v) { return float(v); }
MT_INLINE float number(BFloat16 v) { return to_float(v); }

template <class T>
MT_INLINE void put(T& to, T v) {
  to = v;
}
MT_INLINE void put(Float16& to, float v) { to = Float16(v); }
MT_INLINE void put(BFloat16& to, float v) { to = to_bfloat16(v); }

// Calls f with an element of the type of a dtype.
template <class F>
int by_number(int32_t dtype, F&& f) {
  switch (dtype) {
    case MT_BOOL:
      return f(bool());
    case MT_U8:
      return f(uint8_t());
    case MT_I8:
      return f(int8_t());
    case MT_U16:
      return f(uint16_t());
    case MT_I16:
      return f(int16_t());
    case MT_U32:
      return f(uint32_t());
    case MT_I32:
      return f(int32_t());
    case MT_U64:
      return f(uint64_t());
    case MT_I64:
      return f(int64_t());
    case MT_F16:
      return f(Float16());
    case MT_BF16:
      return f(BFloat16());
    case MT_F32:
      return f(float());
    case MT_F64:
      return f(double());
    default:
      return MT_ERROR_DTYPE;
  }
}

}  // namespace mt
