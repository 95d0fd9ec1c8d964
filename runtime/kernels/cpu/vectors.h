// Vector types by element and bytes; written out, because GCC drops the attribute from a type that depends on a template's parameter.
#pragma once

#include <cstdint>

namespace mt {

template <class T, int Bytes>
struct Vector;
#define MT_VECTOR(T, Bytes)                             \
  template <>                                           \
  struct Vector<T, Bytes> {                             \
    typedef T type __attribute__((vector_size(Bytes))); \
  };
MT_VECTOR(float, 16)
MT_VECTOR(float, 32)
MT_VECTOR(float, 64)
MT_VECTOR(double, 16)
MT_VECTOR(double, 32)
MT_VECTOR(double, 64)
MT_VECTOR(uint16_t, 8)
MT_VECTOR(uint16_t, 16)
MT_VECTOR(uint16_t, 32)
MT_VECTOR(uint32_t, 16)
MT_VECTOR(uint32_t, 32)
MT_VECTOR(uint32_t, 64)
MT_VECTOR(uint64_t, 16)
MT_VECTOR(uint64_t, 32)
MT_VECTOR(uint64_t, 64)
#undef MT_VECTOR

}  // namespace mt
