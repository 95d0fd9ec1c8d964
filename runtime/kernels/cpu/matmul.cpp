// Matrix products: out = beta * out + alpha * a @ b, blocked for the caches, with a register tile per instruction set.
// Fused multiply-adds, where the processor has them: the order of a product's sums depends on its blocking anyway.
#pragma GCC optimize("fp-contract=fast")

#include <algorithm>
#include <memory>
#include <new>
#include <type_traits>

#include "matmul.h"
#include "matmul_pack.h"
#include "threads.h"
#include "vectors.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

MT_EXPORT int mt_copy(const mt_tensor* src, const mt_tensor* dst);
MT_EXPORT int mt_mul_scalar(const mt_tensor* self, double number, const mt_tensor* out);

namespace mt {
namespace {

constexpr int64_t kDepth = 768;          // of the panels that a tile is computed from, at most
constexpr int64_t kSum = 192;            // numbers that are added one to the other at a time: the longer, the larger is a sum's error
constexpr int64_t kPanelBytes = 1 << 18; // of packed a: stays in the L2 cache
constexpr int64_t kColumns = 1024;       // of packed b, at most, where a is packed again for each block of them
constexpr int64_t kNear = 1 << 18;       // elements of a that stay in the L2 cache when they are packed
constexpr int64_t kMostPacked = 1 << 22; // elements of a that are packed before all else
constexpr int64_t kSmall = 16 * 16 * 16; // multiplications below which packing costs more than it saves

// The depth of panels, about the same in all parts of a product.
MT_INLINE int64_t panel_depth(int64_t depth) {
  const int64_t parts = (depth + kDepth - 1) / kDepth;
  return parts == 0 ? 1 : (depth + parts - 1) / parts;
}

// c += alpha * a @ b, for small matrices; c has contiguous rows.
template <class T>
struct SmallProduct {
  MT_INLINE static int run(const Size* size, const Matrix<const T>* a, const Matrix<const T>* b, const Matrix<T>* c,
                           double alpha) {
    Pace pace;
    for (int64_t i = 0; i < size->m; ++i) {
      T* row = &c->at(i, 0);
      for (int64_t k = 0; k < size->k; ++k) {
        const T factor = wrap_mul(T(alpha), a->at(i, k));
        const T* b_row = &b->at(k, 0);
        if (b->column == 1) {
#pragma GCC ivdep
          for (int64_t j = 0; j < size->n; ++j) row[j] = wrap_add(row[j], wrap_mul(factor, b_row[j]));
        } else {
          for (int64_t j = 0; j < size->n; ++j) row[j] = wrap_add(row[j], wrap_mul(factor, b_row[j * b->column]));
        }
        if (pace.stops(size->n)) return MT_ERROR_INTERRUPTED;
      }
    }
    return MT_OK;
  }
};

// The register tile, compiled for each instruction set: GCC lowers vector types before it inlines, so a tile shared
// between instruction sets would be lowered to the narrowest.
#define MT_TILE_ADD(sum, one, many) sum += (one) * (many)
#define MT_TILE TileBase
#define MT_TILE_TARGET
#include "matmul_tile.inc"
#undef MT_TILE
#undef MT_TILE_TARGET
#define MT_TILE TileAvx2
#define MT_TILE_TARGET MT_TARGET_AVX2
#include "matmul_tile.inc"
#undef MT_TILE
#undef MT_TILE_TARGET
#define MT_TILE TileAvx512
#define MT_TILE_TARGET MT_TARGET_AVX512
#include "matmul_tile.inc"
#undef MT_TILE
#undef MT_TILE_TARGET
#undef MT_TILE_ADD
#if defined(__x86_64__)
// Places of two bfloat16 numbers each: both products are added to a float.
#define MT_TARGET_PAIRS \
  __attribute__((target("avx512bf16,avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c,prefer-vector-width=512")))
#define MT_TILE TilePairs
#define MT_TILE_TARGET MT_TARGET_PAIRS
#define MT_TILE_ADD(sum, one, many) sum = V(_mm512_dpbf16_ps(__m512(sum), (__m512bh)_mm512_set1_ps(one), (__m512bh)(many)))
#include "matmul_tile.inc"
#undef MT_TILE
#undef MT_TILE_TARGET
#undef MT_TILE_ADD
#endif

// The second operand of a product: a matrix, or from some row on what packs itself.
template <class T>
struct Second {
  Matrix<const T> matrix;
  const Operand<T>* operand = nullptr;
  int64_t from = 0;

