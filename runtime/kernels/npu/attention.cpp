// Attention of queries that have one row of keys each, with a running softmax over tiles of keys:
// (q, k, v, q2, k2, mask, table, out, lse, sums, plan, float scale). The blocks share the rows, a query and a head each.
//
// q2 and k2 are a second part of queries and keys, as of rotary positions; `mask` is bytes, nonzero where a key is left
// out; `table` is int32, the blocks of each sequence in a cache of keys and values that lies in blocks.
#include "attention.h"

using namespace AscendC;

namespace mindtorch {

constexpr uint32_t kTile = 64;            // keys at a time
constexpr uint32_t kScores = kTile + 8;   // their scores, and the peak before them
constexpr float kNothing = -3.0e38f;      // below every score

template <typename T>
class Attention {
 public:
  __aicore__ inline Attention(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR q2, GM_ADDR k2, GM_ADDR mask, GM_ADDR table,
                              GM_ADDR out, GM_ADDR lse, GM_ADDR sums, GM_ADDR plan, float scale)
      : plan_(plan), scale_(scale) {
    q_.SetGlobalBuffer((__gm__ T*)q);
    k_.SetGlobalBuffer((__gm__ T*)k);
    v_.SetGlobalBuffer((__gm__ T*)v);
    q2_.SetGlobalBuffer((__gm__ T*)q2);
    k2_.SetGlobalBuffer((__gm__ T*)k2);
    mask_.SetGlobalBuffer((__gm__ uint8_t*)mask);
    table_.SetGlobalBuffer((__gm__ int32_t*)table);
    out_.SetGlobalBuffer((__gm__ T*)out);
    lse_.SetGlobalBuffer((__gm__ float*)lse);
    sums_.SetGlobalBuffer((__gm__ float*)sums);
    width_ = field(kWidth);
    second_ = field(kSecondWidth);
    value_ = field(kValueWidth);
    const uint32_t widest = width_ > value_ ? width_ : value_;
    const uint32_t row = aligned(widest > second_ ? widest : second_);
    pipe_.InitBuffer(rows_, kBuffers, row * sizeof(float));
    pipe_.InitBuffer(results_, 1, row * sizeof(float));
    pipe_.InitBuffer(lses_, 1, 32);
    pipe_.InitBuffer(query_, row * sizeof(float));
    pipe_.InitBuffer(secondQuery_, row * sizeof(float));
    pipe_.InitBuffer(wide_, row * sizeof(float));
    pipe_.InitBuffer(work_, row * sizeof(float));
    pipe_.InitBuffer(sum_, row * sizeof(float));
    pipe_.InitBuffer(scores_, kScores * sizeof(float));
    pipe_.InitBuffer(total_, 32);
  }

  __aicore__ inline void run() {
    const int64_t rows = field(kTokens) * field(kHeads);
    for (int64_t row = GetBlockIdx(); row < rows; row += GetBlockNum()) {
      const int64_t token = row / field(kHeads);
      for (int64_t n = 0; n < field(kSequences); ++n) {
        const int64_t at = token - sequence(n, kFirst);
        if (at >= 0 && at < sequence(n, kSpan)) attend(n, at, row % field(kHeads));
      }
    }
  }

 private:
  __aicore__ inline int64_t field(Field i) { return plan_.field(i); }
  __aicore__ inline int64_t sequence(int64_t n, Sequence i) { return plan_.sequence(n, i); }

  /// Where a key, or value, of a sequence begins: in a row of its own, or in one of the blocks of a cache.
  __aicore__ inline int64_t place(int64_t n, int64_t key, int64_t head, Sequence at, Field token) {
    const int64_t inHead = head * field(Field(token + 1));
    const int64_t block = field(kBlockSize);
    if (block == 0) return sequence(n, at) + key * field(token) + inHead;
    const int64_t number = table_.GetValue(n * field(kTableWidth) + key / block);
    ASSERT(number >= 0 && number < field(kBlocks) && "the table names a block of the cache");
    return number * field(Field(token + 2)) + key % block * field(token) + inHead;
  }

  __aicore__ inline void read(const LocalTensor<float>& wide, const GlobalTensor<T>& source, uint32_t count) {
    LocalTensor<T> row = fetch<T>(rows_, source, count);
    widen<T>(wide, row, count);
    rows_.FreeTensor(row);
  }

  __aicore__ inline float dot(const LocalTensor<float>& a, const LocalTensor<float>& b, uint32_t count) {
    LocalTensor<float> total = total_.Get<float>();
    Mul(b, a, b, count);
    ReduceSum(total, b, work_.Get<float>(), count);
    then<HardEvent::V_S>(pipe_);
    return total.GetValue(0);
  }

  __aicore__ inline float score(int64_t n, int64_t at, int64_t key, int64_t head) {
    if (field(kHasMask) && mask_.GetValue(sequence(n, kMaskAt) + at * field(kMaskRow) + key) != 0) return kNothing;
    LocalTensor<float> wide = wide_.Get<float>();
    read(wide, k_[place(n, key, head, kKeyAt, kKeyToken)], width_);
    float found = dot(query_.Get<float>(), wide, width_);
    if (second_ != 0) {
      read(wide, k2_[place(n, key, head, kSecondKeyAt, kSecondKeyToken)], second_);
      found += dot(secondQuery_.Get<float>(), wide, second_);
    }
    return found;
  }

