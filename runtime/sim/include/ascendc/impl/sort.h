// Sorting by descending score: 32 elements a repeat, merging up to four sorted lists, and whole sequences. A sorted
// list holds 8 bytes an element: the score (a half leaves two bytes unused), then a 32-bit index.
#pragma once

#include <algorithm>
#include <vector>

#include "elementwise.h"

namespace mtsim {

constexpr uint32_t kSortedBytes = 8;
constexpr uint32_t kSortGroup = 32;

template <typename T>
struct Scored {
  T score;
  uint32_t index;
};

template <typename T>
Scored<T> load_scored(const uint8_t* from) {
  Scored<T> item;
  std::memcpy(&item.score, from, sizeof item.score);
  std::memcpy(&item.index, from + 4, sizeof item.index);
  return item;
}

template <typename T>
void store_scored(uint8_t* to, const Scored<T>& item) {
  std::memset(to, 0, kSortedBytes);
  std::memcpy(to, &item.score, sizeof item.score);
  std::memcpy(to + 4, &item.index, sizeof item.index);
}

template <typename T>
bool ranks_before(const Scored<T>& a, const Scored<T>& b) {
  return static_cast<float>(a.score) > static_cast<float>(b.score);
}

/// Sorts each group of `group` elements; equal scores keep their order.
template <typename T>
void sort_groups(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& scores,
                 const LocalTensor<uint32_t>& indices, uint32_t groups, uint32_t group) {
  static_assert(one_of<T, half, float>, "sorting exists for half and float");
  const int64_t count = int64_t{groups} * group;
  const T* from = elements(scores, count, name, "src0");
  const uint32_t* index = elements(indices, count, name, "src1");
  uint8_t* to = aligned_bytes(dst.template ReinterpretCast<uint8_t>(), count * kSortedBytes, name, "dst");
  std::vector<Scored<T>> items(group);
  for (uint32_t g = 0; g < groups; ++g) {
    for (uint32_t i = 0; i < group; ++i) items[i] = {from[g * group + i], index[g * group + i]};
    std::stable_sort(items.begin(), items.end(), ranks_before<T>);
    for (uint32_t i = 0; i < group; ++i) store_scored(to + (uint64_t{g} * group + i) * kSortedBytes, items[i]);
  }
}

/// What a list holds for an element, and where in it the score is.
template <typename T>
struct ScoredItem {
  static constexpr uint64_t kBytes = kSortedBytes, kScoreAt = 0;
};

/// One of the lists being merged.
struct SortedList {
  const uint8_t* data;
  uint32_t length;
  uint32_t taken = 0;
};

/// Merges into `to`, of equal scores that of the first list first; stops when a list is used up if `suspend`.
template <typename T, typename Item>
void merge_lists(const char* name, uint8_t* to, std::array<SortedList, 4>& lists, bool suspend) {
  for (;; to += Item::kBytes) {
    SortedList* best = nullptr;
    float best_score = 0;
    for (SortedList& list : lists) {
      if (list.taken == list.length) {
        if (suspend && list.length > 0) return;
        continue;
      }
      T score;
      std::memcpy(&score, list.data + list.taken * Item::kBytes + Item::kScoreAt, sizeof score);
      if (best == nullptr || static_cast<float>(score) > best_score) best = &list, best_score = static_cast<float>(score);
    }
    if (best == nullptr) return;
    const uint8_t* from = best->data + best->taken++ * Item::kBytes;
    touch(from + Item::kScoreAt, sizeof(T), 8 * sizeof(T), name, "src", kUsed);
    std::memcpy(to, from, Item::kBytes);
    moved(to, from, Item::kBytes);
  }
}

/// Four lists of equal length one behind the other are a repeat; several lists anywhere are merged in one. `dst` and the
/// lists may start at a multiple of `alignment` and `list_alignment` bytes.
template <typename T, typename Item, typename Sources>
void merge_sort(const char* name, const LocalTensor<T>& dst, const Sources& sources, const uint16_t* lengths,
                uint16_t valid, uint32_t repeats, bool suspend, uint64_t alignment, uint64_t list_alignment) {
  static_assert(one_of<T, half, float>, "merging exists for half and float");
  const Instruction instruction(name, PIPE_V, Flow::Moves);
  const auto at = [&](const LocalTensor<T>& tensor, uint64_t bytes, const char* operand, uint64_t multiple) {
    const auto whole = tensor.template ReinterpretCast<uint8_t>();
    uint8_t* data = checked_bytes(whole, static_cast<int64_t>(bytes), name, operand);
    if (const uint64_t past = reinterpret_cast<uintptr_t>(data) % multiple; past != 0)
      fault({"misaligned", data}, kVectorCoreException, "%s: %s starts %llu bytes past a %llu-byte boundary of local memory",
            name, operand, static_cast<unsigned long long>(past), static_cast<unsigned long long>(multiple));
    return data;
  };
  const std::array<const LocalTensor<T>*, 4> from{&sources.src1, &sources.src2, &sources.src3, &sources.src4};
  uint64_t step = 0;
  for (uint32_t list = 0; list < 4; ++list) step += valid >> list & 1 ? lengths[list] * Item::kBytes : 0;
  uint8_t* to = at(dst, step * repeats, "dst", alignment);
  for (uint32_t repeat = 0; repeat < repeats; ++repeat) {
    std::array<SortedList, 4> lists{};
    for (uint32_t list = 0; list < 4; ++list) {
      if (!(valid >> list & 1)) continue;
      const uint64_t end = repeat * step + lengths[list] * Item::kBytes;
      lists[list] = {at(*from[list], end, "src", list_alignment) + repeat * step, lengths[list]};
    }
    merge_lists<T, Item>(name, to + repeat * step, lists, suspend);
    for (uint32_t list = 0; list < 4; ++list) core().merged[list] = static_cast<uint16_t>(lists[list].taken);
  }
}

}  // namespace mtsim

