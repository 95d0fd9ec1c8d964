// Load3D: windows of a feature map in L1, as the rows of a matrix in L0.
#pragma once

#include "cube.h"

namespace AscendC {

/// Which of Load3D's registers an instruction sets from its own parameters; the others are those of the last SetFmatrix
/// and SetLoadDataPaddingValue.
struct IsResetLoad3dConfig {
  bool isSetFMatrix = true;
  bool isSetPadding = true;
};
constexpr IsResetLoad3dConfig IS_RESER_LOAD3D_DEFAULT_CONFIG{true, true};

constexpr uint8_t PAD_SIZE = 4;

/// A single window of the filter's points: the unit of the 910A's Load3D is a fractal.
template <typename T>
struct LoadData3DParamsV1 {
  uint8_t padList[PAD_SIZE] = {0, 0, 0, 0};  // left, right, top, bottom
  uint16_t l1H = 0;
  uint16_t l1W = 0;
  uint16_t c1Index = 0;      // the group of channels
  uint8_t fetchFilterW = 0;  // the filter's point that the first fractal is for
  uint8_t fetchFilterH = 0;
  int16_t leftTopW = 0;  // where the first window is
  int16_t leftTopH = 0;
  uint8_t strideW = 1;
  uint8_t strideH = 1;
  uint8_t filterW = 1;
  uint8_t filterH = 1;
  uint8_t dilationFilterW = 1;
  uint8_t dilationFilterH = 1;
  uint8_t jumpStride = 1;  // fractals from one result to the next
  uint8_t repeatMode = 0;  // 0: the next point of the filter; 1: the next 16 windows
  uint8_t repeatTime = 1;
  uint8_t cSize = 0;
  T padValue{};
};

/// The feature map is l1H x l1W pixels, its channels in columns of 32 bytes. Row m of the matrix is the m-th window,
/// column k its value of channel group, filter row, filter column and channel, the last one running fastest.
template <typename T>
struct LoadData3DParamsV2 {
  uint8_t padList[PAD_SIZE] = {0, 0, 0, 0};  // left, right, top, bottom
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

/// What one Load3D with V2's parameters does `repeatTime` times: repeatStride x 16 windows further down (mode 0), or
/// repeatStride x 32 bytes further to the right (mode 1). The parts are one matrix.
struct LoadDataRepeatParam {
  LoadDataRepeatParam() = default;
  LoadDataRepeatParam(uint16_t stride, uint8_t times, uint8_t mode)
      : repeatStride(stride), repeatTime(times), repeatMode(mode) {}
  LoadDataRepeatParam(uint16_t stride, uint8_t times, uint8_t mode, uint16_t) : LoadDataRepeatParam(stride, times, mode) {}
  uint16_t repeatStride = 0;
  uint8_t repeatTime = 1;
  uint8_t repeatMode = 0;
  uint16_t dstStride = 0;  // of later chips
};

enum class FmatrixMode : uint8_t { FMATRIX_LEFT, FMATRIX_RIGHT };

inline void SetFmatrix(uint16_t l1H, uint16_t l1W, const uint8_t padList[PAD_SIZE], const FmatrixMode&) {
  mtsim::Load3d& own = mtsim::core().load3d;
  own.height = l1H;
  own.width = l1W;
  std::memcpy(own.pad, padList, PAD_SIZE);
}
template <typename T>
void SetLoadDataPaddingValue(const T padValue) {
  mtsim::core().load3d.padding = 0;
  std::memcpy(&mtsim::core().load3d.padding, &padValue, sizeof(T));
}
inline void SetLoadDataRepeat(const LoadDataRepeatParam& repeat) {
  mtsim::Load3d& own = mtsim::core().load3d;
  own.repeat_stride = repeat.repeatStride;
  own.repeat_time = repeat.repeatTime;
  own.repeat_mode = repeat.repeatMode;
}
/// L1 as a ring of so many bytes; 0 is all of it.
inline void SetLoadDataBoundary(uint32_t boundaryValue) {
  if (boundaryValue != 0)
    mtsim::fault(mtsim::kVectorCoreException, "SetLoadDataBoundary: boundaries other than 0 are not simulated");
}

}  // namespace AscendC

namespace mtsim {

/// The windows of a feature map: how wide and high it is with its padding, and where a window's points lie.
struct Windows {
  uint32_t height, width;
  const uint8_t* pad;
  uint32_t stride_w, stride_h, filter_w, filter_h, dilation_w, dilation_h;
  uint32_t across = 0;  // windows in a row

  /// Counts the windows in a row; a feature map without a single window is a mistake.
  void measure() {
    if (stride_w == 0 || stride_h == 0 || filter_w == 0 || filter_h == 0 || width == 0 || height == 0)
      fault(kVectorCoreException, "LoadData: l1W, l1H, strideW, strideH, filterW and filterH must be positive");
    const int64_t room = int64_t{width} + pad[0] + pad[1] - (int64_t{dilation_w} * (filter_w - 1) + 1);
    if (room < 0) fault(kVectorCoreException, "LoadData: the filter is wider than the feature map and its padding");
    across = static_cast<uint32_t>(room / stride_w + 1);
  }

