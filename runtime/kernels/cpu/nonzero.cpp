// Where truth values are true: counted by pieces first, so that each piece knows where its rows of indices go.
#include <algorithm>
#include <vector>

#include "tensor.h"
#include "threads.h"

namespace mt {
namespace {

// Elements in pieces, as many of them as there are counts.
struct Pieces {
  const mt_tensor *mask, *counts;
  int64_t n, size;

  int init() {
    if (mask->dtype != MT_BOOL || counts->dtype != MT_I64) return MT_ERROR_DTYPE;
    n = numel(mask);
    if (counts->ndim != 1 || (n > 0 && counts->shape[0] < 1)) return MT_ERROR_SHAPE;
    size = n == 0 ? 1 : (n + counts->shape[0] - 1) / counts->shape[0];
    return n == 0 || (is_contiguous(mask) && is_contiguous(counts)) ? int(MT_OK) : int(MT_ERROR_SHAPE);
  }
  const bool* values() const { return static_cast<const bool*>(mask->data); }
  int64_t* count() const { return static_cast<int64_t*>(counts->data); }

  // Calls f(piece, first element, last element).
  template <class F>
  int each(F&& f) const {
    return n == 0 ? int(MT_OK) : parallel(counts->shape[0], std::max<int64_t>(1, kGrain / size), [&](int64_t from, int64_t to) -> int {
      Pace pace;
      for (; from < to; ++from) {
        f(from, std::min(n, from * size), std::min(n, (from + 1) * size));
        if (pace.stops(size)) return MT_ERROR_INTERRUPTED;
      }
      return MT_OK;
    });
  }
};

struct Count {
  MT_INLINE static int run(const bool* from, const bool* to, int64_t* count) {
    const uint8_t* x = reinterpret_cast<const uint8_t*>(from);
    int64_t found = 0;
    for (; x < reinterpret_cast<const uint8_t*>(to); ++x) found += *x;
    *count = found;
    return MT_OK;
  }
};

// The rows of one piece's indices.
void write_rows(const mt_tensor* mask, const bool* values, int64_t first, int64_t last, int64_t* row) {
  const int64_t inner = mask->ndim - 1, width = mask->shape[inner];
  int64_t at[kMaxDims];
  int64_t left = first;
  for (int64_t d = inner; d >= 0; --d) {
    at[d] = left % mask->shape[d];
    left /= mask->shape[d];
  }
  while (first < last) {
    const int64_t end = std::min(last, first + width - at[inner]);
    for (int64_t column = at[inner]; first < end; ++first, ++column) {
      if (!values[first]) continue;
      for (int64_t d = 0; d < inner; ++d) row[d] = at[d];
      row[inner] = column;
      row += mask->ndim;
    }
    at[inner] = 0;
    for (int64_t d = inner - 1; d >= 0 && ++at[d] == mask->shape[d]; --d) at[d] = 0;
  }
}

}  // namespace
}  // namespace mt

// How many elements of a contiguous tensor of truth values are true, in each of as many pieces as `counts` has elements.
MT_EXPORT int mt_nonzero_counts(const mt_tensor* mask, const mt_tensor* counts) {
  static const auto fn = mt::PerIsa<mt::Count, const bool*, const bool*, int64_t*>::pick();
  mt::Pieces pieces{mask, counts, 0, 0};
  if (int status = pieces.init()) return status;
  return pieces.each([&](int64_t piece, int64_t first, int64_t last) {
    fn(pieces.values() + first, pieces.values() + last, pieces.count() + piece);
  });
}

// A row for each of them, its index in each dimension; `counts` are those of `mt_nonzero_counts`.
MT_EXPORT int mt_nonzero_rows(const mt_tensor* mask, const mt_tensor* counts, const mt_tensor* rows) {
  mt::Pieces pieces{mask, counts, 0, 0};
  if (int status = pieces.init()) return status;
  if (pieces.n == 0) return MT_OK;
  std::vector<int64_t> starts(size_t(counts->shape[0]) + 1);
  for (int64_t i = 0; i < counts->shape[0]; ++i) starts[size_t(i) + 1] = starts[size_t(i)] + pieces.count()[i];
  if (mask->ndim < 1 || mask->ndim > mt::kMaxDims || rows->ndim != 2 || rows->shape[1] != mask->ndim || rows->shape[0] != starts.back())
    return MT_ERROR_SHAPE;
  if (rows->dtype != MT_I64) return MT_ERROR_DTYPE;
  if (starts.back() == 0) return MT_OK;
  if (!mt::is_contiguous(rows)) return MT_ERROR_SHAPE;
  return pieces.each([&](int64_t piece, int64_t first, int64_t last) {
    int64_t* const row = static_cast<int64_t*>(rows->data) + starts[size_t(piece)] * mask->ndim;
    mt::write_rows(mask, pieces.values(), first, last, row);
  });
}
