// The gradients of attention, from what its forward left of the softmax, the highest score and the sum of each row:
// (q, k, v, grad, out, peaks, sums, mask, dq, dk, dv, plan, float scale).
//
// With p the share of a key in a query's row, the gradient of its score is p * (grad . v - grad . out). The blocks share
// the rows of queries, for dq, and then those of keys, for dk and dv, so that no two write to one place. Every row is
// written: what belongs to no sequence is 0.
#include "attention.h"

using namespace AscendC;

namespace mindtorch {

template <typename T>
class AttentionGradient {
 public:
  __aicore__ inline AttentionGradient(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR grad, GM_ADDR out, GM_ADDR peaks,
                                      GM_ADDR sums, GM_ADDR mask, GM_ADDR dq, GM_ADDR dk, GM_ADDR dv, GM_ADDR plan,
                                      float scale)
      : plan_(plan), scale_(scale) {
    q_.SetGlobalBuffer((__gm__ T*)q);
    k_.SetGlobalBuffer((__gm__ T*)k);
    v_.SetGlobalBuffer((__gm__ T*)v);
    grad_.SetGlobalBuffer((__gm__ T*)grad);
    out_.SetGlobalBuffer((__gm__ T*)out);
    peaks_.SetGlobalBuffer((__gm__ float*)peaks);
    sums_.SetGlobalBuffer((__gm__ float*)sums);
    mask_.SetGlobalBuffer((__gm__ uint8_t*)mask);
    dq_.SetGlobalBuffer((__gm__ T*)dq);
    dk_.SetGlobalBuffer((__gm__ T*)dk);
    dv_.SetGlobalBuffer((__gm__ T*)dv);
    width_ = plan_.field(kWidth);
    value_ = plan_.field(kValueWidth);
    group_ = plan_.field(kHeads) / plan_.field(kKeyHeads);
    const uint32_t row = aligned(width_ > value_ ? width_ : value_) * sizeof(float);
    pipe_.InitBuffer(rows_, kBuffers, row);
    pipe_.InitBuffer(results_, 1, row);
    for (TBuf<TPosition::VECCALC>* each : {&query_, &key_, &valueRow_, &gradRow_, &first_, &second_, &product_, &work_}) {
      pipe_.InitBuffer(*each, row);
    }
    pipe_.InitBuffer(total_, 32);
  }

  __aicore__ inline void run() {
    for (int64_t n = 0; n < plan_.field(kSequences); ++n) {
      const int64_t heads = plan_.field(kHeads), keyHeads = plan_.field(kKeyHeads);
      for (int64_t row = GetBlockIdx(); row < plan_.sequence(n, kSpan) * heads; row += GetBlockNum()) {
        ofQuery(n, row / heads, row % heads);
      }
      for (int64_t row = GetBlockIdx(); row < plan_.sequence(n, kKeySpan) * keyHeads; row += GetBlockNum()) {
        ofKey(n, row / keyHeads, row % keyHeads);
      }
    }
  }

 private:
  __aicore__ inline int64_t place(int64_t n, Sequence first, Field token, int64_t at, int64_t head) {
    return plan_.sequence(n, first) + at * plan_.field(token) + head * plan_.field(Field(token + 1));
  }

  __aicore__ inline bool sees(int64_t n, int64_t at, int64_t key) {
    if (key > at + plan_.sequence(n, kShift)) return false;
    return !plan_.field(kHasMask) || mask_.GetValue(plan_.sequence(n, kMaskAt) + at * plan_.field(kMaskRow) + key) == 0;
  }

  __aicore__ inline void read(TBuf<TPosition::VECCALC>& buffer, const GlobalTensor<T>& source, uint32_t count) {
    LocalTensor<T> row = fetch<T>(rows_, source, count);
    widen<T>(buffer.Get<float>(), row, count);
    rows_.FreeTensor(row);
  }

  __aicore__ inline float dot(TBuf<TPosition::VECCALC>& a, TBuf<TPosition::VECCALC>& b, uint32_t count) {
    LocalTensor<float> total = total_.Get<float>(), product = product_.Get<float>();
    Mul(product, a.Get<float>(), b.Get<float>(), count);
    ReduceSum(total, product, work_.Get<float>(), count);
    then<HardEvent::V_S>(pipe_);
    return total.GetValue(0);
  }

  __aicore__ inline float exponential(float x) {
    LocalTensor<float> total = total_.Get<float>();
    Duplicate(total, x, kRow);
    Exp(total, total, kRow);
    then<HardEvent::V_S>(pipe_);
    return total.GetValue(0);
  }