  Second after(int64_t row) const { return {{matrix.data + row * matrix.row, matrix.row, matrix.column}, operand, from + row}; }
};

// The part of a result's columns that a thread computes.
struct Columns {
  int64_t first, last;
};

// The first operand: a matrix; or where it is packed already, block after block of its depth, panel after panel; or what packs itself, of
// which the product's are rows from some on.
template <class T>
struct First {
  Matrix<const T> matrix;
  const T* packed = nullptr;
  const Rows<T>* rows = nullptr;
  int64_t from = 0;

  First after(int64_t row) const { return {{matrix.data + row * matrix.row, matrix.row, matrix.column}, packed, rows, from + row}; }
};

// Packs `rows` x `depth` of a first operand from (row, column) on into panels of Width rows.
template <int Width, class T>
MT_INLINE void pack_first(const First<T>& a, int64_t row, int64_t column, int64_t rows, int64_t depth, T* out) {
  if (a.rows == nullptr) return pack<Width, T>({&a.matrix.at(row, column), a.matrix.row, a.matrix.column}, rows, depth, out);
  for (int64_t i = 0; i < rows; i += Width, out += Width * depth)
    a.rows->pack(a.rows->data, a.from + row + i, std::min<int64_t>(Width, rows - i), column, depth, Width, out);
}

// Packs the panels from `first` to `last` of an operand of size.m x size.k.
template <class T, class TileT>
MT_INLINE int pack_panels(const Size& size, const Matrix<const T>& a, int64_t first, int64_t last, T* out) {
  constexpr int mr = TileT::kRows;
  const int64_t panels = (size.m + mr - 1) / mr, most = panel_depth(size.k);
  for (int64_t kc = 0; kc < size.k; kc += most) {
    const int64_t depth = std::min(most, size.k - kc);
    pack<mr, T>({&a.at(first * mr, kc), a.row, a.column}, std::min(last * mr, size.m) - first * mr, depth,
                out + panels * mr * kc + first * mr * depth);
  }
  return MT_OK;
}

// c = before + alpha * a @ b, some columns of it, with c of contiguous rows. Goto's scheme: b packed by columns, a by rows, tile by tile.
template <class T, class TileT>
MT_INLINE int blocked(const Size& size, const Columns& part, const First<T>& a, const Second<T>& b, const Matrix<T>& c, double alpha,
                      const Before<T>& before) {
  constexpr int mr = TileT::kRows, nr = TileT::kCols;
  const int64_t depth_block = panel_depth(size.k);
  const int64_t rows_max = std::max<int64_t>(mr, kPanelBytes / (depth_block * int64_t(sizeof(T))) / mr * mr);
  const int64_t rows_block = std::min(rows_max, (size.m + mr - 1) / mr * mr);
  const int64_t columns = size.m <= rows_max || a.packed != nullptr ? kFewColumns : kColumns;
  // Blocks of about as many, all alike: for each of them a is packed again, where it is not yet.
  const int64_t wanted = part.last - part.first, blocks = std::max<int64_t>(1, (wanted + columns / 3) / columns);
  const int64_t cols_block = (wanted + blocks * nr - 1) / (blocks * nr) * nr;
  const int64_t all_rows = (size.m + mr - 1) / mr * mr;
  const T factor = std::is_integral_v<T> ? T(int64_t(alpha)) : T(alpha);  // a negative number has no value without a sign
  const Panels<T> packed(((a.packed == nullptr ? rows_block : 0) + cols_block) * depth_block);
  if (!packed.data) return MT_ERROR_MEMORY;
  T* const pb = packed.data.get();
  T* const room = pb + cols_block * depth_block;
  Pace pace;
  for (int64_t jc = part.first; jc < part.last; jc += cols_block) {
    const int64_t cols = std::min(cols_block, part.last - jc);
    for (int64_t kc = 0; kc < size.k; kc += depth_block) {
      const int64_t depth = std::min(depth_block, size.k - kc);
      const Before<T> from = kc == 0 ? before : Before<T>::of(c);
      if (b.operand != nullptr) {
        if (int status = b.operand->pack(b.operand->data, b.from + kc, depth, jc, cols, nr, pb)) return status;
      } else {
        pack<nr, T>({&b.matrix.at(kc, jc), b.matrix.column, b.matrix.row}, cols, depth, pb);
      }
      for (int64_t ic = 0; ic < size.m; ic += rows_block) {
        const int64_t rows = std::min(rows_block, size.m - ic);
        const T* pa = room;
        if (a.packed == nullptr) {
          pack_first<mr>(a, ic, kc, rows, depth, room);
        } else {
          pa = a.packed + all_rows * kc + ic * depth;
        }
        for (int64_t j = 0; j < cols; j += nr) {
          for (int64_t i = 0; i < rows; i += mr)
            TileT::run(depth, kSum, pa + i * depth, pb + j * depth, &c.at(ic + i, jc + j), c.row, std::min<int64_t>(mr, rows - i),
                       std::min<int64_t>(nr, cols - j), from.at(ic + i, jc + j), from.row, factor);
        }
        if (pace.stops(rows * cols)) return MT_ERROR_INTERRUPTED;
      }
    }
  }
  return MT_OK;
}

// c = before + a @ b, both of panels with their whole depth, of which `most` is summed at a time.
template <class T, class TileT>
MT_INLINE void panels(const Size& size, const T* a, const T* b, int64_t most, const Matrix<T>& c, const Before<T>& before) {
  constexpr int mr = TileT::kRows, nr = TileT::kCols;
  for (int64_t i = 0; i < size.m; i += mr)
    for (int64_t j = 0; j < size.n; j += nr)
      TileT::run(size.k, most, a + i * size.k, b + j * size.k, &c.at(i, j), c.row, std::min<int64_t>(mr, size.m - i),
                 std::min<int64_t>(nr, size.n - j), before.at(i, j), before.row, T(1));
}

// What is compiled for each instruction set.
template <class T>
struct Product {
  using Fn = int (*)(const Size&, const Columns&, const First<T>&, const Second<T>&, const Matrix<T>&, double, const Before<T>&);
  using Pack = int (*)(const Size&, const Matrix<const T>&, int64_t first, int64_t last, T* out);
  using Panelled = void (*)(const Size&, const T* a, const T* b, int64_t most, const Matrix<T>& c, const Before<T>& before);
  Fn run;
  Pack pack;
  Panelled panelled;
  int rows, columns;  // of a panel
  Fn run_pairs = nullptr;  // `run` of panels of pairs of bfloat16 numbers, where the processor has it

#define MT_PRODUCT_FOR(name, target, Tile)                                                                                    \
  target static int run_##name(const Size& size, const Columns& part, const First<T>& a, const Second<T>& b,                  \
                               const Matrix<T>& c, double alpha, const Before<T>& before) {                                   \
    return blocked<T, Tile>(size, part, a, b, c, alpha, before);                                                              \
  }                                                                                                                           \
  target static int pack_##name(const Size& size, const Matrix<const T>& a, int64_t first, int64_t last, T* out) {            \
    return pack_panels<T, Tile>(size, a, first, last, out);                                                                   \
  }                                                                                                                           \
  target static void panelled_##name(const Size& size, const T* a, const T* b, int64_t most, const Matrix<T>& c,              \
                                     const Before<T>& before) {                                                               \
    panels<T, Tile>(size, a, b, most, c, before);                                                                             \
  }
  using Narrow = TileBase<T, 16, 4, 2>;
  using Wide = TileAvx2<T, 32, 6, 2>;
  using Widest = TileAvx512<T, 64, kWidestRows, kWidestVectors>;
  MT_PRODUCT_FOR(base, , Narrow)
  MT_PRODUCT_FOR(avx2, MT_TARGET_AVX2, Wide)
  MT_PRODUCT_FOR(avx512, MT_TARGET_AVX512, Widest)
