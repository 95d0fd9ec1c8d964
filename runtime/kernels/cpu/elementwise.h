// The elementwise engine: walks any number of strided, broadcast operands of mixed dtypes, and hands blocks of
// contiguous values of the compute dtype to a loop that the compiler vectorises.
#pragma once

#include <algorithm>
#include <complex>
#include <cstring>

#include "half.h"
#include "tensor.h"
#include "threads.h"

namespace mt {

constexpr int64_t kLargestItem = sizeof(std::complex<double>);

// A block loop: p[0] is the output, the rest the inputs, all contiguous in their compute dtypes.
using BlockFn = int (*)(void* const* p, int64_t n, const double* params);

// The common index space of N operands (operand 0 is the output), reduced to as few dimensions as possible.
template <int N>
struct Walk {
  int ndim = 0;
  int64_t numel = 1;
  int64_t shape[kMaxDims];
  int64_t strides[N][kMaxDims];  // in elements
  char* data[N];
  int32_t itemsize[N];

  int init(const mt_tensor* const* operands) {
    const mt_tensor* out = operands[0];
    if (out->ndim > kMaxDims) return MT_ERROR_SHAPE;
    for (int k = 0; k < N; ++k) {
      const mt_tensor* t = operands[k];
      if (t->ndim > out->ndim) return MT_ERROR_SHAPE;
      data[k] = static_cast<char*>(t->data);
      itemsize[k] = t->itemsize;
    }
    for (int64_t d = 0; d < out->ndim; ++d) {
      const int64_t size = out->shape[d];
      numel = int64_t(uint64_t(numel) * uint64_t(size));  // of (2**62, 2, 0) a part alone would overflow
      for (int k = 0; k < N; ++k) {
        const mt_tensor* t = operands[k];
        const int64_t td = d - (out->ndim - t->ndim);
        const int64_t tsize = td < 0 ? 1 : t->shape[td];
        if (tsize != size && tsize != 1) return MT_ERROR_SHAPE;
        strides[k][ndim] = tsize == 1 ? 0 : t->strides[td];
      }
      if (size != 1) shape[ndim++] = size;
    }
    if (numel == 0) {  // sizes and strides of nothing may be any
      ndim = 1;
      shape[0] = 0;
      for (int k = 0; k < N; ++k) strides[k][0] = 0;
      return MT_OK;
    }
    order();
    collapse();
    return MT_OK;
  }

  bool mergeable(int outer, int inner) const {
    for (int k = 0; k < N; ++k)
      if (strides[k][outer] != strides[k][inner] * shape[inner]) return false;
    return true;
  }

  // Visits the output in the order of its memory: insertion sort, as most outputs are already in order.
  void order() {
    for (int i = 1; i < ndim; ++i)
      for (int j = i; j > 0 && std::abs(strides[0][j - 1]) < std::abs(strides[0][j]); --j) {
        std::swap(shape[j - 1], shape[j]);
        for (int k = 0; k < N; ++k) std::swap(strides[k][j - 1], strides[k][j]);
      }
  }

  void collapse() {
    if (ndim < 2) return;
    int last = 0;
    for (int d = 1; d < ndim; ++d) {
      if (mergeable(last, d)) {
        shape[last] *= shape[d];
      } else {
        shape[++last] = shape[d];
      }
      for (int k = 0; k < N; ++k) strides[k][last] = strides[k][d];
    }
    ndim = last + 1;
  }

  bool contiguous(int k) const { return ndim == 0 || (ndim == 1 && strides[k][0] == 1); }
  bool constant(int k) const {
    for (int d = 0; d < ndim; ++d)
      if (strides[k][d] != 0) return false;
    return true;
  }
};

// A position in a walk's index space, from which runs along the innermost dimension are taken.
struct Cursor {
  int64_t index[kMaxDims] = {};

