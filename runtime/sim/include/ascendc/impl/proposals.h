// Region proposals, by which the 910A and the 310P sort: 8 elements each, of which x1, y1, x2, y2, score and label count.
#pragma once

#include <algorithm>
#include <array>

#include "sort.h"

namespace mtsim {

constexpr int32_t kProposal = 8;  // elements
constexpr int32_t kProposalScore = 4;
constexpr int32_t kProposalGroup = 16;

inline void check_proposals(const char* name, int32_t repeats, int32_t mode) {
  if (repeats < 0 || repeats > 255)
    fault({"limit"}, kVectorCoreException, "%s: %d repeats, there may be 0 to 255", name, repeats);
  if (mode < 0 || mode > 5)
    fault({"limit"}, kVectorCoreException, "%s: mode %d: 0 to 5 are x1, y1, x2, y2, score and label", name, mode);
}

template <typename T>
struct ProposalItem {
  static constexpr uint64_t kBytes = kProposal * sizeof(T), kScoreAt = kProposalScore * sizeof(T);
};

}  // namespace mtsim

namespace AscendC {

/// Element i of src becomes the member `modeNumber` of proposal i; the other members stay as they are.
template <typename T>
void ProposalConcat(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime,
                    const int32_t modeNumber) {
  static_assert(mtsim::one_of<T, half, float>, "ProposalConcat exists for half and float");
  mtsim::check_proposals("ProposalConcat", repeatTime, modeNumber);
  const mtsim::Instruction instruction("ProposalConcat", PIPE_V, mtsim::Flow::Moves);
  const int64_t count = int64_t{repeatTime} * mtsim::kProposalGroup;
  const T* in = mtsim::elements(src, count, "ProposalConcat", "src");
  T* out = mtsim::elements_in_range(dst, count * mtsim::kProposal, "ProposalConcat", "dst");
  for (int64_t i = 0; i < count; ++i) {
    T* to = out + i * mtsim::kProposal + modeNumber;
    mtsim::touch_elements(to, 1, "ProposalConcat", "dst", MTSIM_WRITES);
    *to = in[i];
    mtsim::moved(to, in + i, sizeof(T));
  }
}

/// The member `modeNumber` of each proposal, one behind the other.
template <typename T>
void ProposalExtract(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime,
                     const int32_t modeNumber) {
  static_assert(mtsim::one_of<T, half, float>, "ProposalExtract exists for half and float");
  mtsim::check_proposals("ProposalExtract", repeatTime, modeNumber);
  const mtsim::Instruction instruction("ProposalExtract", PIPE_V, mtsim::Flow::Moves);
  const int64_t count = int64_t{repeatTime} * mtsim::kProposalGroup;
  const T* in = mtsim::elements_in_range(src, count * mtsim::kProposal, "ProposalExtract", "src");
  T* out = mtsim::elements(dst, count, "ProposalExtract", "dst");
  for (int64_t i = 0; i < count; ++i) {
    const T* from = in + i * mtsim::kProposal + modeNumber;
    mtsim::touch_elements(from, 1, "ProposalExtract", "src", MTSIM_READS);
    out[i] = *from;
    mtsim::moved(out + i, from, sizeof(T));
  }
}

/// Each 16 proposals by descending score; equal scores keep their order.
template <typename T>
void RpSort16(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime) {
  static_assert(mtsim::one_of<T, half, float>, "RpSort16 exists for half and float");
  mtsim::check_proposals("RpSort16", repeatTime, mtsim::kProposalScore);
  const mtsim::Instruction instruction("RpSort16", PIPE_V, mtsim::Flow::Moves);
  using Proposal = std::array<T, mtsim::kProposal>;
  const int64_t count = int64_t{repeatTime} * mtsim::kProposalGroup;
  const T* in = mtsim::elements_in_range(src, count * mtsim::kProposal, "RpSort16", "src");
  T* out = mtsim::elements(dst, count * mtsim::kProposal, "RpSort16", "dst");
  std::array<Proposal, mtsim::kProposalGroup> group;
  std::array<int32_t, mtsim::kProposalGroup> order;
  for (int64_t first = 0; first < count; first += mtsim::kProposalGroup) {
    const T* from = in + first * mtsim::kProposal;
    for (int32_t i = 0; i < mtsim::kProposalGroup; ++i) {
      std::copy_n(from + i * mtsim::kProposal, mtsim::kProposal, group[i].begin());
      mtsim::touch_elements(from + i * mtsim::kProposal, mtsim::kProposalScore, "RpSort16", "src", MTSIM_READS);
      mtsim::touch_elements(from + i * mtsim::kProposal + mtsim::kProposalScore, 1, "RpSort16", "src", mtsim::kUsed);
      order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return static_cast<float>(group[a][mtsim::kProposalScore]) > static_cast<float>(group[b][mtsim::kProposalScore]);
    });
    for (int32_t i = 0; i < mtsim::kProposalGroup; ++i) {
      T* to = out + (first + i) * mtsim::kProposal;
      std::copy_n(group[order[i]].begin(), mtsim::kProposal, to);
      mtsim::moved(to, from + order[i] * mtsim::kProposal, sizeof(Proposal));
    }
  }
}

/// Up to four lists of proposals, each by descending score, as one; of equal scores that of the first list comes first.
template <typename T>
void MrgSort4(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params) {
  constexpr uint64_t alignment = mtsim::ProposalItem<T>::kBytes;  // a proposal's, 16 or 32 bytes
  mtsim::merge_sort<T, mtsim::ProposalItem<T>>("MrgSort4", dst, src, params.elementLengths, params.validBit,
                                               params.repeatTimes, params.ifExhaustedSuspension, alignment, alignment);
}

}  // namespace AscendC