#if defined(__x86_64__)
  using Pairs = TilePairs<T, 64, kWidestRows, kWidestVectors>;
  MT_PRODUCT_FOR(bfloat16, MT_TARGET_PAIRS, Pairs)
#endif
#undef MT_PRODUCT_FOR
  static Fn run_of_pairs() {
#if defined(__x86_64__)
    if constexpr (std::is_same_v<T, float>)
      if (isa() == Isa::kAvx512 && __builtin_cpu_supports("avx512bf16")) return run_bfloat16;
#endif
    return nullptr;
  }

  static const Product& get() {
    static const Product found = [] {
      switch (isa()) {
        case Isa::kAvx512:
          return Product{run_avx512, pack_avx512, panelled_avx512, Widest::kRows, Widest::kCols, run_of_pairs()};
        case Isa::kAvx2:
          return Product{run_avx2, pack_avx2, panelled_avx2, Wide::kRows, Wide::kCols};
        default:
          return Product{run_base, pack_base, panelled_base, Narrow::kRows, Narrow::kCols};
      }
    }();
    return found;
  }
};

// Rows and columns that a part of a result is made of: multiples of every tile's, so that no tile is cut.
constexpr int64_t kUnitRows = 12, kUnitColumns = 32;
constexpr int64_t kThreaded = 1 << 20;  // multiplications that are worth threads