  template <int N>
  void advance(const Walk<N>& walk, int64_t count) {
    int d = walk.ndim - 1;
    index[d] += count;
    for (; d > 0 && index[d] >= walk.shape[d]; --d) {
      const int64_t times = index[d] < 2 * walk.shape[d] ? 1 : index[d] / walk.shape[d];  // once as a rule, without a division
      index[d - 1] += times;
      index[d] -= times * walk.shape[d];
    }
  }

  template <int N>
  char* address(const Walk<N>& walk, int k) const {
    int64_t offset = 0;
    for (int d = 0; d < walk.ndim; ++d) offset += index[d] * walk.strides[k][d];
    return walk.data[k] + offset * walk.itemsize[k];
  }

  // Moves `n` elements between operand k, from this position on, and a contiguous buffer.
  template <int N>
  void transfer(const Walk<N>& walk, int k, CastFn cast, char* buffer, int32_t buffer_itemsize, int64_t n,
                bool store) const {
    Cursor at = *this;
    const int inner = walk.ndim - 1;
    const int64_t stride = walk.strides[k][inner];
    while (n > 0) {
      const int64_t run = std::min(n, walk.shape[inner] - at.index[inner]);
      char* address = at.address(walk, k);
      if (store) {
        cast(address, stride, buffer, 1, run);
      } else {
        cast(buffer, 1, address, stride, run);
      }
      buffer += run * buffer_itemsize;
      n -= run;
      if (n > 0) at.advance(walk, run);
    }
  }
};

// Runs `fn` over contiguous operands of its own dtypes, stretch by stretch.
template <int N>
int elementwise_plain(const mt_tensor* const* operands, int64_t total, BlockFn fn, const double* params) {
  return parallel(total, kGrain, [=](int64_t first, int64_t last) -> int {
    Pace pace;
    while (first < last) {
      const int64_t n = std::min(kStretch, last - first);
      void* pointers[N];
      for (int k = 0; k < N; ++k) pointers[k] = static_cast<char*>(operands[k]->data) + first * operands[k]->itemsize;
      if (int status = fn(pointers, n, params)) return status;
      if (pace.stops(n)) return MT_ERROR_INTERRUPTED;
      first += n;
    }
    return MT_OK;
  });
}

// Whether the operand is contiguous and its shape the end of the output's: its elements are repeated as a whole.
inline bool is_repeated(const mt_tensor* out, const mt_tensor* t) {
  if (t->ndim > out->ndim || !is_contiguous(t)) return false;
  int64_t ones = 0;
  while (ones < t->ndim && t->shape[ones] == 1) ++ones;
  const int64_t shift = out->ndim - t->ndim;
  for (int64_t d = ones; d < t->ndim; ++d)
    if (t->shape[d] != out->shape[d + shift]) return false;
  return true;
}

// One block, over a contiguous output, with operands that are repeated, such as a row or a number: they are written out
// here, which costs less than a walk. False where operands need one.
template <int N>
bool write_out(const mt_tensor* const* operands, const int32_t* dtypes, void** pointers, char (*buffers)[kBlock * kLargestItem]) {
  const mt_tensor* out = operands[0];
  const int64_t total = numel(out);
  if (total == 0 || total > kBlock || out->dtype != dtypes[0] || !is_contiguous(out)) return false;
  for (int k = 1; k < N; ++k) {
    const mt_tensor* t = operands[k];
    if (!is_repeated(out, t)) return false;
    const int64_t count = numel(t);
    if (count == total && t->dtype == dtypes[k]) continue;
    const int64_t bytes = total * item_size(dtypes[k]);
    int64_t done = count * item_size(dtypes[k]);
    cast_fn(dtypes[k], t->dtype)(buffers[k], 1, t->data, 1, count);
    for (; done < bytes; done *= 2) std::memcpy(buffers[k] + done, buffers[k], std::min(done, bytes - done));
    pointers[k] = buffers[k];
  }
  return true;
}

constexpr int64_t kRun = 64;  // elements of an innermost dimension that are worth a block of their own

// How operands that are not all contiguous and of their compute dtypes become blocks: where the innermost dimension is long, a
// block lies within one run of it, so that what is contiguous there, such as a row that is repeated, is taken where it is.
template <int N>
struct Blocks {
  enum class Mode { kDirect, kConstant, kOfRun, kBuffered };  // kOfRun: one number for each run
  Walk<N> walk;
  Mode mode[N];
  CastFn cast[N];
  int32_t itemsize[N];
  int64_t run;    // of which no block is in two
  int64_t block;  // elements of one at most: fewer where a number is written out for each run, once for all blocks of it
  bool buffered;  // whether an operand is, so that blocks are places of the cursor

