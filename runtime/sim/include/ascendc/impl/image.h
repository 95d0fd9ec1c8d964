// LoadData with LoadData3DParamsV2: windows of a feature map in L1, as the rows of a matrix in L0.
#pragma once

#include "cube.h"

namespace AscendC {

struct IsResetLoad3dConfig {
  bool isSetFMatrix = true;
  bool isSetPadding = true;
};
constexpr IsResetLoad3dConfig IS_RESER_LOAD3D_DEFAULT_CONFIG{true, true};

/// The feature map is l1H x l1W pixels, its channels in columns of 32 bytes. Row m of the matrix is the m-th window,
/// column k its value of channel group, filter row, filter column and channel, the last one running fastest.
template <typename T>
struct LoadData3DParamsV2 {
  uint8_t padList[4] = {0, 0, 0, 0};  // left, right, top, bottom
  uint16_t l1H = 0;
  uint16_t l1W = 0;
  uint16_t channelSize = 0;
  uint16_t kExtension = 0;
  uint16_t mExtension = 0;
  uint16_t kStartPt = 0;
  uint16_t mStartPt = 0;
  uint8_t strideW = 1;
  uint8_t strideH = 1;
  uint8_t filterW = 1;
  uint8_t filterH = 1;
  uint8_t dilationFilterW = 1;
  uint8_t dilationFilterH = 1;
  bool enTranspose = false;
  bool enSmallK = false;
  T padValue{};
  bool filterSizeW = false;  // adds 256 to filterW
  bool filterSizeH = false;
  bool fMatrixCtrl = false;
};

}  // namespace AscendC

namespace mtsim {

/// Where the value of row m, column k lies in the feature map; nothing where it is padding.
template <typename T>
class Windows {
 public:
  explicit Windows(const AscendC::LoadData3DParamsV2<T>& p)
      : p_(p), filter_w_(p.filterW + (p.filterSizeW ? 256u : 0u)), filter_h_(p.filterH + (p.filterSizeH ? 256u : 0u)) {
    if (p.strideW == 0 || p.strideH == 0 || filter_w_ == 0 || filter_h_ == 0 || p.l1W == 0 || p.l1H == 0)
      fault(kVectorCoreException, "LoadData: l1W, l1H, strideW, strideH, filterW and filterH must be positive");
    const int64_t reach = int64_t{p.dilationFilterW} * (filter_w_ - 1) + 1;
    const int64_t room = int64_t{p.l1W} + p.padList[0] + p.padList[1] - reach;
    if (room < 0) fault(kVectorCoreException, "LoadData: the filter is wider than the feature map and its padding");
    columns_ = static_cast<uint32_t>(room / p.strideW + 1);
  }

  /// Elements of the feature map.
  int64_t size() const { return int64_t{p_.l1H} * p_.l1W * static_cast<int64_t>(align_up(p_.channelSize, kC0<T>)); }

  int64_t at(uint32_t m, uint32_t k) const {
    const uint32_t channel = k % kC0<T>;
    const uint32_t column = k / kC0<T> % filter_w_;
    const uint32_t row = k / kC0<T> / filter_w_ % filter_h_;
    const uint32_t group = k / kC0<T> / filter_w_ / filter_h_;
    const int64_t y = int64_t{m / columns_} * p_.strideH - p_.padList[2] + int64_t{row} * p_.dilationFilterH;
    const int64_t x = int64_t{m % columns_} * p_.strideW - p_.padList[0] + int64_t{column} * p_.dilationFilterW;
    if (y < 0 || y >= p_.l1H || x < 0 || x >= p_.l1W || group * kC0<T> + channel >= p_.channelSize) return -1;
    return ((int64_t{group} * p_.l1H + y) * p_.l1W + x) * kC0<T> + channel;
  }

 private:
  const AscendC::LoadData3DParamsV2<T>& p_;
  uint32_t filter_w_, filter_h_;
  uint32_t columns_ = 0;  // windows in a row
};

}  // namespace mtsim

namespace AscendC {

/// To L0A as rows of fractals; to L0B, where the windows are the inner dimension, with each fractal by columns.
template <typename T, const IsResetLoad3dConfig& config = IS_RESER_LOAD3D_DEFAULT_CONFIG>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2<T>& params) {
  const mtsim::Instruction instruction("LoadData", PIPE_MTE1, mtsim::Flow::Moves);
  const bool left = mtsim::memory_of(dst.GetPosition()) == mtsim::kL0A;
  if (!left) mtsim::require_memory(dst, mtsim::kL0B, "LoadData", "dst");
  mtsim::require_memory(src, mtsim::kL1, "LoadData", "src");
  if (params.enTranspose)
    mtsim::fault(mtsim::kVectorCoreException, "LoadData: LoadData3DParamsV2::enTranspose is not simulated");
  const mtsim::Windows<T> windows(params);
  constexpr uint32_t kDeep = mtsim::kC0<T>;
  const auto rows = static_cast<uint32_t>(mtsim::align_up(params.mExtension, left ? 16 : kDeep));
  const auto columns = static_cast<uint32_t>(mtsim::align_up(params.kExtension, left ? kDeep : 16));
  const T* in = mtsim::elements_in_range(src, windows.size(), "LoadData", "src");
  T* out = mtsim::elements_in_range(dst, int64_t{rows} * columns, "LoadData", "dst");
  mtsim::touch_elements(out, uint64_t{rows} * columns, "LoadData", "dst", MTSIM_WRITES);
  for (uint32_t m = 0; m < rows; ++m)
    for (uint32_t k = 0; k < columns; ++k) {
      T* to = out + (left ? (m / 16 * columns + k / kDeep * kDeep) * 16 + m % 16 * kDeep + k % kDeep
                          : m / kDeep * kDeep * columns + k * kDeep + m % kDeep);
      const int64_t from = windows.at(params.mStartPt + m, params.kStartPt + k);
      if (from >= 0) mtsim::touch_elements(in + from, 1, "LoadData", "src", MTSIM_READS);
      mtsim::moved(to, from < 0 ? nullptr : in + from, sizeof(T));
      *to = from < 0 ? params.padValue : in[from];
    }
}

}  // namespace AscendC