template <class T>
using Run = typename Product<T>::Fn;

// The product with a part of the result's columns for each thread.
template <class T>
int by_columns(Run<T> run, const Size& size, const First<T>& a, const Second<T>& b, const Matrix<T>& c, double alpha, const Before<T>& before) {
  const int64_t units = (size.n + kUnitColumns - 1) / kUnitColumns;
  const int64_t grain = size.m * size.n * size.k < kThreaded ? units : even_grain(units, 1);
  return parallel(units, grain, [&](int64_t first, int64_t last) -> int {
    return run(size, {first * kUnitColumns, std::min(last * kUnitColumns, size.n)}, a, b, c, alpha, before);
  });
}

// The same with a part of its rows, whose threads all pack b.
template <class T>
int by_rows(Run<T> run, const Size& size, const First<T>& a, const Second<T>& b, const Matrix<T>& c, double alpha, const Before<T>& before) {
  const int64_t units = (size.m + kUnitRows - 1) / kUnitRows;
  const int64_t grain = size.m * size.n * size.k < kThreaded ? units : even_grain(units, 1);
  return parallel(units, grain, [&](int64_t first, int64_t last) -> int {
    const int64_t from = first * kUnitRows, count = std::min(last * kUnitRows, size.m) - from;
    return run({count, size.n, size.k}, {0, size.n}, a.after(from), b, {c.data + from * c.row, c.row, c.column}, alpha,
               {before.at(from, 0), before.row});
  });
}

// A part of the depth of a first operand, packed.
template <class T>
Packed<T> packed_part(const First<T>& a, int64_t rows, int64_t from, int64_t depth) {
  if (a.rows != nullptr) return Packed<T>(*a.rows, rows, depth, from);
  return Packed<T>({&a.matrix.at(0, from), a.matrix.row, a.matrix.column}, rows, depth);
}

