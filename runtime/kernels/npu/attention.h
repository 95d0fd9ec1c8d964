// What the kernels of attention share: the plan, which is uploaded before them, and arithmetic over rows.
//
// A plan is int64: the fields of Field, then those of Sequence for each sequence. Offsets and strides are in elements.
#pragma once

#include "tiles.h"

namespace mindtorch {

enum Field : uint32_t {
  kTokens, kHeads, kKeyHeads, kWidth, kSecondWidth, kValueWidth, kSequences, kBlockSize, kTableWidth, kHasMask, kStatistics,
  kQueryToken, kQueryHead, kSecondToken, kSecondHead, kKeyToken, kKeyHead, kKeyBlock, kSecondKeyToken, kSecondKeyHead,
  kSecondKeyBlock, kValueToken, kValueHead, kValueBlock, kOutToken, kOutHead, kLseToken, kLseHead, kMaskRow, kBlocks, kFields
};
enum Sequence : uint32_t {
  kFirst, kSpan, kLength, kKeySpan, kKeys, kShift, kQueryAt, kSecondAt, kKeyAt, kSecondKeyAt, kValueAt, kOutAt, kLseAt, kMaskAt,
  kSequenceFields
};
enum Statistics : int64_t {
  kNone,
  kLogarithms,    // of the sums of exponentials, a number each
  kPeaksAndSums,  // the highest score, and the sum of exponentials over it, a row of kRow each
};
constexpr uint32_t kRow = 8;

class Plan {
 public:
  __aicore__ inline explicit Plan(GM_ADDR plan) { plan_.SetGlobalBuffer((__gm__ int64_t*)plan); }
  __aicore__ inline int64_t field(Field i) const { return plan_.GetValue(i); }
  __aicore__ inline int64_t sequence(int64_t n, Sequence i) const {
    return plan_.GetValue(kFields + n * kSequenceFields + i);
  }

 private:
  AscendC::GlobalTensor<int64_t> plan_;
};

__aicore__ inline uint32_t aligned(uint32_t n) { return (n + 15) / 16 * 16; }

}  // namespace mindtorch