  int init(const mt_tensor* const* operands, const int32_t* dtypes) {
    if (int status = walk.init(operands)) return status;
    if (walk.numel == 0) return MT_OK;
    if (walk.ndim == 0) {  // one element: give the cursor a dimension to walk
      walk.ndim = 1;
      walk.shape[0] = 1;
      for (int k = 0; k < N; ++k) walk.strides[k][0] = 1;
    }
    const int inner = walk.ndim - 1;
    const bool by_runs = walk.shape[inner] >= kRun;
    run = by_runs ? walk.shape[inner] : walk.numel;
    block = kBlock;
    buffered = false;
    for (int k = 0; k < N; ++k) {
      const bool same = operands[k]->dtype == dtypes[k];
      cast[k] = k == 0 ? cast_fn(operands[k]->dtype, dtypes[k]) : cast_fn(dtypes[k], operands[k]->dtype);
      itemsize[k] = item_size(dtypes[k]);
      const bool whole = by_runs ? walk.strides[k][inner] == 1 : walk.contiguous(k);
      mode[k] = same && whole ? Mode::kDirect : Mode::kBuffered;
      if (k > 0 && walk.numel > 1 && walk.constant(k)) {
        mode[k] = Mode::kConstant;
      } else if (k > 0 && by_runs && walk.strides[k][inner] == 0) {
        mode[k] = Mode::kOfRun;
        block = kBlock / 4;
      }
      buffered |= mode[k] == Mode::kBuffered;
    }
    return MT_OK;
  }