template <class T>
int threaded(Run<T> run, const Size& size, const First<T>& a, const Second<T>& b, const Matrix<T>& c, double alpha, const Before<T>& before) {
  if (size.m * size.n * size.k < kThreaded) return by_columns<T>(run, size, a, b, c, alpha, before);
  // Rows for each thread, where there are too few columns, or where all of a, packed, would leave the cache and come back for each thread.
  const bool few = size.m > size.n && size.n < 2 * kUnitColumns * threads();
  const bool far = size.m >= size.n && size.n <= kFewColumns && size.m * size.k > kNear;
  const bool tall = size.n <= kColumns && size.m * size.k > kMostPacked;
  if (threads() > 1 && (few || far || tall)) return by_rows<T>(run, size, a, b, c, alpha, before);
  if (threads() == 1 && (size.n <= kFewColumns || tall)) return by_columns<T>(run, size, a, b, c, alpha, before);
  // A part of the depth at a time, of which a is packed once for all columns.
  const int64_t deep = std::max<int64_t>(1, kMostPacked / size.m / kDepth) * kDepth;
  for (int64_t k = 0; k < size.k; k += deep) {
    const int64_t depth = std::min(deep, size.k - k);
    const Packed<T> packed = packed_part(a, size.m, k, depth);
    if (packed.data() == nullptr) return MT_ERROR_MEMORY;
    const Before<T> from = k == 0 ? before : Before<T>::of(c);
    if (int status = by_columns<T>(run, {size.m, size.n, depth}, {{}, packed.data()}, b.after(k), c, alpha, from)) return status;
  }
  return MT_OK;
}

template <class T>
int threaded(const Size& size, const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c, double alpha, const Before<T>& before) {
  return threaded<T>(Product<T>::get().run, size, First<T>{a}, Second<T>{b}, c, alpha, before);
}

}  // namespace

template <class T>
Packed<T>::Packed(const Matrix<const T>& a, int64_t rows, int64_t depth) {
  const Product<T>& product = Product<T>::get();
  const int64_t panels = (rows + product.rows - 1) / product.rows;
  memory_ = Panels<T>(panels * product.rows * depth);
  if (data() == nullptr) return;
  parallel(panels, rows_grain(depth * product.rows), [&](int64_t first, int64_t last) -> int {
    return product.pack({rows, 0, depth}, a, first, last, memory_.data.get());
  });
}

template <class T>
Packed<T>::Packed(const Rows<T>& a, int64_t rows, int64_t depth, int64_t from) {
  const int width = Product<T>::get().rows;
  const int64_t panels = (rows + width - 1) / width;
  memory_ = Panels<T>(panels * width * depth);
  if (data() == nullptr) return;
  parallel(panels, rows_grain(depth * width), [&](int64_t first, int64_t last) -> int {
    for (int64_t kc = 0, most = panel_depth(depth); kc < depth; kc += most)
      for (int64_t p = first; p < last; ++p) {
        const int64_t deep = std::min(most, depth - kc);
        a.pack(a.data, p * width, std::min<int64_t>(width, rows - p * width), from + kc, deep, width, memory_.data.get() + panels * width * kc + p * width * deep);
      }
    return MT_OK;
  });
}

namespace {

template <class T>
Before<T> before_of(const Matrix<T>& c, bool fresh) {
  return fresh ? Before<T>::zeros() : Before<T>::of(c);
}

}  // namespace

template <class T>
int product_of(const Size& size, const Packed<T>& a, const Operand<T>& b, const Matrix<T>& c, bool fresh) {
  return by_columns<T>(Product<T>::get().run, size, {{}, a.data()}, {{}, &b}, c, 1, before_of(c, fresh));
}
template <class T>
int product_of(const Size& size, const Matrix<const T>& a, const Operand<T>& b, const Matrix<T>& c, bool fresh) {
  return by_rows<T>(Product<T>::get().run, size, {a}, {{}, &b}, c, 1, before_of(c, fresh));
}
template <class T>
int product_of(const Size& size, const Rows<T>& a, const Operand<T>& b, const Matrix<T>& c, bool fresh) {
  return by_rows<T>(Product<T>::get().run, size, {{}, nullptr, &a}, {{}, &b}, c, 1, before_of(c, fresh));
}
bool multiplies_pairs() { return Product<float>::get().run_pairs != nullptr; }