  /// A query, scaled, its gradient, and what its row of scores comes to. False where no key counts.
  __aicore__ inline bool readQuery(int64_t n, int64_t at, int64_t head) {
    const int64_t statistics = place(n, kLseAt, kLseToken, at, head);
    sum_ = sums_.GetValue(statistics);
    if (!(sum_ > 0)) return false;
    peak_ = peaks_.GetValue(statistics);
    const int64_t outAt = place(n, kOutAt, kOutToken, at, head);
    read(gradRow_, grad_[outAt], value_);
    read(query_, out_[outAt], value_);
    delta_ = dot(gradRow_, query_, value_);
    read(query_, q_[place(n, kQueryAt, kQueryToken, at, head)], width_);
    Muls(query_.Get<float>(), query_.Get<float>(), scale_, width_);
    return true;
  }

  __aicore__ inline void readKey(int64_t n, int64_t key, int64_t head) {
    read(key_, k_[place(n, kKeyAt, kKeyToken, key, head)], width_);
    read(valueRow_, v_[place(n, kValueAt, kValueToken, key, head)], value_);
  }

  /// The share of the key in the query's row; `slope` gets the gradient of their score.
  __aicore__ inline float share(float& slope) {
    const float found = exponential(dot(query_, key_, width_) - peak_) / sum_;
    slope = found * (dot(gradRow_, valueRow_, value_) - delta_);
    return found;
  }

  __aicore__ inline void ofQuery(int64_t n, int64_t at, int64_t head) {
    LocalTensor<float> sum = first_.Get<float>();
    Duplicate(sum, 0.0f, aligned(width_));
    const int64_t keys = at < plan_.sequence(n, kLength) && readQuery(n, at, head) ? plan_.sequence(n, kKeys) : 0;
    for (int64_t key = 0; key < keys; ++key) {
      if (!sees(n, at, key)) continue;
      readKey(n, key, head / group_);
      float slope;
      share(slope);
      Axpy(sum, key_.Get<float>(), slope * scale_, width_);
    }
    write(dq_[place(n, kQueryAt, kQueryToken, at, head)], sum, width_);
  }

  __aicore__ inline void ofKey(int64_t n, int64_t key, int64_t keyHead) {
    LocalTensor<float> ofKeys = first_.Get<float>(), ofValues = second_.Get<float>();
    Duplicate(ofKeys, 0.0f, aligned(width_));
    Duplicate(ofValues, 0.0f, aligned(value_));
    const int64_t queries = key < plan_.sequence(n, kKeys) ? plan_.sequence(n, kLength) : 0;
    if (queries != 0) readKey(n, key, keyHead);
    for (int64_t head = keyHead * group_; head < (keyHead + 1) * group_; ++head) {
      for (int64_t at = 0; at < queries; ++at) {
        if (!sees(n, at, key) || !readQuery(n, at, head)) continue;
        float slope;
        Axpy(ofValues, gradRow_.Get<float>(), share(slope), value_);
        Axpy(ofKeys, query_.Get<float>(), slope, width_);
      }
    }
    write(dk_[place(n, kKeyAt, kKeyToken, key, keyHead)], ofKeys, width_);
    write(dv_[place(n, kValueAt, kValueToken, key, keyHead)], ofValues, value_);
  }

  __aicore__ inline void write(const GlobalTensor<T>& target, const LocalTensor<float>& wide, uint32_t count) {
    LocalTensor<T> row = results_.template AllocTensor<T>();
    narrow<T>(row, wide, count);
    store<T>(results_, row, target, count);
  }

  const Plan plan_;
  const float scale_;
  uint32_t width_, value_;
  int64_t group_;
  float peak_ = 0, sum_ = 0, delta_ = 0;
  TPipe pipe_;
  GlobalTensor<T> q_, k_, v_, grad_, out_, dq_, dk_, dv_;
  GlobalTensor<float> peaks_, sums_;
  GlobalTensor<uint8_t> mask_;
  Input<T> rows_;
  Output<T> results_;
  TBuf<TPosition::VECCALC> query_, key_, valueRow_, gradRow_, first_, second_, product_, work_, total_;
};

}  // namespace mindtorch

#define ATTENTION_GRADIENT(name, T)                                                                                   \
  extern "C" __global__ __aicore__ void name(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR grad, GM_ADDR out,              \
                                             GM_ADDR peaks, GM_ADDR sums, GM_ADDR mask, GM_ADDR dq, GM_ADDR dk,       \
                                             GM_ADDR dv, GM_ADDR plan, float scale) {                                 \
    mindtorch::AttentionGradient<T>(q, k, v, grad, out, peaks, sums, mask, dq, dk, dv, plan, scale).run();            \
  }

ATTENTION_GRADIENT(attention_gradient_f32, float)
ATTENTION_GRADIENT(attention_gradient_f16, half)
ATTENTION_GRADIENT(attention_gradient_bf16, bfloat16_t)
