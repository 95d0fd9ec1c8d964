// What compiled these kernels, and with which options: `torch.__config__` tells.
#include "tensor.h"

MT_EXPORT const char* mt_compiler() {
#if defined(__clang__)
  return "Clang " __VERSION__;
#else
  return "GCC " __VERSION__;
#endif
}

MT_EXPORT const char* mt_cxx_flags() { return MT_CXX_FLAGS; }