int product_of_pairs(const Size& size, const Rows<float>& a, const Operand<float>& b, const Matrix<float>& c, double alpha, const Before<float>& before) {
  return threaded<float>(Product<float>::get().run_pairs, size, {{}, nullptr, &a}, {{}, &b}, c, alpha, before);
}

template <class T>
PanelShape panel_shape() {
  return {Product<T>::get().rows, Product<T>::get().columns};
}
template PanelShape panel_shape<float>();

template <class T>
void panel_product(const Size& size, const T* a, const T* b, int64_t most, const Matrix<T>& c, bool fresh) {
  Product<T>::get().panelled(size, a, b, most, c, before_of(c, fresh));
}
template void panel_product<float>(const Size&, const float*, const float*, int64_t, const Matrix<float>&, bool);

#define MT_PRODUCT_OF(T)                                                                                                        \
  template class Packed<T>;                                                                                                     \
  template int product_of<T>(const Size&, const Packed<T>&, const Operand<T>&, const Matrix<T>&, bool);                         \
  template int product_of<T>(const Size&, const Matrix<const T>&, const Operand<T>&, const Matrix<T>&, bool);                   \
  template int product_of<T>(const Size&, const Rows<T>&, const Operand<T>&, const Matrix<T>&, bool);
MT_PRODUCT_OF(float)
MT_PRODUCT_OF(double)

template <class T>
int blocked_product(const Size& size, const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c) {
  return threaded<T>(size, a, b, c, 1, Before<T>::of(c));
}
template int blocked_product<float>(const Size&, const Matrix<const float>&, const Matrix<const float>&, const Matrix<float>&);
template int blocked_product<double>(const Size&, const Matrix<const double>&, const Matrix<const double>&, const Matrix<double>&);

namespace {

// The product of integers, which wrap: of the same bits without a sign, whose overflow C++ defines.
template <class T, class Bits = std::make_unsigned_t<T>>
int wrapping_product(const Size& size, const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c, double alpha, const Before<T>& before) {
  const auto bits = [](const T* data) { return reinterpret_cast<const Bits*>(data); };
  return threaded<Bits>(size, {bits(a.data), a.row, a.column}, {bits(b.data), b.row, b.column},
                        {reinterpret_cast<Bits*>(c.data), c.row, c.column}, alpha, {bits(before.data), before.row});
}

}  // namespace

template <class T>
int product(const Size& size, const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c, double alpha, const Before<T>& before) {
  static const auto small = PerIsa<SmallProduct<T>, const Size*, const Matrix<const T>*, const Matrix<const T>*,
                                   const Matrix<T>*, double>::pick();
  if constexpr (std::is_floating_point_v<T>) {
    if (size.m * size.n * size.k > kSmall)
      return is_one_line(size, a, b) ? line_product(size, a, b, c, alpha, before) : threaded<T>(size, a, b, c, alpha, before);
  }
  if constexpr (std::is_integral_v<T>)
    if (size.m * size.n * size.k > kSmall) return wrapping_product(size, a, b, c, alpha, before);
  begin(size, c, before);
  return small(&size, &a, &b, &c, alpha);
}
#define MT_PRODUCT(T) \
  template int product<T>(const Size&, const Matrix<const T>&, const Matrix<const T>&, const Matrix<T>&, double, const Before<T>&);
MT_PRODUCT(float)
MT_PRODUCT(double)
MT_PRODUCT(int64_t)

namespace {

// A contiguous copy of a tensor in another dtype.
struct Temporary {
  std::unique_ptr<char[]> memory;
  int64_t strides[3];
  mt_tensor tensor;

