// Rows of a table: sums of rows in bags, and gradients added to the rows that they are of. All memory is contiguous.
#include <algorithm>
#include <vector>

#include "tensor.h"
#include "threads.h"

namespace mt {
namespace {

// Rows of a table that gradients are added to are dealt out to threads: as many as lie together, to one of so many shares. Rows
// that are used often lie together, too, as those of frequent words do.
constexpr int64_t kTogether = 16, kShares = 64;

enum Mode { kSum, kMean, kMax };

struct Bags {
  const mt_tensor *weight, *out;
  const int64_t *indices, *bounds;  // bounds: where each bag begins, and the last one ends
  const void* factors;              // of each index, or null
  int64_t* sizes;
  int64_t* largest;  // of kMax: the rows that the largest elements are in
  int64_t mode, padding;
};

template <class T>
struct SumBags {
  // The bags from `first` to `last`.
  MT_INLINE static int run(const Bags* b, int64_t first, int64_t last) {
    const int64_t width = b->weight->shape[1];
    const T* weight = static_cast<const T*>(b->weight->data);
    const T* factors = static_cast<const T*>(b->factors);
    Pace pace;
    for (int64_t bag = first; bag < last; ++bag) {
      T* out = static_cast<T*>(b->out->data) + bag * width;
      int64_t* largest = b->largest == nullptr ? nullptr : b->largest + bag * width;
      int64_t count = 0;
      for (int64_t c = 0; c < width; ++c) out[c] = 0;
      for (int64_t i = b->bounds[bag]; i < b->bounds[bag + 1]; ++i) {
        const int64_t index = b->indices[i];
        if (index == b->padding) continue;
        const T* row = weight + index * width;
        if (b->mode == kMax) {
          for (int64_t c = 0; c < width; ++c)
            if (count == 0 || row[c] > out[c]) {
              out[c] = row[c];
              largest[c] = index;
            }
        } else if (factors != nullptr) {
          const T factor = factors[i];
          for (int64_t c = 0; c < width; ++c) out[c] += row[c] * factor;
        } else {
          for (int64_t c = 0; c < width; ++c) out[c] += row[c];
        }
        ++count;
        if (pace.stops(width)) return MT_ERROR_INTERRUPTED;
      }
      b->sizes[bag] = count;
      if (b->mode == kMean && count > 1)
        for (int64_t c = 0; c < width; ++c) out[c] /= T(count);
    }
    return MT_OK;
  }
};

struct Adding {
  const mt_tensor *grad, *out;
  const int64_t* indices;
  const int64_t* counts;  // of each row the times that it was used, or null
  int64_t padding;
};

template <class T>
struct AddRows {
  // The shares from `first` to `last`: each thread sees all indices, so that the order in which a row is added to is theirs.
  MT_INLINE static int run(const Adding* a, int64_t first, int64_t last) {
    const int64_t width = a->grad->shape[1];
    Pace pace;
    for (int64_t i = 0; i < a->grad->shape[0]; ++i) {
      const int64_t index = a->indices[i];
      const int64_t share = index / kTogether % kShares;
      if (index == a->padding || share < first || share >= last) continue;
      const T* grad = static_cast<const T*>(a->grad->data) + i * width;
      T* out = static_cast<T*>(a->out->data) + index * width;
      if (a->counts == nullptr) {
        for (int64_t c = 0; c < width; ++c) out[c] += grad[c];
      } else {
        const T scale = T(1) / T(a->counts[index]);
        for (int64_t c = 0; c < width; ++c) out[c] += grad[c] * scale;
      }
      if (pace.stops(width)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  }
};

bool are_within(const int64_t* indices, int64_t n, int64_t rows) {
  for (int64_t i = 0; i < n; ++i)
    if (indices[i] < 0 || indices[i] >= rows) return false;
  return true;
}

bool is_table(const mt_tensor* t) { return t->ndim == 2 && is_contiguous(t); }

// Runs a body over parts of a range that are not below `grain`.
template <template <class> class Body, class Work>
int run(int32_t dtype, const Work& work, int64_t n, int64_t grain) {
  using Fn = int (*)(const Work*, int64_t, int64_t);
  static const Fn of_f32 = PerIsa<Body<float>, const Work*, int64_t, int64_t>::pick();
  static const Fn of_f64 = PerIsa<Body<double>, const Work*, int64_t, int64_t>::pick();
  if (dtype != MT_F32 && dtype != MT_F64) return MT_ERROR_DTYPE;
  const Fn fn = dtype == MT_F32 ? of_f32 : of_f64;
  return parallel(n, grain, [&](int64_t first, int64_t last) -> int { return fn(&work, first, last); });
}

}  // namespace
}  // namespace mt

// The sum (mode 0), mean (1) or largest elements (2) of the rows of each bag. Bags begin at offsets, the last one ends with the indices,
// or, where there is one offset more, at that (1), or with the indices all the same (2 in `one_more`). Besides, each index's bag, `bags`
// of those behind the last, and how many rows a bag has.
MT_EXPORT int mt_embedding_bag(const mt_tensor* weight, int64_t* indices, int64_t n, int64_t* offsets, int64_t bags, int64_t one_more,
                               void* factors, const mt_tensor* out, int64_t* bag_of, int64_t* sizes, int64_t* largest, int64_t mode,
                               int64_t padding) {
  if (!mt::is_table(weight) || !mt::is_table(out) || out->shape[0] != bags) return MT_ERROR_SHAPE;
  std::vector<int64_t> bounds(size_t(bags + 1), n);
  std::copy(offsets, offsets + bags + (one_more ? 1 : 0), bounds.begin());
  if ((bags > 0 || one_more) && (bounds[0] != 0 || bounds[size_t(bags)] > n)) return MT_ERROR_SHAPE;
  if (!std::is_sorted(bounds.begin(), bounds.end())) return MT_ERROR_SHAPE;
  if (one_more == 2) bounds[size_t(bags)] = n;
  if (!mt::are_within(indices, n, weight->shape[0])) return MT_ERROR_INDEX;
  int64_t i = 0;
  for (int64_t bag = 0; bag < bags; ++bag)
    for (; i < bounds[size_t(bag + 1)]; ++i) bag_of[i] = bag;
  std::fill(bag_of + i, bag_of + n, bags);
  const mt::Bags given{weight, out, indices, bounds.data(), factors, sizes, largest, mode, padding};
  const int64_t each = bags > 0 ? n / bags : 0;  // rows of a bag, on average
  return mt::run<mt::SumBags>(weight->dtype, given, bags, mt::rows_grain(each * weight->shape[1]));
}

// out[indices[i]] += grad[i], over the row's count where there are counts; rows of `padding` are left out.
MT_EXPORT int mt_embedding_backward(const mt_tensor* grad, int64_t* indices, int64_t* counts, const mt_tensor* out,
                                    int64_t padding) {
  if (!mt::is_table(grad) || !mt::is_table(out) || grad->shape[1] != out->shape[1]) return MT_ERROR_SHAPE;
  if (grad->dtype != out->dtype) return MT_ERROR_DTYPE;
  if (!mt::are_within(indices, grad->shape[0], out->shape[0])) return MT_ERROR_INDEX;
  const mt::Adding adding{grad, out, indices, counts, padding};
  const int64_t grain = mt::rows_grain(mt::numel(grad) / mt::kShares);
  return mt::run<mt::AddRows>(grad->dtype, adding, mt::kShares, mt::even_grain(mt::kShares, grain));
}
