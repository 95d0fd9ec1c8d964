// Products of matrices, c = before + alpha * a @ b, blocked for the caches, with a register tile per instruction set.
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

namespace mt {
namespace {

constexpr int64_t kDepth = 768;          // of the panels that a tile is computed from, at most
constexpr int64_t kSum = 192;            // numbers that are added one to the other at a time: the longer, the larger is a sum's error
constexpr int64_t kPanelBytes = 1 << 18; // of packed a: stays in the L2 cache
constexpr int64_t kColumns = 1024;       // of packed b, at most, where a is packed again for each block of them
constexpr int64_t kNear = 1 << 18;       // elements of a that stay in the L2 cache when they are packed
constexpr int64_t kMostPacked = 1 << 22; // elements of a that are packed before all else

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

// That tile, of panels that were packed as float and are made pairs of.
template <class T, int Bytes, int Rows, int Vectors>
struct TileMadePairs : TilePairs<T, Bytes, Rows, Vectors> {
  static constexpr bool kMakesPairs = true;
};
#endif

// Makes pairs, in its place, of a panel of float numbers that bfloat16 has: two lines become one.
template <int Width, class T>
MT_INLINE void make_pairs(T* panel, int64_t depth) {
  for (int64_t k = 0; 2 * k < depth; ++k) {
    uint32_t low[Width], high[Width] = {};
    std::memcpy(low, panel + 2 * k * Width, sizeof low);
    if (2 * k + 1 < depth) std::memcpy(high, panel + (2 * k + 1) * Width, sizeof high);
    for (int i = 0; i < Width; ++i) low[i] = low[i] >> 16 | (high[i] & 0xffff0000u);
    std::memcpy(panel + k * Width, low, sizeof low);
  }
}
// The same of all panels of a packed operand, where a tile is of pairs; returns the depth for the tile.
template <class TileT, int Width, class T>
MT_INLINE int64_t as_tile_takes(T* panels, int64_t lines, int64_t depth) {
  if constexpr (!TileT::kMakesPairs) return depth;
  else {
    for (int64_t i = 0; i < lines; i += Width) make_pairs<Width>(panels + i * depth, depth);
    return (depth + 1) / 2;
  }
}

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
    const int64_t depth = std::min(most, size.k - kc), rows = std::min(last * mr, size.m) - first * mr;
    T* const to = out + panels * mr * kc + first * mr * depth;
    pack<mr, T>({&a.at(first * mr, kc), a.row, a.column}, rows, depth, to);
    as_tile_takes<TileT, mr>(to, rows, depth);
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
      const int64_t places = as_tile_takes<TileT, nr>(pb, cols, depth);
      for (int64_t ic = 0; ic < size.m; ic += rows_block) {
        const int64_t rows = std::min(rows_block, size.m - ic);
        const T* pa = room;
        if (a.packed == nullptr) {
          pack_first<mr>(a, ic, kc, rows, depth, room);
          as_tile_takes<TileT, mr>(room, rows, depth);
        } else {
          pa = a.packed + all_rows * kc + ic * depth;
        }
        for (int64_t j = 0; j < cols; j += nr) {
          for (int64_t i = 0; i < rows; i += mr)
            TileT::run(places, kSum, pa + i * depth, pb + j * depth, &c.at(ic + i, jc + j), c.row, std::min<int64_t>(mr, rows - i),
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
  Numbers numbers = Numbers::kAny;  // for which operands are packed

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
  using MadePairs = TileMadePairs<T, 64, kWidestRows, kWidestVectors>;
  MT_PRODUCT_FOR(pairs, MT_TARGET_PAIRS, Pairs)
  MT_PRODUCT_FOR(made_pairs, MT_TARGET_PAIRS, MadePairs)
#endif
#undef MT_PRODUCT_FOR

  static const Product& get() {
    static const Product found = [] {
      switch (isa()) {
        case Isa::kAvx512:
          return Product{run_avx512, pack_avx512, panelled_avx512, Widest::kRows, Widest::kCols};
        case Isa::kAvx2:
          return Product{run_avx2, pack_avx2, panelled_avx2, Wide::kRows, Wide::kCols};
        default:
          return Product{run_base, pack_base, panelled_base, Narrow::kRows, Narrow::kCols};
      }
    }();
    return found;
  }
  // Of operands that are packed as pairs of bfloat16 numbers. For float, where the processor multiplies such.
  static const Product& of_pairs() {
#if defined(__x86_64__)
    static const Product found{run_pairs, pack_pairs, panelled_pairs, Pairs::kRows, Pairs::kCols};
    return found;
#else
    return get();
#endif
  }
  // Of operands that hold such numbers.
  static const Product& of(Numbers numbers) {
#if defined(__x86_64__)
    if constexpr (std::is_same_v<T, float>) {
      static const Product found{run_made_pairs, pack_made_pairs, panelled_made_pairs, MadePairs::kRows, MadePairs::kCols, Numbers::kBFloat16};
      if (numbers == Numbers::kBFloat16 && multiplies_pairs()) return found;
    }
#endif
    return get();
  }
};

// Rows and columns that a part of a result is made of: multiples of every tile's, so that no tile is cut.
constexpr int64_t kUnitRows = 12, kUnitColumns = 32;

// The product with a part of the result's columns for each thread.
template <class T>
int by_columns(const Product<T>& product, const Size& size, const First<T>& a, const Second<T>& b, const Matrix<T>& c, double alpha, const Before<T>& before) {
  const int64_t units = (size.n + kUnitColumns - 1) / kUnitColumns;
  const int64_t grain = size.m * size.n * size.k < kThreadedProduct ? units : even_grain(units, 1);
  return parallel(units, grain, [&](int64_t first, int64_t last) -> int {
    return product.run(size, {first * kUnitColumns, std::min(last * kUnitColumns, size.n)}, a, b, c, alpha, before);
  });
}

// The same with a part of its rows, whose threads all pack b.
template <class T>
int by_rows(const Product<T>& product, const Size& size, const First<T>& a, const Second<T>& b, const Matrix<T>& c, double alpha, const Before<T>& before) {
  const int64_t units = (size.m + kUnitRows - 1) / kUnitRows;
  const int64_t grain = size.m * size.n * size.k < kThreadedProduct ? units : even_grain(units, 1);
  return parallel(units, grain, [&](int64_t first, int64_t last) -> int {
    const int64_t from = first * kUnitRows, count = std::min(last * kUnitRows, size.m) - from;
    return product.run({count, size.n, size.k}, {0, size.n}, a.after(from), b, {c.data + from * c.row, c.row, c.column}, alpha,
               {before.at(from, 0), before.row});
  });
}

// A part of the depth of a first operand, packed.
template <class T>
Packed<T> packed_part(const First<T>& a, int64_t rows, int64_t from, int64_t depth, Numbers numbers) {
  if (a.rows != nullptr) return Packed<T>(*a.rows, rows, depth, numbers, from);
  return Packed<T>({&a.matrix.at(0, from), a.matrix.row, a.matrix.column}, rows, depth, numbers);
}

template <class T>
int threaded(const Product<T>& product, const Size& size, const First<T>& a, const Second<T>& b, const Matrix<T>& c, double alpha, const Before<T>& before) {
  if (size.m * size.n * size.k < kThreadedProduct) return by_columns<T>(product, size, a, b, c, alpha, before);
  // Rows for each thread, where there are too few columns, or where all of a, packed, would leave the cache and come back for each thread.
  const bool few = size.m > size.n && size.n < 2 * kUnitColumns * threads();
  const bool far = size.m >= size.n && size.n <= kFewColumns && size.m * size.k > kNear;
  const bool tall = size.n <= kColumns && size.m * size.k > kMostPacked;
  if (threads() > 1 && (few || far || tall)) return by_rows<T>(product, size, a, b, c, alpha, before);
  if (threads() == 1 && (size.n <= kFewColumns || tall)) return by_columns<T>(product, size, a, b, c, alpha, before);
  // A part of the depth at a time, of which a is packed once for all columns.
  const int64_t deep = std::max<int64_t>(1, kMostPacked / size.m / kDepth) * kDepth;
  for (int64_t k = 0; k < size.k; k += deep) {
    const int64_t depth = std::min(deep, size.k - k);
    const Packed<T> packed = packed_part(a, size.m, k, depth, product.numbers);
    if (packed.data() == nullptr) return MT_ERROR_MEMORY;
    const Before<T> from = k == 0 ? before : Before<T>::of(c);
    if (int status = by_columns<T>(product, {size.m, size.n, depth}, {{}, packed.data()}, b.after(k), c, alpha, from)) return status;
  }
  return MT_OK;
}

template <class T>
int threaded(const Size& size, const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c, double alpha, const Before<T>& before,
             Numbers numbers = Numbers::kAny) {
  return threaded<T>(Product<T>::of(numbers), size, First<T>{a}, Second<T>{b}, c, alpha, before);
}

}  // namespace

template <class T>
Packed<T>::Packed(const Matrix<const T>& a, int64_t rows, int64_t depth, Numbers numbers) {
  const Product<T>& product = Product<T>::of(numbers);
  const int64_t panels = (rows + product.rows - 1) / product.rows;
  memory_ = Panels<T>(panels * product.rows * depth);
  if (data() == nullptr) return;
  parallel(panels, rows_grain(depth * product.rows), [&](int64_t first, int64_t last) -> int {
    return product.pack({rows, 0, depth}, a, first, last, memory_.data.get());
  });
}

template <class T>
Packed<T>::Packed(const Rows<T>& a, int64_t rows, int64_t depth, Numbers numbers, int64_t from) {
  const Product<T>& product = Product<T>::of(numbers);
  const int width = product.rows;
  const int64_t panels = (rows + width - 1) / width;
  memory_ = Panels<T>(panels * width * depth);
  if (data() == nullptr) return;
  parallel(panels, rows_grain(depth * width), [&](int64_t first, int64_t last) -> int {
    for (int64_t kc = 0, most = panel_depth(depth); kc < depth; kc += most)
      for (int64_t p = first; p < last; ++p) {
        const int64_t deep = std::min(most, depth - kc);
        T* const to = memory_.data.get() + panels * width * kc + p * width * deep;
        a.pack(a.data, p * width, std::min<int64_t>(width, rows - p * width), from + kc, deep, width, to);
        if (product.numbers == Numbers::kBFloat16) make_pairs<kWidestRows>(to, deep);
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
int product_of(const Size& size, const Packed<T>& a, const Operand<T>& b, const Matrix<T>& c, bool fresh, Numbers numbers) {
  return by_columns<T>(Product<T>::of(numbers), size, {{}, a.data()}, {{}, &b}, c, 1, before_of(c, fresh));
}
template <class T>
int product_of(const Size& size, const Matrix<const T>& a, const Operand<T>& b, const Matrix<T>& c, bool fresh, Numbers numbers) {
  return by_rows<T>(Product<T>::of(numbers), size, {a}, {{}, &b}, c, 1, before_of(c, fresh));
}
template <class T>
int product_of(const Size& size, const Rows<T>& a, const Operand<T>& b, const Matrix<T>& c, bool fresh, Numbers numbers) {
  return by_rows<T>(Product<T>::of(numbers), size, {{}, nullptr, &a}, {{}, &b}, c, 1, before_of(c, fresh));
}
bool multiplies_pairs() {
#if defined(__x86_64__)
  static const bool found = isa() == Isa::kAvx512 && __builtin_cpu_supports("avx512bf16");
  return found;
#else
  return false;
#endif
}

int product_of_pairs(const Size& size, const Rows<float>& a, const Operand<float>& b, const Matrix<float>& c, double alpha, const Before<float>& before) {
  return threaded<float>(Product<float>::of_pairs(), size, {{}, nullptr, &a}, {{}, &b}, c, alpha, before);
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
  template int product_of<T>(const Size&, const Packed<T>&, const Operand<T>&, const Matrix<T>&, bool, Numbers);                         \
  template int product_of<T>(const Size&, const Matrix<const T>&, const Operand<T>&, const Matrix<T>&, bool, Numbers);                   \
  template int product_of<T>(const Size&, const Rows<T>&, const Operand<T>&, const Matrix<T>&, bool, Numbers);
MT_PRODUCT_OF(float)
MT_PRODUCT_OF(double)

template <class T>
int blocked_product(const Size& size, const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c, Numbers numbers) {
  return threaded<T>(size, a, b, c, 1, Before<T>::of(c), numbers);
}
template int blocked_product<float>(const Size&, const Matrix<const float>&, const Matrix<const float>&, const Matrix<float>&, Numbers);
template int blocked_product<double>(const Size&, const Matrix<const double>&, const Matrix<const double>&, const Matrix<double>&, Numbers);

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
int product(const Size& size, const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c, double alpha, const Before<T>& before,
            Numbers numbers) {
  static const auto small = PerIsa<SmallProduct<T>, const Size*, const Matrix<const T>*, const Matrix<const T>*,
                                   const Matrix<T>*, double>::pick();
  if constexpr (std::is_floating_point_v<T>) {
    if (size.m * size.n * size.k > kSmallProduct)
      return is_one_line(size, a, b) ? line_product(size, a, b, c, alpha, before) : threaded<T>(size, a, b, c, alpha, before, numbers);
  }
  if constexpr (std::is_integral_v<T>)
    if (size.m * size.n * size.k > kSmallProduct) return wrapping_product(size, a, b, c, alpha, before);
  begin(size, c, before);
  return small(&size, &a, &b, &c, alpha);
}
#define MT_PRODUCT(T) \
  template int product<T>(const Size&, const Matrix<const T>&, const Matrix<const T>&, const Matrix<T>&, double, const Before<T>&, Numbers);
MT_PRODUCT(float)
MT_PRODUCT(double)
MT_PRODUCT(int64_t)

}  // namespace mt