  Temporary(const mt_tensor* like, int32_t dtype) {
    tensor = *like;
    tensor.dtype = dtype;
    tensor.itemsize = item_size(dtype);
    int64_t n = 1;
    for (int64_t d = like->ndim - 1; d >= 0; --d) {
      strides[d] = n;
      n *= like->shape[d];
    }
    tensor.strides = strides;
    memory.reset(new (std::nothrow) char[size_t(std::max<int64_t>(n, 1) * tensor.itemsize)]);
    tensor.data = memory.get();
  }
};

Size size_of(const mt_tensor* a, const mt_tensor* b) {
  const int64_t d = a->ndim - 2;
  return {a->shape[d], b->shape[d + 1], a->shape[d + 1]};
}

// The matrix that is the last two dimensions, at a place in the batch.
template <class T>
Matrix<T> matrix_of(const mt_tensor* t, int64_t batch = 0) {
  const int64_t d = t->ndim - 2;
  return {static_cast<T*>(t->data) + (d ? batch * t->strides[0] : 0), t->strides[d], t->strides[d + 1]};
}

// Whether products of bfloat16 matrices are computed from them as they are.
bool takes_bfloat16(const mt_tensor* a, const mt_tensor* b) {
  if (a->dtype != MT_BF16 || b->dtype != MT_BF16) return false;
  const Size size = size_of(a, b);
  return size.m * size.n * size.k > kSmall && (multiplies_pairs() || is_one_line(size, matrix_of<const BFloat16>(a), matrix_of<const BFloat16>(b)));
}

// Of operands with elements of S, and a result with those of T.
template <class T, class S = T>
int batched(const mt_tensor* a, const mt_tensor* b, const mt_tensor* c, double alpha, const mt_tensor* before) {
  const int64_t batches = a->ndim == 3 ? a->shape[0] : 1;
  const Size size = size_of(a, b);
  const int64_t grain = std::max<int64_t>(1, kThreaded / std::max<int64_t>(1, size.m * size.n * size.k));
  return parallel(batches, grain, [&](int64_t first, int64_t last) -> int {
    for (int64_t i = first; i < last; ++i) {
      const auto ma = matrix_of<const S>(a, i), mb = matrix_of<const S>(b, i);
      const auto mc = matrix_of<T>(c, i);
      Before<T> old;
      if (before != nullptr) old = Before<T>::of(matrix_of<T>(before, i));
      if (int status = product(size, ma, mb, mc, alpha, old)) return status;
    }
    return MT_OK;
  });
}

// A tensor in the shape of another one, to which it is broadcast.
struct Broadcast {
  int64_t strides[3] = {};
  mt_tensor tensor;
  bool fits;