  // The blocks of the elements from `first` to `last`.
  int each(int64_t first, int64_t last, BlockFn fn, const double* params) const {
    alignas(64) char buffers[N][kBlock * kLargestItem];
    void* pointers[N];
    for (int k = 0; k < N; ++k) {
      pointers[k] = buffers[k];
      if (mode[k] == Mode::kConstant) cast[k](buffers[k], 1, walk.data[k], 0, std::min(last - first, kBlock));
    }
    Cursor cursor;
    cursor.advance(walk, first);
    Pace pace;
    for (int64_t left = run - first % run; first < last; left = run) {
      left = std::min(left, last - first);
      char* at[N];
      for (int k = 0; k < N; ++k) {
        at[k] = mode[k] == Mode::kDirect || mode[k] == Mode::kOfRun ? cursor.address(walk, k) : nullptr;
        if (mode[k] == Mode::kOfRun) cast[k](buffers[k], 1, at[k], 0, std::min(block, left));
      }
      for (int64_t done = 0, n; done < left; done += n) {
        n = std::min(block, left - done);
        for (int k = 0; k < N; ++k) {
          if (mode[k] == Mode::kDirect) pointers[k] = at[k] + done * itemsize[k];
          if (mode[k] == Mode::kBuffered && k > 0) cursor.transfer(walk, k, cast[k], buffers[k], itemsize[k], n, false);
        }
        if (int status = fn(pointers, n, params)) return status;
        if (mode[0] == Mode::kBuffered) cursor.transfer(walk, 0, cast[0], buffers[0], itemsize[0], n, true);
        if (buffered) cursor.advance(walk, n);
        if (pace.stops(n)) return MT_ERROR_INTERRUPTED;
      }
      if (!buffered) cursor.advance(walk, left);
      first += left;
    }
    return MT_OK;
  }
};

// As `elementwise`, of operands that are not all contiguous, of one shape and of their compute dtypes; apart from it,
// because its buffers make a large frame.
template <int N>
__attribute__((noinline)) int elementwise_small(const mt_tensor* const* operands, const int32_t* dtypes, BlockFn fn,
                                                const double* params, bool* done) {
  void* pointers[N];
  for (int k = 0; k < N; ++k) pointers[k] = operands[k]->data;
  alignas(64) char buffers[N][kBlock * kLargestItem];
  *done = write_out<N>(operands, dtypes, pointers, buffers);
  return *done ? fn(pointers, numel(operands[0]), params) : int(MT_OK);
}

template <int N>
__attribute__((noinline)) int elementwise_any(const mt_tensor* const* operands, const int32_t* dtypes, BlockFn fn,
                                              const double* params) {
  bool done = false;
  if (numel(operands[0]) <= kBlock) {
    const int status = elementwise_small<N>(operands, dtypes, fn, params, &done);
    if (done) return status;
  }
  Blocks<N> blocks;
  if (int status = blocks.init(operands, dtypes)) return status;
  if (blocks.walk.numel == 0) return MT_OK;
  return parallel(blocks.walk.numel, kGrain,
                  [&](int64_t first, int64_t last) -> int { return blocks.each(first, last, fn, params); });
}

// Runs `fn` over all operands. `dtypes[k]` is the dtype `fn` expects operand k in.
template <int N>
int elementwise(const mt_tensor* const* operands, const int32_t* dtypes, BlockFn fn, const double* params) {
  bool plain = true;  // one contiguous pass over operands that already have their compute dtypes
  void* pointers[N];
  for (int k = 0; k < N; ++k) {
    pointers[k] = operands[k]->data;
    plain = plain && operands[k]->dtype == dtypes[k] && is_contiguous(operands[k]) &&
            (k == 0 || same_shape(operands[0], operands[k]));
  }
  if (plain) {
    const int64_t total = numel(operands[0]);
    return total <= kGrain ? fn(pointers, total, params) : elementwise_plain<N>(operands, total, fn, params);
  }
  return elementwise_any<N>(operands, dtypes, fn, params);
}

// The loop of a functor `Op` with values of type T in and R out. An Op is made from the call's parameters.
template <class Op, class T, class R, int Arity>
struct Loop {
  MT_INLINE static int run(void* const* p, int64_t n, const double* params) {
    const Op op{params};
    R* out = static_cast<R*>(p[0]);
    const T* a = static_cast<const T*>(p[1]);
    if constexpr (Arity == 1) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = op(a[i]);
    } else if constexpr (Arity == 2) {
      const T* b = static_cast<const T*>(p[2]);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = op(a[i], b[i]);
    } else {
      const T* b = static_cast<const T*>(p[2]);
      const T* c = static_cast<const T*>(p[3]);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = op(a[i], b[i], c[i]);
    }
    return MT_OK;
  }
};

template <class Op, class T, class R, int Arity>
BlockFn pick_loop() {
  static const BlockFn fn = PerIsa<Loop<Op, T, R, Arity>, void* const*, int64_t, const double*>::pick();
  return fn;
}

// Whether a functor has a meaning for complex numbers: it says so by a member `kComplex`.
template <class Op, class = void>
struct TakesComplex : std::false_type {};
template <class Op>
struct TakesComplex<Op, std::void_t<decltype(Op::kComplex)>> : std::true_type {};

// Whether it has a meaning for complex numbers of two halves, too: it says so by a member `kComplexHalf`.
template <class Op, class = void>
struct TakesComplexHalf : std::false_type {};
template <class Op>
struct TakesComplexHalf<Op, std::void_t<decltype(Op::kComplexHalf)>> : std::true_type {};

