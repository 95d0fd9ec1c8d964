// Raw intrinsics on addresses of the unified buffer: z = max(exp(x) * 2 + y, y / 4), and a cast.
#include "kernel_operator.h"

extern "C" __global__ __aicore__ void raw_float(__gm__ float* x, __gm__ float* y, __gm__ float* z, uint32_t repeats) {
  __ubuf__ float* a = (__ubuf__ float*)get_imm(0);
  __ubuf__ float* b = (__ubuf__ float*)get_imm(32 * 1024);
  __ubuf__ float* c = (__ubuf__ float*)get_imm(64 * 1024);
  set_mask_norm();
  set_vector_mask((uint64_t)-1, (uint64_t)-1);
  copy_gm_to_ubuf(a, x + get_block_idx() * repeats * 64, 0, 1, repeats * 8, 0, 0);
  copy_gm_to_ubuf(b, y + get_block_idx() * repeats * 64, 0, 1, repeats * 8, 0, 0);
  set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
  wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
  vexp(a, a, repeats, 1, 1, 8, 8);
  pipe_barrier(PIPE_V);
  vmuls(a, a, 2.0f, repeats, 1, 1, 8, 8);
  vadd(a, a, b, repeats, 1, 1, 1, 8, 8, 8);
  __ubuf__ float* four = (__ubuf__ float*)get_imm(96 * 1024);
  vector_dup(four, 4.0f, 1, 1, 1, 8, 0);
  vdiv(c, b, four, repeats, 1, 1, 1, 8, 8, 0);
  vmax(c, a, c, repeats, 1, 1, 1, 8, 8, 8);
  set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
  wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
  copy_ubuf_to_gm(z + get_block_idx() * repeats * 64, c, 0, 1, repeats * 8, 0, 0);
  pipe_barrier(PIPE_ALL);
}

// n floats to halves, n not a multiple of anything.
extern "C" __global__ __aicore__ void raw_cast(__gm__ float* x, __gm__ half* y, uint32_t n) {
  __ubuf__ float* a = (__ubuf__ float*)get_imm(0);
  __ubuf__ half* b = (__ubuf__ half*)get_imm(32 * 1024);
  copy_gm_to_ubuf_align_b32(a, x, 0, 1, n * 4, 0, 0, 0, 0);
  set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
  wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
  set_vector_mask(0, (uint64_t)-1);
  vconv_f322f16r(b, a, (n + 63) / 64, 1, 1, 4, 8);
  set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
  wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
  copy_ubuf_to_gm_align_b16(y, b, 0, 1, n * 2, 0, 0, 0, 0);
}

extern "C" __global__ __aicore__ void raw_outside(__gm__ float* x) {
  vexp((__ubuf__ float*)get_imm(200 * 1024), (__ubuf__ float*)get_imm(0), 1, 1, 1, 8, 8);
}
