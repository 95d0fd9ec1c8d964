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

// Of two repeats of x, a row of 64 each: sums, best values with their indices, something of each block, 2x + 1, and eight
// elements as a block each.
extern "C" __global__ __aicore__ void raw_reductions(__gm__ float* x, __gm__ float* y) {
  __ubuf__ float* a = (__ubuf__ float*)get_imm(0);
  __ubuf__ float* rows = (__ubuf__ float*)get_imm(1024);
  set_mask_norm();
  set_vector_mask((uint64_t)-1, (uint64_t)-1);
  copy_gm_to_ubuf(a, x, 0, 1, 16, 0, 0);
  vector_dup(rows, 1.0f, 10, 1, 1, 8, 0);
  set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
  wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
  vcadd(rows, a, 2, 1, 1, 8, false);
  vcmax(rows + 64, a, 2, 1, 1, 8, VALUE_INDEX);
  vcmin(rows + 128, a, 2, 1, 1, 8, ONLY_VALUE);
  vcgadd(rows + 192, a, 2, 1, 1, 8);
  vcgmax(rows + 256, a, 2, 1, 1, 8);
  vcgmin(rows + 320, a, 2, 1, 1, 8);
  vaxpy(rows + 384, a, 2.0f, 2, 1, 1, 8, 8);
  vbrcb((__ubuf__ uint32_t*)(rows + 512), (__ubuf__ uint32_t*)a, 1, 8, 1);
  set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
  wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
  copy_ubuf_to_gm_align_b32(y, rows, 0, 1, 576 * 4, 0, 0, 0, 0);
}

// Three bursts of seven bytes, four bytes apart, and of six, to z without gaps.
extern "C" __global__ __aicore__ void raw_bytes(__gm__ uint8_t* x, __gm__ uint8_t* z) {
  __ubuf__ uint8_t* a = (__ubuf__ uint8_t*)get_imm(0);
  copy_gm_to_ubuf_align_b8(a, x, 0, 3, 7, 0, 0, 4, 0);
  copy_gm_to_ubuf_align_b16(a + 96, x, 0, 3, 6, 0, 0, 4, 0);
  set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
  wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
  copy_ubuf_to_gm_align_b8(z, a, 0, 3, 7, 0, 0, 0, 0);
  copy_ubuf_to_gm_align_b16(z + 32, a + 96, 0, 3, 6, 0, 0, 0, 0);
}

extern "C" __global__ __aicore__ void raw_outside(__gm__ float* x) {
  vexp((__ubuf__ float*)get_imm(200 * 1024), (__ubuf__ float*)get_imm(0), 1, 1, 1, 8, 8);
}
