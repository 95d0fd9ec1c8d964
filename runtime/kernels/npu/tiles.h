// How the built-in kernels walk over memory: a block's share in whole 32-byte chunks, a tile at a time.
#pragma once

#include "kernel_operator.h"

namespace mindtorch {

constexpr uint32_t kTileBytes = 8 * 1024;  // three double-buffered queues take a quarter of the unified buffer
constexpr int32_t kBuffers = 2;

/// The elements [begin, end) of n that this block handles.
template <typename T>
struct Share {
  __aicore__ inline explicit Share(uint32_t n) {
    constexpr uint32_t chunk = 32 / sizeof(T);
    const uint32_t blocks = AscendC::GetBlockNum();
    const uint32_t chunks = (n + chunk - 1) / chunk;
    const uint64_t each = static_cast<uint64_t>((chunks + blocks - 1) / blocks) * chunk;
    const uint64_t first = each * AscendC::GetBlockIdx();
    begin = first < n ? first : n;
    end = first + each < n ? first + each : n;
  }
  uint32_t begin;
  uint32_t end;
};

template <typename T>
__aicore__ inline AscendC::GlobalTensor<T> global(GM_ADDR address, uint32_t n) {
  AscendC::GlobalTensor<T> tensor;
  tensor.SetGlobalBuffer((__gm__ T*)address, n);
  return tensor;
}

/// Copies that need not fill their last 32-byte block.
template <typename T>
__aicore__ inline AscendC::DataCopyExtParams bytes_of(uint32_t count) {
  return AscendC::DataCopyExtParams(1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0);
}

template <typename T>
using Input = AscendC::TQue<AscendC::TPosition::VECIN, kBuffers>;
template <typename T>
using Output = AscendC::TQue<AscendC::TPosition::VECOUT, kBuffers>;

template <typename T>
__aicore__ inline AscendC::LocalTensor<T> fetch(Input<T>& queue, const AscendC::GlobalTensor<T>& source,
    uint32_t count) {
  AscendC::LocalTensor<T> tile = queue.template AllocTensor<T>();
  AscendC::DataCopyPad(tile, source, bytes_of<T>(count), AscendC::DataCopyPadExtParams<T>(false, 0, 0, 0));
  queue.EnQue(tile);
  return queue.template DeQue<T>();
}

template <typename T>
__aicore__ inline void store(Output<T>& queue, AscendC::LocalTensor<T> tile, const AscendC::GlobalTensor<T>& target,
                             uint32_t count) {
  queue.EnQue(tile);
  tile = queue.template DeQue<T>();
  AscendC::DataCopyPad(target, tile, bytes_of<T>(count));
  queue.FreeTensor(tile);
}

/// What comes waits for what was before it, on another pipe.
template <AscendC::HardEvent event>
__aicore__ inline void then(AscendC::TPipe& pipe) {
  const auto id = pipe.FetchEventID(event);
  AscendC::SetFlag<event>(id);
  AscendC::WaitFlag<event>(id);
}

/// A tile as floats.
template <typename T>
__aicore__ inline void widen(const AscendC::LocalTensor<float>& wide, const AscendC::LocalTensor<T>& row, uint32_t count) {
  if constexpr (sizeof(T) == sizeof(float)) {
    AscendC::Muls(wide, row, 1.0f, count);  // which keeps the sign of zero
  } else {
    AscendC::Cast(wide, row, AscendC::RoundMode::CAST_NONE, count);
  }
}

/// Floats as a tile, rounded to nearest.
template <typename T>
__aicore__ inline void narrow(const AscendC::LocalTensor<T>& row, const AscendC::LocalTensor<float>& wide, uint32_t count) {
  if constexpr (sizeof(T) == sizeof(float)) {
    AscendC::Muls(row, wide, 1.0f, count);
  } else {
    AscendC::Cast(row, wide, AscendC::RoundMode::CAST_RINT, count);
  }
}

/// out = operation(x): `operation(out, x, count)` computes a tile.
template <typename T, typename Operation>
__aicore__ inline void map(AscendC::TPipe& pipe, GM_ADDR x, GM_ADDR out, uint32_t n, Operation operation) {
  constexpr uint32_t tile = kTileBytes / sizeof(T);
  Input<T> inputs;
  Output<T> outputs;
  pipe.InitBuffer(inputs, kBuffers, kTileBytes);
  pipe.InitBuffer(outputs, kBuffers, kTileBytes);
  const auto source = global<T>(x, n);
  const auto target = global<T>(out, n);
  const Share<T> share(n);
  for (uint32_t at = share.begin; at < share.end; at += tile) {
    const uint32_t count = share.end - at < tile ? share.end - at : tile;
    AscendC::LocalTensor<T> in = fetch<T>(inputs, source[at], count);
    AscendC::LocalTensor<T> result = outputs.template AllocTensor<T>();
    operation(result, in, count);
    inputs.FreeTensor(in);
    store<T>(outputs, result, target[at], count);
  }
}

/// out = operation(x, y): `operation(out, x, y, count)` computes a tile.
template <typename T, typename Operation>
__aicore__ inline void zip(AscendC::TPipe& pipe, GM_ADDR x, GM_ADDR y, GM_ADDR out, uint32_t n, Operation operation) {
  constexpr uint32_t tile = kTileBytes / sizeof(T);
  Input<T> lefts;
  Input<T> rights;
  Output<T> outputs;
  pipe.InitBuffer(lefts, kBuffers, kTileBytes);
  pipe.InitBuffer(rights, kBuffers, kTileBytes);
  pipe.InitBuffer(outputs, kBuffers, kTileBytes);
  const auto left = global<T>(x, n);
  const auto right = global<T>(y, n);
  const auto target = global<T>(out, n);
  const Share<T> share(n);
  for (uint32_t at = share.begin; at < share.end; at += tile) {
    const uint32_t count = share.end - at < tile ? share.end - at : tile;
    AscendC::LocalTensor<T> a = fetch<T>(lefts, left[at], count);
    AscendC::LocalTensor<T> b = fetch<T>(rights, right[at], count);
    AscendC::LocalTensor<T> result = outputs.template AllocTensor<T>();
    operation(result, a, b, count);
    lefts.FreeTensor(a);
    rights.FreeTensor(b);
    store<T>(outputs, result, target[at], count);
  }
}

}  // namespace mindtorch