// Whether it makes of narrow integers what it makes of them in 64 bits, cut to size: it says so by a member `kNarrow`. One of truth
// values too, which are bytes of 0 and 1, by `kTruth`.
template <class Op, class = void>
struct TakesNarrow : std::false_type {};
template <class Op>
struct TakesNarrow<Op, std::void_t<decltype(Op::kNarrow)>> : std::true_type {};
template <class Op, class = void>
struct TakesTruth : std::false_type {};
template <class Op>
struct TakesTruth<Op, std::void_t<decltype(Op::kTruth)>> : std::true_type {};

// Its loop over integers in their own dtype, where they are common and narrow, or null: converting them costs more than the loop.
template <class Op, int Arity, bool Predicate>
BlockFn narrow_loop_for(int32_t dtype) {
  if constexpr (TakesNarrow<Op>::value) {
    if (dtype == MT_U8) return pick_loop<Op, uint8_t, std::conditional_t<Predicate, bool, uint8_t>, Arity>();
    if (dtype == MT_I32) return pick_loop<Op, int32_t, std::conditional_t<Predicate, bool, int32_t>, Arity>();
  }
  if constexpr (TakesTruth<Op>::value) {
    if (dtype == MT_BOOL) return pick_loop<Op, uint8_t, std::conditional_t<Predicate, bool, uint8_t>, Arity>();
  }
  return nullptr;
}

// The loop over operands of one narrow dtype, which `dtypes` become then; else the one that is given.
template <class Op, int Arity, bool Predicate>
BlockFn narrowed(const mt_tensor* const* operands, int32_t* dtypes, BlockFn otherwise) {
  for (int k = Predicate ? 2 : 1; k <= Arity; ++k)
    if (operands[k]->dtype != operands[k - 1]->dtype) return otherwise;
  const int32_t dtype = operands[Arity]->dtype;
  const BlockFn fn = narrow_loop_for<Op, Arity, Predicate>(dtype);
  if (fn == nullptr) return otherwise;
  for (int k = Predicate ? 1 : 0; k <= Arity; ++k) dtypes[k] = dtype;
  return fn;
}

// Its loop over complex numbers, or null; Predicates write bool.
template <class Op, int Arity, bool Predicate>
BlockFn complex_loop_for(int32_t dtype) {
  if constexpr (TakesComplex<Op>::value) {
    using C64 = std::complex<float>;
    using C128 = std::complex<double>;
    if (dtype == MT_C64) return pick_loop<Op, C64, std::conditional_t<Predicate, bool, C64>, Arity>();
    if (dtype == MT_C128) return pick_loop<Op, C128, std::conditional_t<Predicate, bool, C128>, Arity>();
  }
  return nullptr;
}

// The loop for a compute dtype, or null; FloatOnly functors have no integer loop.
template <class Op, int Arity, bool FloatOnly, bool Predicate>
BlockFn loop_for(int32_t dtype) {
  if (dtype == MT_F32) return pick_loop<Op, float, std::conditional_t<Predicate, bool, float>, Arity>();
  if (dtype == MT_F64) return pick_loop<Op, double, std::conditional_t<Predicate, bool, double>, Arity>();
  if constexpr (!FloatOnly) {
    if (dtype == MT_I64) return pick_loop<Op, int64_t, std::conditional_t<Predicate, bool, int64_t>, Arity>();
  }
  return nullptr;
}

// Whether it is so short that converting bfloat16 in blocks of their own costs more than it: it says so by a member `kBrief`.
template <class Op, class = void>
struct IsBrief : std::false_type {};
template <class Op>
struct IsBrief<Op, std::void_t<decltype(Op::kBrief)>> : std::true_type {};