  __aicore__ inline void attend(int64_t n, int64_t at, int64_t head) {
    LocalTensor<float> sum = sum_.Get<float>(), scores = scores_.Get<float>(), wide = wide_.Get<float>();
    const int64_t keyHead = head / (field(kHeads) / field(kKeyHeads));
    int64_t keys = sequence(n, kKeys);
    if (at + sequence(n, kShift) + 1 < keys) keys = at + sequence(n, kShift) + 1;
    if (at >= sequence(n, kLength)) keys = 0;
    read(query_.Get<float>(), q_[sequence(n, kQueryAt) + at * field(kQueryToken) + head * field(kQueryHead)], width_);
    Muls(query_.Get<float>(), query_.Get<float>(), scale_, width_);
    if (second_ != 0) {
      LocalTensor<float> query = secondQuery_.Get<float>();
      read(query, q2_[sequence(n, kSecondAt) + at * field(kSecondToken) + head * field(kSecondHead)], second_);
      Muls(query, query, scale_, second_);
    }
    Duplicate(sum, 0.0f, aligned(value_));
    float peak = kNothing, weight = 0;
    for (int64_t from = 0; from < keys; from += kTile) {
      const uint32_t count = keys - from < kTile ? keys - from : kTile;
      float higher = peak;
      for (uint32_t i = 0; i < count; ++i) {
        const float found = score(n, at, from + i, keyHead);
        scores.SetValue(i, found);
        if (found > higher) higher = found;
      }
      if (higher == kNothing) continue;
      for (uint32_t i = count; i < kTile; ++i) scores.SetValue(i, kNothing);
      for (uint32_t i = kTile; i < kScores; ++i) scores.SetValue(i, peak);
      then<HardEvent::S_V>(pipe_);
      Adds(scores, scores, -higher, kScores);
      Maxs(scores, scores, -80.0f, kScores);  // whose exponential adds nothing to the 1 that the highest one has
      Exp(scores, scores, kScores);
      then<HardEvent::V_S>(pipe_);
      const float shrink = peak == kNothing ? 0.0f : scores.GetValue(kTile);
      weight *= shrink;
      Muls(sum, sum, shrink, value_);
      for (uint32_t i = 0; i < count; ++i) {
        const float share = scores.GetValue(i);
        weight += share;
        read(wide, v_[place(n, from + i, keyHead, kValueAt, kValueToken)], value_);
        Axpy(sum, wide, share, value_);
      }
      peak = higher;
    }
    finish(n, at, head, sum, peak, weight);
  }

  __aicore__ inline void finish(int64_t n, int64_t at, int64_t head, const LocalTensor<float>& sum, float peak,
                                float weight) {
    if (weight > 0) Muls(sum, sum, 1.0f / weight, value_);
    LocalTensor<T> result = results_.template AllocTensor<T>();
    narrow<T>(result, sum, value_);
    store<T>(results_, result, out_[sequence(n, kOutAt) + at * field(kOutToken) + head * field(kOutHead)], value_);
    const int64_t place = sequence(n, kLseAt) + at * field(kLseToken) + head * field(kLseHead);
    if (field(kStatistics) == kLogarithms) {
      write(lse_[place], weight, 1, [&](const LocalTensor<float>& row) {
        Ln(row, row, kRow);
        Adds(row, row, peak, kRow);
        if (!(weight > 0)) Duplicate(row, __builtin_inff(), kRow);  // no key at all
      });
    } else if (field(kStatistics) == kPeaksAndSums) {
      write(lse_[place], weight > 0 ? peak : -__builtin_inff(), kRow, [](const LocalTensor<float>&) {});
      write(sums_[place], weight, kRow, [](const LocalTensor<float>&) {});
    }
  }

  /// A number, kRow times and then changed, to the first `count` elements of a row of statistics.
  template <typename Change>
  __aicore__ inline void write(const GlobalTensor<float>& target, float value, uint32_t count, Change change) {
    LocalTensor<float> row = lses_.template AllocTensor<float>();
    Duplicate(row, value, kRow);
    change(row);
    store<float>(lses_, row, target, count);
  }

  const Plan plan_;
  const float scale_;
  uint32_t width_, second_, value_;
  TPipe pipe_;
  GlobalTensor<T> q_, k_, v_, q2_, k2_, out_;
  GlobalTensor<uint8_t> mask_;
  GlobalTensor<int32_t> table_;
  GlobalTensor<float> lse_, sums_;
  Input<T> rows_;
  Output<T> results_;
  Output<float> lses_;
  TBuf<TPosition::VECCALC> query_, secondQuery_, wide_, work_, sum_, scores_, total_;
};

}  // namespace mindtorch

#define ATTENTION(name, T)                                                                                           \
  extern "C" __global__ __aicore__ void name(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR q2, GM_ADDR k2, GM_ADDR mask,   \
                                             GM_ADDR table, GM_ADDR out, GM_ADDR lse, GM_ADDR sums, GM_ADDR plan,     \
                                             float scale) {                                                           \
    mindtorch::Attention<T>(q, k, v, q2, k2, mask, table, out, lse, sums, plan, scale).run();                        \
  }

ATTENTION(attention_f32, float)
ATTENTION(attention_f16, half)
ATTENTION(attention_bf16, bfloat16_t)
