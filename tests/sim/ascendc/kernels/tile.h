// One buffer of local memory with its place in global memory: what most kernels of these tests begin and end with.
#pragma once
#include "kernel_operator.h"

/// What the second pipe of the event does from now on comes after what the first one did.
template <AscendC::HardEvent event>
__aicore__ inline void Then() {
  const auto id = static_cast<event_t>(AscendC::GetTPipePtr()->FetchEventID(event));
  AscendC::SetFlag<event>(id);
  AscendC::WaitFlag<event>(id);
}

template <typename T>
struct Tile {
  AscendC::TBuf<> buffer;
  AscendC::GlobalTensor<T> global;
  uint32_t count;

  __aicore__ inline Tile(AscendC::TPipe& pipe, GM_ADDR address, uint32_t count) : count(count) {
    pipe.InitBuffer(buffer, count * sizeof(T));
    global.SetGlobalBuffer((__gm__ T*)address, count);
  }
  __aicore__ inline AscendC::LocalTensor<T> local() { return buffer.template Get<T>(); }
  __aicore__ inline AscendC::LocalTensor<T> load() {
    Then<AscendC::HardEvent::V_MTE2>();
    AscendC::DataCopyPad(local(), global, AscendC::DataCopyExtParams(1, count * sizeof(T), 0, 0, 0),
                         AscendC::DataCopyPadExtParams<T>(false, 0, 0, 0));
    Then<AscendC::HardEvent::MTE2_V>();
    return local();
  }
  __aicore__ inline void store() {
    Then<AscendC::HardEvent::V_MTE3>();
    AscendC::DataCopyPad(global, local(), AscendC::DataCopyExtParams(1, count * sizeof(T), 0, 0, 0));
  }
};