namespace AscendC {

struct MrgSort4Info {
  MrgSort4Info() = default;
  MrgSort4Info(const uint16_t lengths[4], bool suspend, uint16_t valid, uint16_t repeats)
      : ifExhaustedSuspension(suspend), validBit(valid), repeatTimes(repeats) {
    std::copy_n(lengths, 4, elementLengths);
  }
  uint16_t elementLengths[4] = {};
  bool ifExhaustedSuspension = false;
  uint16_t validBit = 0;
  uint16_t repeatTimes = 1;
};

template <typename T>
struct MrgSortSrcList {
  MrgSortSrcList() = default;
  MrgSortSrcList(const LocalTensor<T>& a, const LocalTensor<T>& b, const LocalTensor<T>& c, const LocalTensor<T>& d)
      : src1(a), src2(b), src3(c), src4(d) {}
  LocalTensor<T> src1, src2, src3, src4;
};

template <typename T>
void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& src1,
            const int32_t repeatTimes) {
  mtsim::sort_groups("Sort32", dst, src0, src1, static_cast<uint32_t>(repeatTimes), mtsim::kSortGroup);
}

template <typename T, bool isExhaustedSuspension = false>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params) {
  mtsim::merge_sort<T, mtsim::ScoredItem<T>>("MrgSort", dst, src, params.elementLengths, params.validBit,
                                             params.repeatTimes, params.ifExhaustedSuspension, ONE_BLK_SIZE,
                                             mtsim::kSortedBytes);
}
template <typename T, bool isExhaustedSuspension = false>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& sortList, const uint16_t elementCountList[4],
             uint32_t sortedNum[4], uint16_t validBit, const int32_t repeatTimes) {
  MrgSort(dst, sortList, MrgSort4Info(elementCountList, isExhaustedSuspension, validBit, static_cast<uint16_t>(repeatTimes)));
  std::copy_n(mtsim::core().merged.begin(), 4, sortedNum);
}

/// How many elements the last MrgSort took from each list.
inline void GetMrgSortResult(uint16_t& list1, uint16_t& list2, uint16_t& list3, uint16_t& list4) {
  const auto& merged = mtsim::core().merged;
  list1 = merged[0], list2 = merged[1], list3 = merged[2], list4 = merged[3];
}

/// Scores as Sort wants them: on this chip as they are.
template <typename T>
void Concat(LocalTensor<T>& concat, const LocalTensor<T>& src, const LocalTensor<T>&, const int32_t repeatTimes) {
  mtsim::elements(src, int64_t{repeatTimes} * 16, "Concat", "src");
  concat = src;
}

/// Sorts all 32 x repeatTimes elements, or each group of 32.
template <typename T, bool isFullSort>
void Sort(const LocalTensor<T>& dst, const LocalTensor<T>& concat, const LocalTensor<uint32_t>& index,
          const LocalTensor<T>&, const int32_t repeatTimes) {
  const auto groups = static_cast<uint32_t>(repeatTimes);
  if (repeatTimes <= 0) return;
  mtsim::sort_groups("Sort", dst, concat, index, isFullSort ? 1 : groups, mtsim::kSortGroup * (isFullSort ? groups :
      1));
}

/// Scores and indices of a sorted list, 32 a repeat.
template <typename T>
void Extract(const LocalTensor<T>& dstValue, const LocalTensor<uint32_t>& dstIndex, const LocalTensor<T>& sorted,
             const int32_t repeatTimes) {
  const int64_t count = int64_t{repeatTimes} * mtsim::kSortGroup;
  const uint8_t* from = mtsim::aligned_bytes(sorted.template ReinterpretCast<uint8_t>(),
                                             count * mtsim::kSortedBytes, "Extract", "sorted");
  T* value = mtsim::elements(dstValue, count, "Extract", "dstValue");
  uint32_t* index = mtsim::elements(dstIndex, count, "Extract", "dstIndex");
  for (int64_t i = 0; i < count; ++i) {
    const auto item = mtsim::load_scored<T>(from + i * mtsim::kSortedBytes);
    value[i] = item.score;
    index[i] = item.index;
  }
}

/// Elements of T that a sorted list of `count` elements takes, and where its element `offset` starts.
template <typename T>
uint32_t GetSortLen(const uint32_t count) {
  return count * (mtsim::kSortedBytes / sizeof(T));
}
template <typename T>
uint32_t GetSortOffset(const uint32_t offset) {
  return offset * (mtsim::kSortedBytes / sizeof(T));
}

}  // namespace AscendC
