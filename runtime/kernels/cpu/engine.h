// Random words of 32 bits, one by one or many at a time: of mt19937 on the CPU, of Philox 4x32-10 for other devices.
#pragma once

#include <algorithm>

#include "mindtorch_random.h"
#include "tensor.h"

namespace mt {

// The next 624 words of the state, from the last. No word depends on one less than 227 before it, so loops vectorise.
struct Twist {
  MT_INLINE static uint32_t mixed(uint32_t high, uint32_t low) {
    const uint32_t y = (high & 0x80000000u) | (low & 0x7FFFFFFFu);
    return (y >> 1) ^ (0x9908B0DFu & (0u - (low & 1u)));
  }
  MT_INLINE static int run(uint32_t* s) {
    constexpr int n = MT_STATE_WORDS, m = 397;
    for (int i = 0; i < n - m; ++i) s[i] = s[i + m] ^ mixed(s[i], s[i + 1]);
    for (int i = n - m; i < n - 1; ++i) s[i] = s[i + m - n] ^ mixed(s[i], s[i + 1]);
    s[n - 1] = s[m - 1] ^ mixed(s[n - 1], s[0]);
    return MT_OK;
  }
};

MT_INLINE uint32_t tempered(uint32_t y) {
  y ^= y >> 11;
  y ^= (y << 7) & 0x9D2C5680u;
  y ^= (y << 15) & 0xEFC60000u;
  return y ^ (y >> 18);
}

struct Temper {
  MT_INLINE static int run(uint32_t* out, const uint32_t* words, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = tempered(words[i]);
    return MT_OK;
  }
};

// Four words of a counter and a key of two, in ten rounds (Salmon, Moraes, Dror and Shaw, 2011).
inline void philox(uint32_t* out, uint64_t seed, uint64_t low, uint64_t high) {
  uint32_t c[4] = {uint32_t(low), uint32_t(low >> 32), uint32_t(high), uint32_t(high >> 32)};
  uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t(0xD2511F53u) * c[0], b = uint64_t(0xCD9E8D57u) * c[2];
    const uint32_t next[4] = {uint32_t(b >> 32) ^ c[1] ^ k0, uint32_t(b), uint32_t(a >> 32) ^ c[3] ^ k1, uint32_t(a)};
    std::memcpy(c, next, sizeof c);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  std::memcpy(out, c, sizeof c);
}

// Draws from a generator's state, which it leaves as if all had been drawn one by one. Philox's counter is the offset in
// words, by four; what is left of a block of four when an engine goes is not drawn again.
class Engine {
 public:
  explicit Engine(mt_generator* state) : state_(state) {}
  Engine(const Engine&) = delete;
  ~Engine() {
    if (!state_->is_philox) return;
    state_->offset = (state_->offset - uint64_t(state_->left - 1) + 3) & ~uint64_t(3);
    state_->left = 1;
  }

  mt_generator* state() const { return state_; }

  uint32_t word() {
    if (state_->left <= 1) renew();
    --state_->left;
    const uint32_t word = state_->words[state_->next++];
    return state_->is_philox ? word : tempered(word);
  }

  // The first word drawn is the high half.
  uint64_t long_word() {
    const uint64_t high = word();
    return high << 32 | word();
  }

  // Evenly distributed over [0, 1), with 53 bits.
  double uniform() { return double(long_word() & ((uint64_t(1) << 53) - 1)) * 0x1p-53; }

  void words(uint32_t* out, int64_t n) {
    static const auto temper = PerIsa<Temper, uint32_t*, const uint32_t*, int64_t>::pick();
    while (n > 0) {
      if (state_->left <= 1) renew();
      const int64_t count = std::min<int64_t>(n, state_->left - 1);
      const uint32_t* from = state_->words + state_->next;
      if (state_->is_philox) {
        std::memcpy(out, from, size_t(count) * sizeof(uint32_t));
      } else {
        temper(out, from, count);
      }
      state_->left -= int32_t(count);
      state_->next += uint32_t(count);
      out += count;
      n -= count;
    }
  }

 private:
  void renew() {
    static const auto twist = PerIsa<Twist, uint32_t*>::pick();
    if (state_->is_philox) {
      for (int i = 0; i < MT_STATE_WORDS; i += 4) philox(state_->words + i, state_->seed, state_->offset / 4 + uint64_t(i / 4), 0);
      state_->offset += MT_STATE_WORDS;
    } else {
      twist(state_->words);
    }
    state_->left = MT_STATE_WORDS + 1;
    state_->next = 0;
  }
  mt_generator* state_;
};

}  // namespace mt