  Broadcast(const mt_tensor* self, const mt_tensor* out) : tensor(*self), fits(self->ndim <= out->ndim && self->dtype == out->dtype) {
    tensor.ndim = out->ndim;
    tensor.shape = out->shape;
    tensor.strides = strides;
    for (int64_t d = 0; fits && d < self->ndim; ++d) {
      const int64_t at = out->ndim - self->ndim + d;
      fits = self->shape[d] == out->shape[at] || self->shape[d] == 1;
      strides[at] = self->shape[d] == 1 ? 0 : self->strides[d];
    }
  }
  // Whether a product can read it while it is written: its rows are contiguous, and it is `out` itself or lies elsewhere.
  bool is_readable(const mt_tensor* out) const {
    if (!fits || (strides[tensor.ndim - 1] != 1 && tensor.shape[tensor.ndim - 1] != 1)) return false;
    if (tensor.data == out->data && std::equal(strides, strides + out->ndim, out->strides)) return true;
    return end(&tensor) <= out->data || end(out) <= tensor.data;
  }
  static const void* end(const mt_tensor* t) {
    int64_t last = 0;
    for (int64_t d = 0; d < t->ndim; ++d) last += (t->shape[d] - 1) * t->strides[d];
    return static_cast<const char*>(t->data) + (last + 1) * t->itemsize;
  }
};

int check(const mt_tensor* a, const mt_tensor* b, const mt_tensor* c) {
  const int64_t n = a->ndim;
  if ((n != 2 && n != 3) || b->ndim != n || c->ndim != n) return MT_ERROR_SHAPE;
  if (n == 3 && (a->shape[0] != b->shape[0] || a->shape[0] != c->shape[0])) return MT_ERROR_SHAPE;
  const bool fits = a->shape[n - 1] == b->shape[n - 2] && c->shape[n - 2] == a->shape[n - 2] &&
                    c->shape[n - 1] == b->shape[n - 1];
  return fits ? MT_OK : MT_ERROR_SHAPE;
}

// c = before + alpha * a @ b, where `before` is c, or of its shape and dtype and with contiguous rows, or null for zeros; in the compute
// dtype of c, through temporaries for operands that are not of it.
int accumulate(const mt_tensor* a, const mt_tensor* b, const mt_tensor* c, double alpha, const mt_tensor* before) {
  const int32_t dtype = compute_dtype(c->dtype);
  if (c->dtype == MT_BOOL || dtype < 0 || is_complex(a->dtype) || is_complex(b->dtype)) return MT_ERROR_DTYPE;
  const bool narrow = dtype == MT_F32 && takes_bfloat16(a, b);
  if (a->dtype != dtype && !narrow) {
    Temporary t(a, dtype);
    if (!t.memory) return MT_ERROR_MEMORY;
    if (int status = mt_copy(a, &t.tensor)) return status;
    return accumulate(&t.tensor, b, c, alpha, before);
  }
  if (b->dtype != dtype && !narrow) {
    Temporary t(b, dtype);
    if (!t.memory) return MT_ERROR_MEMORY;
    if (int status = mt_copy(b, &t.tensor)) return status;
    return accumulate(a, &t.tensor, c, alpha, before);
  }
  if (c->dtype != dtype || (c->strides[c->ndim - 1] != 1 && c->shape[c->ndim - 1] != 1)) {
    Temporary t(c, dtype);
    if (!t.memory) return MT_ERROR_MEMORY;
    if (before != nullptr)
      if (int status = mt_copy(before, &t.tensor)) return status;
    if (int status = accumulate(a, b, &t.tensor, alpha, before == nullptr ? nullptr : &t.tensor)) return status;
    return mt_copy(&t.tensor, c);
  }
  if (numel(c) == 0) return MT_OK;
  if (narrow) return batched<float, BFloat16>(a, b, c, alpha, before);
  if (dtype == MT_F32) return batched<float>(a, b, c, alpha, before);
  if (dtype == MT_F64) return batched<double>(a, b, c, alpha, before);
  return batched<int64_t>(a, b, c, alpha, before);
}

}  // namespace
}  // namespace mt

// out = self @ mat2, for matrices or for equally long batches of matrices
MT_EXPORT int mt_matmul(const mt_tensor* self, const mt_tensor* mat2, const mt_tensor* out) {
  if (int status = mt::check(self, mat2, out)) return status;
  return mt::accumulate(self, mat2, out, 1, nullptr);
}

// out = beta * self + alpha * mat1 @ mat2; self is broadcast, and not read where beta is 0
MT_EXPORT int mt_addmm(const mt_tensor* self, const mt_tensor* mat1, const mt_tensor* mat2, const mt_tensor* out,
                       double beta, double alpha) {
  if (int status = mt::check(mat1, mat2, out)) return status;
  if (!mt::holds_factor(out->dtype, beta) || !mt::holds_factor(out->dtype, alpha)) return MT_ERROR_OVERFLOW;
  if (beta == 0) return mt::accumulate(mat1, mat2, out, alpha, nullptr);
  mt::Broadcast before(self, out);
  if (beta == 1 && before.is_readable(out)) return mt::accumulate(mat1, mat2, out, alpha, &before.tensor);
  if (beta != 1 || self != out)
    if (int status = beta == 1 ? mt_copy(self, out) : mt_mul_scalar(self, beta, out)) return status;
  return mt::accumulate(mat1, mat2, out, alpha, out);
}