// Its loop over bfloat16, which converts as it goes; the inputs in the bits of `Floats` are float.
template <class Op, int Arity, int Floats>
struct BriefLoop {
  template <int K>
  MT_INLINE static float at(const void* input, int64_t i) {
    if constexpr ((Floats >> K & 1) != 0) return static_cast<const float*>(input)[i];
    return to_float(static_cast<const BFloat16*>(input)[i]);
  }
  MT_INLINE static int run(void* const* p, int64_t n, const double* params) {
    const Op op{params};
    BFloat16* out = static_cast<BFloat16*>(p[0]);
    const void *a = p[1], *b = Arity > 1 ? p[2] : nullptr, *c = Arity > 2 ? p[3] : nullptr;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (Arity == 1) out[i] = to_bfloat16(op(at<0>(a, i)));
      if constexpr (Arity == 2) out[i] = to_bfloat16(op(at<0>(a, i), at<1>(b, i)));
      if constexpr (Arity == 3) out[i] = to_bfloat16(op(at<0>(a, i), at<1>(b, i), at<2>(c, i)));
    }
    return MT_OK;
  }
  static BlockFn pick() {
    static const BlockFn fn = PerIsa<BriefLoop, void* const*, int64_t, const double*>::pick();
    return fn;
  }
};

// That loop, where the operands are bfloat16, or numbers in the places that functions have them in; `dtypes` become those it takes.
// Else the one that is given.
template <class Op, int Arity>
BlockFn brief(const mt_tensor* const* operands, int32_t* dtypes, BlockFn otherwise) {
  int floats = 0;
  for (int k = 1; k <= Arity; ++k) {
    if (operands[k]->dtype == MT_BF16) continue;
    if (operands[k]->ndim != 0) return otherwise;
    floats |= 1 << (k - 1);
  }
  BlockFn fn = nullptr;
  if (floats == 0) fn = BriefLoop<Op, Arity, 0>::pick();
  if constexpr (Arity == 2) {
    if (floats == 1) fn = BriefLoop<Op, Arity, 1>::pick();
    if (floats == 2) fn = BriefLoop<Op, Arity, 2>::pick();
  } else if constexpr (Arity == 3) {
    if (floats == 4) fn = BriefLoop<Op, Arity, 4>::pick();
    if (floats == 6) fn = BriefLoop<Op, Arity, 6>::pick();
  }
  if (fn == nullptr) return otherwise;
  dtypes[0] = MT_BF16;
  for (int k = 1; k <= Arity; ++k) dtypes[k] = floats >> (k - 1) & 1 ? MT_F32 : MT_BF16;
  return fn;
}

// The operands of a binary function on integers. One without dimensions beside one with is taken in the latter's dtype,
// to which it wraps: in PyTorch's promotion a number does not decide between integer types.
struct WrappedPair {
  int64_t values[3];
  mt_tensor narrow[3];
  const mt_tensor* operands[3];

  explicit WrappedPair(const mt_tensor* const* given) : operands{given[0], given[1], given[2]} {
    if ((given[1]->ndim == 0) == (given[2]->ndim == 0)) return;
    const int k = given[1]->ndim == 0 ? 1 : 2;
    const mt_tensor *number = given[k], *other = given[3 - k];
    if (number->dtype == other->dtype || !is_integer(number->dtype) || !is_integer(other->dtype)) return;
    cast_fn(other->dtype, number->dtype)(&values[k], 1, number->data, 1, 1);
    narrow[k] = {&values[k], 0, nullptr, nullptr, other->dtype, other->itemsize};
    operands[k] = &narrow[k];
  }
};

// The operands of a binary function whose results are complex numbers of two halves: a number beside them is rounded to one first.
struct HalvesPair {
  uint32_t values[3];
  mt_tensor rounded[3];
  const mt_tensor* operands[3];

  explicit HalvesPair(const mt_tensor* const* given) : operands{given[0], given[1], given[2]} {
    for (int k = 1; k < 3; ++k) {
      if (given[k]->ndim != 0 || given[k]->dtype == MT_C32) continue;
      cast_fn(MT_C32, given[k]->dtype)(&values[k], 1, given[k]->data, 1, 1);
      rounded[k] = {&values[k], 0, nullptr, nullptr, MT_C32, item_size(MT_C32)};
      operands[k] = &rounded[k];
    }
  }
};