  /// The pixel under a point of the filter, whose window's corner is at (x, y); -1 where that is padding.
  int64_t pixel(int64_t x, int64_t y, uint32_t column, uint32_t row) const {
    x += int64_t{column} * dilation_w;
    y += int64_t{row} * dilation_h;
    return y < 0 || y >= height || x < 0 || x >= width ? -1 : y * width + x;
  }
};

/// One element of the result: from `from`, or the padding.
template <typename T>
void fetch(T* to, const T* in, int64_t from, T padding) {
  if (from >= 0) touch_elements(in + from, 1, "LoadData", "src", MTSIM_READS);
  moved(to, from < 0 ? nullptr : in + from, sizeof(T));
  *to = from < 0 ? padding : in[from];
}

template <typename T, typename Params>
T padding_of(const Params& params, bool is_set) {
  T value = params.padValue;
  if (!is_set) std::memcpy(&value, &core().load3d.padding, sizeof value);
  return value;
}

template <typename Params>
Windows windows_of(const Params& p, bool is_set, uint32_t filter_w, uint32_t filter_h) {
  const Load3d& own = core().load3d;
  Windows windows{is_set ? p.l1H : own.height, is_set ? p.l1W : own.width, is_set ? p.padList : own.pad,
                  p.strideW,       p.strideH,  filter_w,  filter_h,  p.dilationFilterW, p.dilationFilterH};
  return windows;
}

}  // namespace mtsim

namespace AscendC {

/// To L0A as rows of fractals, or transposed as a whole; to L0B, where the windows are the inner dimension, with each
/// fractal by columns.
template <typename T, const IsResetLoad3dConfig& config = IS_RESER_LOAD3D_DEFAULT_CONFIG>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2<T>& params) {
  static_assert(mtsim::kBits<T> >= 8, "LoadData: windows of int4b_t are not simulated");
  constexpr uint32_t kDeep = mtsim::kC0<T>;
  const mtsim::Instruction instruction("LoadData", PIPE_MTE1, mtsim::Flow::Moves);
  const bool left = mtsim::memory_of(dst.GetPosition()) == mtsim::kL0A;
  if (!left) mtsim::require_memory(dst, mtsim::kL0B, "LoadData", "dst");
  mtsim::require_memory(src, mtsim::kL1, "LoadData", "src");
  const bool transposed = left && params.enTranspose;
  if (transposed && sizeof(T) == 1)
    mtsim::fault(mtsim::kVectorCoreException, "LoadData: enTranspose exists for types of 2 and 4 bytes");
  const mtsim::Load3d& own = mtsim::core().load3d;
  const uint32_t filter_w = params.filterW + (params.filterSizeW ? 256u : 0u);
  const uint32_t filter_h = params.filterH + (params.filterSizeH ? 256u : 0u);
  mtsim::Windows windows = mtsim::windows_of(params, config.isSetFMatrix, filter_w, filter_h);
  if (windows.height == 0 || windows.width == 0 || params.channelSize == 0 || params.mExtension == 0 ||
      params.kExtension == 0 || filter_w == 0 || filter_h == 0 || own.repeat_time == 0)
    return;  // as the chip does nothing
  windows.measure();
  const T padding = mtsim::padding_of<T>(params, config.isSetPadding);
  const uint32_t times = own.repeat_time;
  const bool down = own.repeat_mode == 0;
  const uint32_t m_part = params.mExtension, k_part = params.kExtension;
  const uint32_t m_all = down ? m_part * times : m_part, k_all = down ? k_part : k_part * times;
  // Of the matrix in L0, whose rows are those of the product on the left side and its columns on the right side.
  const bool upright = left && !transposed;
  const auto rows = static_cast<uint32_t>(mtsim::align_up(m_all, upright ? 16 : kDeep));
  const auto columns = static_cast<uint32_t>(mtsim::align_up(k_all, upright ? kDeep : 16));
  const int64_t pixels = int64_t{windows.height} * windows.width;
  const int64_t groups = (params.channelSize + kDeep - 1) / kDeep;
  const T* in = mtsim::elements_in_range(src, pixels * groups * kDeep, "LoadData", "src");
  T* out = mtsim::elements_in_range(dst, int64_t{rows} * columns, "LoadData", "dst");
  mtsim::touch_elements(out, uint64_t{rows} * columns, "LoadData", "dst", MTSIM_WRITES);
  for (uint32_t m = 0; m < rows; ++m)
    for (uint32_t k = 0; k < columns; ++k) {
      T* to = out + (upright      ? (m / 16 * columns + k / kDeep * kDeep) * 16 + m % 16 * kDeep + k % kDeep
                     : transposed ? (k / 16 * rows + m / kDeep * kDeep) * 16 + k % 16 * kDeep + m % kDeep
                                  : m / kDeep * kDeep * columns + k * kDeep + m % kDeep);
      const uint32_t window =
          params.mStartPt + (down ? m / m_part * own.repeat_stride * 16 + m % m_part : m);
      const uint32_t point =
          params.kStartPt + (down ? k : k / k_part * own.repeat_stride * kDeep + k % k_part);
      const uint32_t group = point / kDeep / filter_w / filter_h, channel = group * kDeep + point % kDeep;
      const int64_t x = int64_t{window % windows.across} * windows.stride_w - windows.pad[0];
      const int64_t y = int64_t{window / windows.across} * windows.stride_h - windows.pad[2];
      const int64_t pixel =
          windows.pixel(x, y, point / kDeep % filter_w, point / kDeep / filter_w % filter_h);
      const bool inside = pixel >= 0 && channel < params.channelSize;
      mtsim::fetch(to, in, inside ? (group * pixels + pixel) * kDeep + channel % kDeep : -1, padding);
    }
}

/// Fractal by fractal: 16 windows from (leftTopW, leftTopH) on, and of each the channels of one group under one point
/// of the filter.
template <typename T, const IsResetLoad3dConfig& config = IS_RESER_LOAD3D_DEFAULT_CONFIG>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV1<T>& params) {
  static_assert(mtsim::kBits<T> >= 8, "LoadData: windows of int4b_t are not simulated");
  constexpr uint32_t kDeep = mtsim::kC0<T>, kElements = 16 * kDeep;
  const mtsim::Instruction instruction("LoadData", PIPE_MTE1, mtsim::Flow::Moves);
  const bool left = mtsim::memory_of(dst.GetPosition()) == mtsim::kL0A;
  if (!left) mtsim::require_memory(dst, mtsim::kL0B, "LoadData", "dst");
  if (!left && sizeof(T) != 2)
    mtsim::fault(mtsim::kVectorCoreException, "LoadData: windows go to L0B in types of 2 bytes");
  mtsim::require_memory(src, mtsim::kL1, "LoadData", "src");
  if (params.cSize != 0) mtsim::fault(mtsim::kVectorCoreException, "LoadData: cSize other than 0 is not simulated");
  mtsim::Windows windows = mtsim::windows_of(params, config.isSetFMatrix, params.filterW, params.filterH);
  windows.measure();
  if (params.repeatTime == 0) return;
  const T padding = mtsim::padding_of<T>(params, config.isSetPadding);
  const int64_t pixels = int64_t{windows.height} * windows.width;
  const uint32_t points = params.repeatMode == 0 ? params.repeatTime : 1;
  const uint32_t first = params.fetchFilterH * windows.filter_w + params.fetchFilterW;
  const uint32_t last_group = params.c1Index + (first + points - 1) / windows.filter_w / windows.filter_h;
  const T* in = mtsim::elements_in_range(src, (last_group + 1) * pixels * kDeep, "LoadData", "src");
  const int64_t extent = (int64_t{params.repeatTime} - 1) * params.jumpStride * kElements + kElements;
  T* out = mtsim::elements_in_range(dst, extent, "LoadData", "dst");
  const int64_t inset = params.leftTopW + int64_t{windows.pad[0]};
  if (inset < 0 || inset % windows.stride_w != 0 || inset / windows.stride_w >= windows.across)
    mtsim::fault(mtsim::kVectorCoreException, "LoadData: leftTopW is not where a window begins");
  const int64_t corner = inset / windows.stride_w;
  for (uint32_t repeat = 0; repeat < params.repeatTime; ++repeat) {
    T* fractal = out + uint64_t{repeat} * params.jumpStride * kElements;
    mtsim::touch_elements(fractal, kElements, "LoadData", "dst", MTSIM_WRITES);
    const uint32_t point = first + (params.repeatMode == 0 ? repeat : 0);
    const uint32_t group = params.c1Index + point / windows.filter_w / windows.filter_h;
    for (uint32_t i = 0; i < 16; ++i) {
      const int64_t window = corner + i + (params.repeatMode == 0 ? 0 : repeat * 16);
      const int64_t x = window % windows.across * windows.stride_w - windows.pad[0];
      const int64_t y = params.leftTopH + window / windows.across * windows.stride_h;
      const int64_t pixel =
          windows.pixel(x, y, point % windows.filter_w, point / windows.filter_w % windows.filter_h);
      for (uint32_t c = 0; c < kDeep; ++c)
        mtsim::fetch(fractal + (left ? i * kDeep + c : c * 16 + i), in,
                     pixel < 0 ? -1 : (group * pixels + pixel) * kDeep + c, padding);
    }
  }
}

}  // namespace AscendC