// Functor applied in the output's dtype: arithmetic.
template <class Op, int Arity, bool FloatOnly>
int arithmetic(const mt_tensor* const* operands, const double* params = nullptr) {
  const bool complex = is_complex(operands[0]->dtype);
  const bool halves = operands[0]->dtype == MT_C32;
  if (halves && !TakesComplexHalf<Op>::value) return MT_ERROR_DTYPE;
  const int32_t dtype = complex ? complex_compute_dtype(operands[0]->dtype) : compute_dtype(operands[0]->dtype);
  const BlockFn fn = complex ? complex_loop_for<Op, Arity, false>(dtype) : loop_for<Op, Arity, FloatOnly, false>(dtype);
  if (fn == nullptr) return MT_ERROR_DTYPE;
  int32_t dtypes[Arity + 1];
  for (int k = 0; k <= Arity; ++k) {
    if (is_complex(operands[k]->dtype) && !complex) return MT_ERROR_DTYPE;
    dtypes[k] = dtype;
  }
  if constexpr (Arity == 2) {
    if (dtype == MT_I64) {
      const WrappedPair pair(operands);
      return elementwise<3>(pair.operands, dtypes, narrowed<Op, 2, false>(pair.operands, dtypes, fn), params);
    }
    if (halves) return elementwise<3>(HalvesPair(operands).operands, dtypes, fn, params);
  }
  if (dtype == MT_I64) return elementwise<Arity + 1>(operands, dtypes, narrowed<Op, Arity, false>(operands, dtypes, fn), params);
  if constexpr (IsBrief<Op>::value) {
    if (operands[0]->dtype == MT_BF16) return elementwise<Arity + 1>(operands, dtypes, brief<Op, Arity>(operands, dtypes, fn), params);
  }
  return elementwise<Arity + 1>(operands, dtypes, fn, params);
}

// As `arithmetic` with floating-point results, of integers too: these must have a common dtype nevertheless.
template <class Op>
int true_division(const mt_tensor* const* operands) {
  return have_common_dtype(operands[1], operands[2]) ? arithmetic<Op, 2, true>(operands) : int(MT_ERROR_DTYPE);
}

// As `arithmetic`, of functions that truth values do not have.
template <class Op, int Arity, bool FloatOnly>
int arithmetic_of_numbers(const mt_tensor* const* operands, const double* params = nullptr) {
  return operands[0]->dtype == MT_BOOL ? int(MT_ERROR_DTYPE) : arithmetic<Op, Arity, FloatOnly>(operands, params);
}

// Functor from numbers to bool, applied in the dtype of the inputs.
template <class Op, int Arity>
int predicate(const mt_tensor* const* operands, int32_t dtype) {
  const BlockFn fn = is_complex(dtype) ? complex_loop_for<Op, Arity, true>(dtype) : loop_for<Op, Arity, false, true>(dtype);
  if (fn == nullptr) return MT_ERROR_DTYPE;
  int32_t dtypes[Arity + 1];
  for (int k = 1; k <= Arity; ++k) dtypes[k] = dtype;
  dtypes[0] = MT_BOOL;
  if constexpr (Arity == 2) {
    if (dtype == MT_I64) {
      const WrappedPair pair(operands);
      return elementwise<3>(pair.operands, dtypes, narrowed<Op, 2, true>(pair.operands, dtypes, fn), nullptr);
    }
  }
  if (dtype == MT_I64) return elementwise<Arity + 1>(operands, dtypes, narrowed<Op, Arity, true>(operands, dtypes, fn), nullptr);
  return elementwise<Arity + 1>(operands, dtypes, fn, nullptr);
}

// A Python number as an operand: a tensor without dimensions over `value`.
inline mt_tensor scalar_operand(const double* value) {
  return {const_cast<double*>(value), 0, nullptr, nullptr, MT_F64, int32_t(sizeof(double))};
}

}  // namespace mt
